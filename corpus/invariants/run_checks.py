"""Check all invariants: the collections in batches of documents, then the other tables."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from corpus.errors import InvalidInput
from corpus.ingestion.uploaded_files import find_lost_uploads, find_orphaned_uploads
from corpus.invariants.batches import FIRST, LAST, SCANS, batches_of
from corpus.invariants.count_checks import find_in_words
from corpus.invariants.table_checks import TABLES
from corpus.invariants.texts import Quotes, find_in_texts
from corpus.invariants.violations import Violation, find_in_tables
from corpus.models import Collection, Installation, Rule, Tag
from corpus.postgres import one_snapshot
from corpus.tags import normalize_tags


@dataclass(frozen=True, slots=True)
class Invariants:
    """Invariants that other apps add.

    Attributes:
        tables: Statements by invariant, for ``find_in_tables``.
        quotes: Spans of the stored texts.
    """

    tables: Mapping[str, str] = field(default_factory=dict)
    quotes: Sequence[Quotes] = ()


NO_OTHERS = Invariants()


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The progress of a run; everything before it is checked.

    Attributes:
        collection_id: Collections are checked in the order of their ids.
        after: Last checked document of the collection; after the last, its words are checked too.
        violation_count: Violations that an interrupted run had found and not repaired.
    """

    collection_id: int = 0
    after: UUID = FIRST
    violation_count: int = 0


START = Checkpoint()


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a run.

    Attributes:
        checkpoint: Where to resume after it; None after all collections.
        chunk_count: Number of checked chunks.
        violations: What it found.
    """

    checkpoint: Checkpoint | None
    chunk_count: int
    violations: Sequence[Violation]


def find_violations(invariants: Invariants = NO_OTHERS) -> Iterator[Violation]:
    """Yield all violations of the corpus, and of the invariants of other apps."""
    for step in check_in_steps(invariants):
        yield from step.violations


def check_in_steps(
    invariants: Invariants, *, collection: Collection | None = None, checkpoint: Checkpoint = START
) -> Iterator[Step]:
    """Check everything, or one collection; yield each step after it is done.

    Each step reads a part of the database in one snapshot, so that concurrent writes do not look
    like violations and writers do not wait.

    Args:
        collection: Check only this collection.
        checkpoint: Where to resume.
    """
    only = collection.pk if collection else None
    rows = Collection.objects.filter(pk__gte=checkpoint.collection_id).order_by("pk")
    for collection_id in [only] if only else list(rows.values_list("pk", flat=True)):
        after = checkpoint.after if checkpoint.collection_id == collection_id else FIRST
        for batch in batches_of(collection_id, after=after) if after != LAST else ():
            documents = {"after": batch.after, "up_to": batch.up_to}
            violations: list[Violation] = []
            with one_snapshot():
                for scan in SCANS:
                    violations += scan.find(collection=collection_id, **documents)
                violations += find_in_texts(batch, invariants.quotes)
            if batch.up_to == LAST:
                violations += find_in_words(collection_id)
            yield Step(Checkpoint(collection_id, batch.up_to), batch.chunk_count, violations)
    for invariant, query in {**TABLES, **invariants.tables}.items():
        yield Step(None, 0, list(find_in_tables({invariant: query}, collection_id=only)))
    if only is None:
        yield Step(None, 0, list(find_in_names()))
        yield Step(None, 0, list(find_in_files()))


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
