"""Passages that an answer points to and does not quote, read from their documents of today."""

from collections.abc import Iterable
from typing import Any

from corpus.models import Chunk
from qa.search.hybrid import passage_of
from qa.types import ClosePassage


def read_passages(spans: Iterable[dict[str, Any]]) -> list[ClosePassage]:
    """Return the passages that stored spans stand for, in their order.

    What was deleted, replaced or cut anew since is left out: nothing was claimed of it.
    """
    found = (_read(span) for span in spans)
    return [passage for passage in found if passage is not None]


def _read(span: dict[str, Any]) -> ClosePassage | None:
    start, end = span["start_char"], span["end_char"]
    around = Chunk.objects.with_document().filter(
        document=span["document_id"],
        document__content_sha256=span["content_sha256"],
        start_char__lte=start,
        end_char__gte=end,
    )
    chunk = around.first()
    if chunk is None:
        return None
    passage = passage_of(chunk, score=span["score"], similarity=0.0)
    return ClosePassage(passage, start, end, span["score"])
