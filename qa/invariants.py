"""Check that stored citations keep their promise."""

from collections.abc import Iterator

from qa import models


def find_violations() -> Iterator[str]:
    """Yield a line for each citation of a current document version that is not verbatim."""
    citations = models.Citation.objects.exclude(document=None).select_related("document")
    for citation in citations.iterator(chunk_size=100):
        document = citation.document
        if document is None or citation.content_sha256 != document.content_sha256:
            continue
        if document.raw_text[citation.start_char : citation.end_char] != citation.quote:
            yield f"a citation is not the span it names: {citation.pk}"
