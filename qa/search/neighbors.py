"""Extend the best passages by the chunks before and after them, for a language model."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from django.db.models import Q

from corpus.models import Chunk, Document
from corpus.postgres import one_snapshot
from qa.search.hybrid import passage_of
from qa.types import Passage

# Best passages that get their neighbors: of 45 questions of manuals 3 had the answer in the chunk
# beside one that was found.
WIDENED_COUNT = 5


def with_neighbors(passages: Sequence[Passage]) -> tuple[list[Passage], list[Passage]]:
    """Return the passages as a model reads them, and the chunks that they consist of.

    The first ones are joined with the chunks before and after them, and with each other if
    adjacent. A joined passage takes the rank of its best chunk. Text of a document that was
    replaced meanwhile stays as it was retrieved.

    Returns:
        Sections, best first, and chunks: the retrieved ones, then their neighbors.
    """
    widened = [each for each in passages[:WIDENED_COUNT] if not each.is_selected]
    if not widened:
        return list(passages), list(passages)
    with one_snapshot():
        around = _read_around(widened)
        retrieved = {passage.chunk_id: passage for passage in passages}
        ordinals = {passage.chunk_id: ordinal for ordinal, passage in around}
        sections: list[Passage] = []
        used: set[str] = set()
        for passage in passages:
            if passage.chunk_id in used:
                continue
            run = _run_around(passage, around, ordinals)
            used.update(each.chunk_id for each in run)
            section = passage
            if len(run) > 1:
                start, end = run[0].start_char, run[-1].end_char
                rows = Document.objects.filter(pk=UUID(passage.document_id))
                text = rows.slice_of_text(start, end)
                section = replace(passage, text=text, start_char=start, end_char=end, reading=None)
            sections.append(section)
        added = [passage for _, passage in around if passage.chunk_id not in retrieved]
        return sections, [*passages, *added]


def _read_around(passages: Sequence[Passage]) -> list[tuple[int, Passage]]:
    """Return the chunks of the passages and their neighbors, each with its ordinal."""
    ids = [UUID(passage.chunk_id) for passage in passages]
    versions = {passage.document_id: passage.content_sha256 for passage in passages}
    wanted = Q(pk__in=[])
    for document_id, ordinal in Chunk.objects.filter(pk__in=ids).values_list("document", "ordinal"):
        wanted |= Q(document=document_id, ordinal__range=(ordinal - 1, ordinal + 1))
    rows = Chunk.objects.with_document().filter(wanted).order_by("document", "ordinal")
    return [
        (chunk.ordinal, passage_of(chunk, score=0.0, similarity=0.0))
        for chunk in rows
        if versions[str(chunk.document_id)] == chunk.document.content_sha256
    ]


def _run_around(
    passage: Passage, around: Sequence[tuple[int, Passage]], ordinals: dict[str, int]
) -> list[Passage]:
    """Return the consecutive chunks that include this one."""
    if passage.chunk_id not in ordinals:
        return [passage]
    own = {o: each for o, each in around if each.document_id == passage.document_id}
    first = last = ordinals[passage.chunk_id]
    while first - 1 in own:
        first -= 1
    while last + 1 in own:
        last += 1
    return [own[at] for at in range(first, last + 1)]
