"""Join the answers to the parts of a question, in the documents' own words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from corpus.sentences import separator_after
from qa.grounding.disagreement import newest_first
from qa.grounding.support.words import speaks_of
from qa.types import CLOSEST_COUNT, Answer, Citation, ClosePassage, Passage

# Between the answers to two parts.
GAP = "\n\n"


class JoinedText:
    """Joins quotes to a text without repeating any."""

    def __init__(self) -> None:
        self.text = ""
        self.citations: list[Citation] = []
        self._is_new_part = False

    def begin_part(self) -> None:
        """Separate the next quote from the part before."""
        self._is_new_part = True

    def add(self, citation: Citation) -> tuple[str, Citation] | None:
        """Add the part of a quote that is not in the text yet.

        Returns:
            The added text and its citation; None if all of it was there.
        """
        fresh = _remove_quoted(citation, self.citations)
        if fresh is None:
            return None
        gap = GAP if self._is_new_part and self.text else separator_after(self.text)
        start = len(self.text + gap)
        fresh = replace(fresh, answer_start=start, answer_end=start + len(fresh.quote))
        self.text += gap + fresh.quote
        self.citations.append(fresh)
        self._is_new_part = False
        return gap + fresh.quote, fresh


def join_answers(question: str, answers: Sequence[Answer]) -> Answer:
    """Return one answer to the whole question, with the lowest confidence of its parts.

    Args:
        answers: To each part, in order, at least one; their texts are quotes.
    """
    answered = [answer for answer in answers if not answer.abstained]
    if not answered:
        return replace(
            max(answers, key=lambda answer: answer.confidence),
            question=question,
            closest=_choose_closest(answers),
            is_unsure=any(answer.is_unsure for answer in answers),
        )
    joined = JoinedText()
    for answer in answered:
        joined.begin_part()
        for citation in answer.citations:
            joined.add(citation)
    cited = {citation.passage.chunk_id for citation in joined.citations}
    disagreement = {
        (close.passage.document_id, close.start_char, close.end_char): close
        for answer in answered
        for close in answer.disagreement
    }
    closest = [each for each in _choose_closest(answers) if each.passage.chunk_id not in cited]
    return replace(
        answered[0],
        question=question,
        text=joined.text,
        confidence=min(answer.confidence for answer in answered),
        citations=tuple(joined.citations),
        short=answered[0].short if len(answered) == 1 else None,
        closest=tuple(closest),
        disagreement=newest_first(disagreement.values()),
        # One part may stand in the quote of another.
        unanswered=tuple(
            part.question
            for part in answers
            if part.abstained and not speaks_of(joined.text, part.question)
        ),
        not_about=tuple(dict.fromkeys(name for each in answered for name in each.not_about)),
    )


def _remove_quoted(citation: Citation, quoted: Iterable[Citation]) -> Citation | None:
    """Return a citation without the spans that are quoted already.

    None if those contain the words that it was quoted for.
    """
    start, end = citation.start_char, citation.end_char
    for other in quoted:
        if other.passage.document_id != citation.passage.document_id:
            continue
        if other.start_char <= start < other.end_char:
            start = other.end_char
        if other.start_char < end <= other.end_char:
            end = other.start_char
    offset = citation.passage.start_char
    text = citation.passage.text[max(0, start - offset) : max(0, end - offset)]
    is_cut = (start, end) != (citation.start_char, citation.end_char)
    if not text.strip() or (is_cut and not _is_marked(citation.passage, start, end)):
        return None
    start += len(text) - len(text.lstrip())
    return replace(
        citation, quote=text.strip(), start_char=start, end_char=start + len(text.strip())
    )


def _is_marked(passage: Passage, start: int, end: int) -> bool:
    """Return whether a span contains some of the words that the passage answers with."""
    reading, offset = passage.reading, passage.start_char
    if reading is None or reading.start >= reading.end:
        return True
    return reading.start + offset < end and start < reading.end + offset


def _choose_closest(answers: Sequence[Answer]) -> tuple[ClosePassage, ...]:
    """Return the best passage of each part, then the closest others, each once."""
    ranked = [sorted(answer.closest, key=lambda close: -close.score) for answer in answers]
    best = [close for closest in ranked for close in closest[:1]]
    others = [close for closest in ranked for close in closest[1:]]
    chosen: dict[str, ClosePassage] = {}
    for group in (best, others):
        for close in sorted(group, key=lambda close: -close.score):
            chosen.setdefault(close.passage.chunk_id, close)
    nearest = list(chosen.values())[:CLOSEST_COUNT]
    return tuple(sorted(nearest, key=lambda close: -close.score))
