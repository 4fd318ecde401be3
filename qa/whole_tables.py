"""Compare all rows of a table: those of whole documents, where passages may have a part."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from corpus.models import Chunk, Document
from corpus.postgres import one_snapshot
from qa.search.hybrid import passage_of
from qa.table_answers import Calculation, find_extreme_row
from qa.types import Passage

# Longer documents are not read for a question: a million characters take half a second.
MAX_DOCUMENT_CHARS = 1_000_000


def compare_rows(question: str, passages: Sequence[Passage]) -> Calculation | None:
    """Return the row that is highest or lowest in a column, of the tables near the passages.

    Args:
        question: It asks for one (``asked_extreme``).
    """
    near = {each.document_id: each for each in passages if not each.is_selected}
    with one_snapshot():
        stored = Document.objects.filter(pk__in=list(near), char_count__lte=MAX_DOCUMENT_CHARS)
        texts = stored.stored().values_list("pk", "content__text")
        wholes = [
            replace(near[str(key)], text=text, start_char=0, end_char=len(text))
            for key, text in texts
        ]
        found = find_extreme_row(question, wholes)
        if found is None:
            return None
        operands = []
        for each in found.operands:
            cell = each.cell
            passage = passage_at(cell.passage.document_id, cell.text, cell.start)
            placed = cell._replace(passage=passage, start=0, end=len(cell.text))
            operands.append(each._replace(cell=placed))
    return replace(found, operands=tuple(operands))


def passage_at(document_id: Any, text: str, start: int, *, at: int | None = None) -> Passage:
    """Return a text of a document as a passage, with the last chunk that holds ``at`` of it.

    Args:
        at: The start, unless the text may begin in another chunk.

    Raises:
        LookupError: No chunk holds it.
    """
    at = start if at is None else at
    chunks = Chunk.objects.with_document().filter(document=document_id)
    chunk = chunks.overlapping(at, at + 1).last()
    if chunk is None:
        raise LookupError(f"No chunk of document {document_id} holds {at}.")
    passage = passage_of(chunk, score=1.0, similarity=0.0)
    return replace(passage, text=text, start_char=start, end_char=start + len(text))
