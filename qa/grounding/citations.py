"""Turn drafts into answers with a citation for every part, or abstain with passages."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from corpus.sentences import sentence_spans
from qa.grounding.confidence import Calibration, gather_evidence, likeliest_first
from qa.grounding.disagreement import find_disagreement, mark_disagreeing, prefer_newest
from qa.grounding.support.verdict import ADDRESS, ADDRESS_STOPS
from qa.segments import sentences_around
from qa.types import (
    Answer,
    Citation,
    ClosePassage,
    Draft,
    Evidence,
    Passage,
    Query,
    Quote,
)

if TYPE_CHECKING:
    from qa.search.rerankers import Reranker


OnText = Callable[[str, Citation], None]
"""Receives the next piece of an answer's text, with its citation."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of text with the quotes that support it.

    Attributes:
        layout: Running text, an item of a list if there are several, or a paragraph of its own.
    """

    text: str
    quotes: tuple[Quote, ...]
    layout: Literal["sentence", "item", "block"] = "sentence"


@dataclass(slots=True)
class AnswerText:
    """Collects pieces; sends them once the answer is sure enough, and later ones at once.

    Attributes:
        answer_from: The confidence, in [0, 1], from which the text is sent.
    """

    on_text: OnText
    answer_from: float
    text: str = ""
    confidence: float = 0.0
    citations: list[Citation] = field(default_factory=list)
    _sent_count: int = 0
    _last: str = ""

    @property
    def is_started(self) -> bool:
        return self._sent_count > 0

    def reset(self) -> None:
        """Discard text that was not sent yet."""
        if not self.is_started:
            self.text, self.confidence, self.citations, self._last = "", 0.0, [], ""

    def cites_all(self, quotes: Sequence[Quote]) -> bool:
        cited = [Quote(c.passage, c.start_char, c.end_char) for c in self.citations]
        return all(any(quote.is_within(other) for other in cited) for quote in quotes)

    def add(self, pieces: Sequence[Piece], confidence: float) -> None:
        """Add pieces to the text, and send it if the answer is sure enough.

        Args:
            confidence: Of an answer with these pieces. It never decreases: sent text stays.
        """
        is_list = sum(piece.layout == "item" for piece in pieces) > 1 or self._last == "item"
        for piece in pieces:
            self.text += self._gap(piece, is_list=is_list)
            self._last = piece.layout
            start = len(self.text)
            self.text += piece.text
            self.citations += [cite(quote, start, len(self.text)) for quote in piece.quotes]
        self.confidence = max(self.confidence, confidence)
        while self.confidence >= self.answer_from and self._sent_count < len(self.citations):
            begin = self.citations[self._sent_count - 1].answer_end if self._sent_count else 0
            citation = self.citations[self._sent_count]
            self._sent_count += 1
            self.on_text(self.text[begin : citation.answer_end], citation)

    def _gap(self, piece: Piece, *, is_list: bool) -> str:
        if piece.layout == "item" and is_list:
            return "\n- " if self.text else "- "
        if not self.text:
            return ""
        return " " if self._last == piece.layout == "sentence" else "\n\n"


def cite(quote: Quote, start: int, end: int) -> Citation:
    """Return the citation of a quote that supports the slice ``start:end`` of an answer."""
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


# Clients may take a confidence of one half for the line between an answer and none: an
# abstention stays under it, however high the bound on answers was set.
MAX_ABSTENTION_CONFIDENCE = 0.49
# The reader's margin, in logits, from which its marked words are a short answer.
SHORT_FROM = 0.1
# A sentence of more words is no name.
MAX_NAMING_WORDS = 5
# Marks of a list or of emphasis at the edges of a text, or an item that begins within it.
_EDGE_MARKS = re.compile(
    r"\A(?:[*|#\u2022]|[-+]\s|\d{1,3}[.)]\s)|[*|#\u2022]\Z"
    r"|\n[ \t]{0,20}(?:[*|\u2022]|[-+]\s|\d{1,3}[.)]\s)"
)
# What "and" adds to a quantity, to a name, or as the last words of a clause; no clause of its own.
_AND = r"[ \n](?:and|or|&)[ \n]"
_NEXT_QUANTITY = re.compile(rf"{_AND}\W?\d[\w.,:]*+(?<![.,:])(?: [a-z]+\b)?")
_NEXT_NAME = re.compile(rf"{_AND}[A-Z][\w'\u2019-]*+(?: [A-Z][\w'\u2019-]*+)*")
_LAST_WORDS = re.compile(
    rf"{_AND}(?=[a-z])(?!(?:we|you|it|they|he|she|there|this|that|these|those|then|not|do|does|did|is|are|was"
    r"|were|be|has|have|had|must|may|can|could|should|shall|will|would)\b)"
    r"(?:[\w'\u2019-]++ ){0,2}[\w'\u2019-]++(?=[.;:)]|\Z|\n\n)"
)
_MARK = re.compile(r"\A(?:[-*+\u2022]|\d{1,3}[.)])\s+")
_STOPS = ".!?\u3002 "
# Not < and >, which compare numbers.
_PAIRS = dict(zip("([{}])", ")]}{[(", strict=True))


@dataclass(frozen=True, slots=True)
class CitationVerifier:
    """Turns drafts into verified answers.

    Attributes:
        judge: Scores the relevance of a text to a question, as a logit.
        calibration: Estimates the confidence of an extract.
        draft_calibration: Estimates the confidence of a language model's draft.
        answer_from: Lowest confidence of an extract that is answered.
        draft_answer_from: Lowest confidence of a draft that is answered.
        abstain_below: Cosine similarity, in [0, 1], below which no passage is about the question.
    """

    judge: Reranker
    calibration: Calibration
    draft_calibration: Calibration
    answer_from: float
    draft_answer_from: float
    abstain_below: float

    def verify_extract(
        self, draft: Draft, passages: Sequence[Passage], *, query: Query, on_text: OnText
    ) -> Answer | None:
        """Return the answer with an extract's quotes; None if it is unsure.

        Args:
            passages: With their readings.
            on_text: Called with each piece of the answer's text and its citation, in order.
        """
        if not self.is_sure(draft, passages):
            return None
        confidence = self.estimate_extract(draft, passages)
        text = AnswerText(on_text, self.answer_from)
        for quote in (quote for statement in draft.statements for quote in statement.quotes):
            text.add([Piece(quote.text, (quote,), layout="block")], confidence)
        return self.answer(query.text, text, passages, wants_list=query.wants_list)

    def answer(
        self,
        question: str,
        text: AnswerText,
        passages: Sequence[Passage],
        *,
        wants_list: bool = False,
    ) -> Answer:
        """Return the answer with this text, its closest and disagreeing passages."""
        cited = {citation.passage.chunk_id for citation in text.citations}
        # Rate disagreeing passages as if they ranked first.
        evidence = gather_evidence(passages)
        ahead = max((each.ahead for each in evidence.values()), default=0.0)
        first = {chunk: replace(each, behind=0.0, ahead=ahead) for chunk, each in evidence.items()}
        return Answer(
            question,
            text.text,
            text.confidence,
            tuple(text.citations),
            short=None if wants_list else _find_short(text.text, text.citations),
            closest=self._find_closest(passages, leave_out=cited),
            disagreement=find_disagreement(text.citations, passages, self._estimate(first)),
        )

    def abstain(
        self, question: str, passages: Sequence[Passage], *, first: Sequence[Passage] = ()
    ) -> Answer:
        """Return an answer without text that shows the most relevant passages.

        Args:
            first: Passages that a draft cites; they come before all others.
        """
        chances = self._estimate(gather_evidence([*first, *passages]))
        best = max(chances.values(), default=0.0)
        similarity = max((passage.similarity for passage in passages), default=0.0)
        return Answer(
            question,
            "",
            min(best, MAX_ABSTENTION_CONFIDENCE),
            closest=self._find_closest(passages, first=first),
            is_unsure=bool(first) or similarity >= self.abstain_below,
        )

    def relevance(self, question: str, texts: Sequence[str]) -> list[float]:
        return [float(raw) for raw in self.judge.score(question, texts)] if texts else []

    def is_sure(self, extract: Draft, passages: Sequence[Passage]) -> bool:
        confidence = self.estimate_extract(extract, passages)
        return bool(extract.statements) and confidence >= self.answer_from

    def estimate_extract(self, draft: Draft, passages: Sequence[Passage]) -> float:
        """Return the highest confidence of the passages that an extract quotes."""
        chances = self._estimate(gather_evidence(passages))
        quotes = [quote for statement in draft.statements for quote in statement.quotes]
        return max((chances.get(quote.passage.chunk_id, 0.0) for quote in quotes), default=0.0)

    def estimate_draft(self, cited: Iterable[Passage]) -> float:
        """Return the confidence of a draft by the best reading it cites."""
        scores = [each.reading.score for each in cited if each.reading is not None]
        evidence = Evidence(max(scores, default=float("-inf")), behind=0.0, ahead=0.0)
        return self.draft_calibration.estimate(evidence) if scores else 0.0

    def compare_statements(self, question: str, passages: Sequence[Passage]) -> list[Passage]:
        """Mark the passages that disagree; move the newest to the front if dates are known."""
        marked = mark_disagreeing(
            question,
            passages,
            estimate=self.calibration.estimate,
            answer_from=self.answer_from,
        )
        return prefer_newest(marked)

    def _find_closest(
        self,
        passages: Sequence[Passage],
        *,
        first: Sequence[Passage] = (),
        leave_out: Container[str] = (),
    ) -> tuple[ClosePassage, ...]:
        """Return the passages most likely to answer, each once, with the span."""
        chances = self._estimate(gather_evidence([*first, *passages]))
        chosen: dict[str, ClosePassage] = {}
        for passage, reading in [*likeliest_first(first), *likeliest_first(passages)]:
            if passage.chunk_id not in leave_out:
                around = sentences_around(passage.text, reading.start, reading.end)
                start, end = around or (0, len(passage.text))
                offset, chance = passage.start_char, chances[passage.chunk_id]
                close = ClosePassage(passage, offset + start, offset + end, chance)
                chosen.setdefault(passage.chunk_id, close)
        return tuple(chosen.values())

    def _estimate(self, evidence: Mapping[str, Evidence]) -> dict[str, float]:
        return {chunk: self.calibration.estimate(each) for chunk, each in evidence.items()}


def _find_short(text: str, citations: Sequence[Citation]) -> tuple[int, int] | None:
    """Return the span of the marked words in the text if the reader is sure of them.

    None if the words do not name one thing.
    """
    readings = likeliest_first([citation.passage for citation in citations])
    if not readings:
        return None
    passage, reading = readings[0]
    start, end = _mark_whole(passage.text, reading.start, reading.end)
    if reading.margin < SHORT_FROM or not _is_one_thing(passage.text, start, end):
        return None
    start, end = start + passage.start_char, end + passage.start_char
    for citation in citations:
        if citation.passage.chunk_id != passage.chunk_id:
            continue
        is_quoted = text[citation.answer_start : citation.answer_end] == citation.quote
        is_inside = citation.start_char <= start < end <= citation.end_char
        if is_quoted and is_inside:
            at = citation.answer_start - citation.start_char
            return start + at, end + at
    return None


def _mark_whole(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the span with whole addresses and what "and" adds to it; without a comma at its edges.

    Lone brackets at its edges are left out, too.
    """
    for found in ADDRESS.finditer(text):
        first, last = found.start(), found.start() + len(found[0].rstrip(ADDRESS_STOPS))
        if first < end and start < last:
            start = start if text[start:first].strip("<(") else first
            end = end if text[last:end].strip(">)" + ADDRESS_STOPS) else last
    while start < end and text[start] in _PAIRS and _PAIRS[text[start]] not in text[start:end]:
        start += 1
    while start < end and (
        text[end - 1] in ",;:"
        or (text[end - 1] in _PAIRS and _PAIRS[text[end - 1]] not in text[start:end])
    ):
        end -= 1
    return start, _end_of_and(text, start, end)


def _end_of_and(text: str, start: int, end: int) -> int:
    """Return the end of words and what "and" adds to them: more of their kind, or the last."""
    last = text[start:end].rpartition(" ")[2]
    patterns = [_LAST_WORDS]
    if any(map(str.isdigit, text[start:end])):
        patterns.append(_NEXT_QUANTITY)
    if last[:1].isupper():
        patterns.append(_NEXT_NAME)
    found = (pattern.match(text, end) for pattern in patterns)
    return max((match.end() for match in found if match), default=end)


def _is_one_thing(text: str, start: int, end: int) -> bool:
    """Return whether the marked words are neither a whole sentence nor layout marks."""
    if _EDGE_MARKS.search(text[start:end].strip()):
        return False
    for sentence_start, sentence_end in sentence_spans(text):
        sentence = text[sentence_start:sentence_end].rstrip(_STOPS)
        words = _MARK.sub("", sentence)
        last = sentence_start + len(sentence)
        is_whole = start <= last - len(words) and last <= end
        if is_whole and len(words.split()) > MAX_NAMING_WORDS:
            return False
    return True
