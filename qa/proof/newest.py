"""Of documents that disagree, let the newest answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from qa.proof.confidence import gather_evidence, likeliest_first
from qa.proof.disagreement import find_otherwise, read_statement
from qa.types import Evidence, Passage


def put_newest_first(
    question: str,
    passages: Sequence[Passage],
    *,
    estimate: Callable[[Evidence], float],
    answer_from: float,
) -> list[Passage]:
    """Put the newest passage that answers otherwise than the likeliest one before that.

    What is newer still and says as the likeliest one does, or a third thing, comes there instead:
    an answer gives way to newer ones as long as there are any. It gets the score of the one whose
    place it takes: both are about one matter, so that how near that passage comes to the question
    tells of both. It stays where it is unless it would be sure enough there, and its document is
    known to be newer.

    Args:
        passages: With their readings.
        estimate: The chance that a passage answers.
        answer_from: With less neither is an answer.
    """
    read = [passage for passage, _ in likeliest_first(passages)]
    if not any(_is_newer(each, read[0]) for each in read):
        return list(passages)
    evidence = gather_evidence(passages)
    behind = evidence[read[0].chunk_id].behind
    chances = {chunk: estimate(replace(each, behind=behind)) for chunk, each in evidence.items()}
    if chances[read[0].chunk_id] < answer_from:
        return list(passages)
    newest = read[0]
    while stated := read_statement(newest):
        newer = [each for each in read if _is_newer(each, newest)]
        found = find_otherwise(question, [stated], newer, chances, answer_from=answer_from)
        if not found:
            break
        newest = max((close.passage for close in found), key=lambda each: each.document_date)
    return list(passages) if newest is read[0] else _move_before(passages, newest, read[0])


def tell_disagreement(dates: Iterable[str]) -> str:
    """Return what stands before the quotes that say otherwise.

    Args:
        dates: Of what the answer quotes.
    """
    known = " and ".join(filter(None, dict.fromkeys(dates)))
    return f"Your documents disagree{f' (the answer is of {known})' if known else ''}:"


def _is_newer(passage: Passage, other: Passage) -> bool:
    """Tell whether its day is after another's; one within a year or month that is all is not."""
    known = min(len(passage.document_date), len(other.document_date))
    return passage.document_date[:known] > other.document_date[:known]


def _move_before(passages: Sequence[Passage], moved: Passage, other: Passage) -> list[Passage]:
    rest = [each for each in passages if each.chunk_id != moved.chunk_id]
    place = rest.index(other)
    return [*rest[:place], replace(moved, score=other.score, is_newest=True), *rest[place:]]
