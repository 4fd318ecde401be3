"""The text of an answer, with its citations, as it grows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from qa.types import Citation, Quote

Say = Callable[[str, Citation], None]
"""Takes the next piece of an answer's text, with what it goes back to."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of text with the quotes that hold it up.

    Attributes:
        layout: How it stands beside others: in the running text, as an item of a list where others
            are beside it, or as a paragraph of its own.
    """

    text: str
    quotes: tuple[Quote, ...]
    layout: Literal["sentence", "item", "block"] = "sentence"


@dataclass(slots=True)
class AnswerText:
    """Collects pieces; says them once the answer is sure enough, and from then on at once.

    Attributes:
        answer_from: The confidence from which on it is said, in [0, 1].
    """

    say: Say
    answer_from: float
    text: str = ""
    confidence: float = 0.0
    citations: list[Citation] = field(default_factory=list)
    _said_count: int = 0
    _last: str = ""

    @property
    def is_said(self) -> bool:
        return self._said_count > 0

    def begin_again(self) -> None:
        """Forget what was not said yet."""
        if not self.is_said:
            self.text, self.confidence, self.citations, self._last = "", 0.0, [], ""

    def has(self, quotes: Sequence[Quote]) -> bool:
        """Return whether all these quotes are cited already."""
        cited = [Quote(c.passage, c.start_char, c.end_char) for c in self.citations]
        return all(any(quote.is_within(other) for other in cited) for quote in quotes)

    def add(self, pieces: Sequence[Piece], confidence: float) -> None:
        """Add pieces to the text, and say what is certain to be in the answer by then.

        Args:
            confidence: Of an answer that has them. It only ever grows: nothing that was said is
                taken back.
        """
        is_list = sum(piece.layout == "item" for piece in pieces) > 1 or self._last == "item"
        for piece in pieces:
            self.text += self._gap(piece, is_list=is_list)
            self._last = piece.layout
            start = len(self.text)
            self.text += piece.text
            self.citations += [cite(quote, start, len(self.text)) for quote in piece.quotes]
        self.confidence = max(self.confidence, confidence)
        if self.confidence >= self.answer_from:
            self._say_all()

    def _gap(self, piece: Piece, *, is_list: bool) -> str:
        if piece.layout == "item" and is_list:
            return "\n- " if self.text else "- "
        if not self.text:
            return ""
        return " " if self._last == piece.layout == "sentence" else "\n\n"

    def _say_all(self) -> None:
        while self._said_count < len(self.citations):
            begin = self.citations[self._said_count - 1].answer_end if self._said_count else 0
            citation = self.citations[self._said_count]
            self._said_count += 1
            self.say(self.text[begin : citation.answer_end], citation)


def cite(quote: Quote, start: int, end: int) -> Citation:
    """Return the citation of a quote that holds up the slice ``start:end`` of an answer."""
    return Citation(
        passage=quote.passage,
        quote=quote.text,
        start_char=quote.start_char,
        end_char=quote.end_char,
        answer_start=start,
        answer_end=end,
        score=quote.passage.score,
        support="supported",
    )
