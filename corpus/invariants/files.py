"""Check files and names, which SQL cannot check."""

from collections.abc import Iterator

from corpus.errors import InvalidInput
from corpus.ingestion.uploaded_files import find_lost_uploads, find_orphaned_uploads
from corpus.invariants.document_checks import Violation
from corpus.models import Installation, Rule, Tag
from corpus.tags import normalize_tags


def find_in_files() -> Iterator[Violation]:
    """Yield missing and orphaned uploads; call it outside of a snapshot.

    Nothing is checked on a host that does not store the files.
    """
    if not Installation.objects.owns_files():
        return
    for key in find_lost_uploads():
        yield Violation("the file that a document was sent as is gone", key)
    for folder in find_orphaned_uploads():
        yield Violation("a file that was sent is of no document", folder.name)


def find_in_names() -> Iterator[Violation]:
    """Yield tags that are not normalized, which no search finds."""
    for name in Tag.objects.order_by().values_list("name", flat=True).iterator():
        if not _is_normal(name):
            yield Violation("a tag is not spelled as it is looked for", name)
    for rule in Rule.objects.all():
        if not all(map(_is_normal, rule.tags)):
            yield Violation("a tag of a rule is not spelled as it is looked for", rule.name)


def _is_normal(name: str) -> bool:
    try:
        return normalize_tags([name]) == (name,)
    except InvalidInput:
        return False
