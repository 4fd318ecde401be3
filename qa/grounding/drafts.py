"""Verify a language model's draft statement by statement, while it is being written.

A statement cites segments of the passages. It stays in the model's words if the model, asked again,
confirms that the segments say it, and it has no new number, name or negation. If it has one, or the
model cannot be asked, the segments are quoted instead. Control statements with known answers test
whether the model can check statements (``qa.grounding.controls``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Literal, NamedTuple

from corpus.sentences import sentence_spans
from qa.grounding.citations import AnswerText, OnText, Piece
from qa.grounding.controls import falsify, find_unrelated
from qa.grounding.support import keeps_facts
from qa.grounding.support.polarity import is_negation
from qa.grounding.support.words import read_words
from qa.segments import Kind, Segment, split_segments
from qa.types import Answer, Draft, Passage, Quote, Statement, VerifiedStatement

if TYPE_CHECKING:
    from qa.grounding.citations import CitationVerifier


class Claim(NamedTuple):
    """A statement to check, and the text that should support it."""

    statement: str
    evidence: str


Verdict = Literal["supported", "unsupported", "irrelevant"]
"""Verdict on a claim; an ``irrelevant`` one does not help with the question."""


class Checked(NamedTuple):
    """Verdicts on claims, and the tokens they cost."""

    verdicts: tuple[Verdict, ...]
    prompt_tokens: int = 0
    completion_tokens: int = 0


Check = Callable[[str, Sequence[Claim]], "Checked | None"]
"""Returns a verdict on each claim in an answer to a question; None if it cannot."""
Read = Callable[[Sequence[Passage]], "list[Passage]"]
"""Returns passages with their readings."""

# The relevance to the question, a logit, from which on a draft that cannot be checked is about it,
# where it does not point at what the reader marks as the answer: a planted instruction has -11.
ABOUT_FROM = -8.0

Outcome = Literal["stated", "quoted", "dropped"]
_Judged = tuple[Outcome, str]
"""The outcome of a statement, and the reason."""
_REASONS: dict[Verdict, str] = {
    "unsupported": "its sources do not say it",
    "irrelevant": "it does not help to answer the question",
}
NEW_FACT = "a number, name or negation in it stands in none of its sources"
UNCHECKED = "it could not be checked"

_VERDICT = re.compile(r"\A\W*(?:yes|no)\b\W*", re.IGNORECASE)


# Passages of one chunk may differ in the text around it.
_Key = tuple[str, int, int]


def _key(passage: Passage) -> _Key:
    return passage.chunk_id, passage.start_char, passage.end_char


@dataclass(slots=True)
class StreamingVerifier:
    """Builds an answer from a draft that is being written; sent text is never taken back.

    Attributes:
        passages: All that the model was given, including neighbors of retrieved passages.
        read: Reads the passages that a draft cites.
        outcomes: Of each statement.
        is_untrusted: The model failed the control statements: its draft is dropped.
        prompt_tokens: Of the checks.
    """

    verifier: CitationVerifier
    question: str
    passages: Sequence[Passage]
    on_text: OnText
    read: Read
    check: Check
    outcomes: list[VerifiedStatement] = field(default_factory=list)
    is_untrusted: bool = False
    prompt_tokens: int = 0
    completion_tokens: int = 0
    text: AnswerText = field(init=False)
    _cited: dict[_Key, Passage] = field(default_factory=dict)
    _has_passed: bool = False
    _cannot_check: bool = False
    _is_about: bool = False
    _is_rewritten: bool = False

    def __post_init__(self) -> None:
        self.text = AnswerText(self.on_text, answer_from=self.verifier.draft_answer_from)

    def verify(self, draft: Draft) -> None:
        """Verify the new statements of a draft.

        Raises:
            ClientDisconnected: By ``on_text`` or ``check``.
            BackendError: The reader failed.
        """
        drafted = [statement.text for statement in draft.statements[: len(self.outcomes)]]
        if drafted != [fate.text for fate in self.outcomes]:  # the model started over
            self.outcomes = []
            self._is_rewritten = self.text.is_started
            if not self._is_rewritten:
                self._cited, self._is_about = {}, False
                self.text.reset()
        fresh = draft.statements[len(self.outcomes) :]
        if fresh and not self.is_untrusted:
            self._verify(fresh, draft.verdict)
        if self.is_untrusted:
            reason = "the model takes false statements for true"
            self.outcomes = [
                VerifiedStatement(each.text, _quoted(each), "dropped", reason)
                for each in draft.statements
            ]

    def accepts_refusal(self, extract: Draft) -> bool:
        """Return whether to accept that a model drafted nothing.

        Not if it fails the control statements made from an extract.
        """
        if extract.statements:
            self._check([], extract.statements)
        return not self.is_untrusted

    def finish(self, draft: Draft) -> Answer | None:
        """Verify the rest of a finished draft; return the answer, or None without one."""
        self.verify(draft)
        if not self.text.is_started:
            return None
        return self.verifier.answer(self.question, self.text, self.passages)

    @property
    def cited(self) -> tuple[Passage, ...]:
        """Return the passages that the draft cites, with their readings."""
        return tuple(self._cited.values())

    def _verify(self, statements: Sequence[Statement], yes_or_no: str) -> None:
        placed = [self._locate(quote).passage for each in statements for quote in each.quotes]
        fresh = {_key(each): each for each in placed if _key(each) not in self._cited}
        unread = [each for each in fresh.values() if each.reading is None]
        fresh |= {_key(each): each for each in self.read(unread)} if unread else {}
        self._cited |= fresh
        texts = [statement.text for statement in statements]
        is_first = not self.outcomes and not self._is_rewritten
        if yes_or_no and is_first and not _VERDICT.match(texts[0]):
            texts[0] = f"{yes_or_no.capitalize()}. {texts[0]}"
        judged = self._check(texts, statements)
        if not self.is_untrusted:
            for text, statement, (how, reason) in zip(texts, statements, judged, strict=True):
                self.outcomes.append(self._add(statement, text, how, reason))

    def _locate(self, quote: Quote) -> Quote:
        passage = next(
            (
                each
                for each in self.passages
                if each.document_id == quote.passage.document_id
                and each.start_char <= quote.start_char
                and quote.end_char <= each.end_char
            ),
            quote.passage,
        )
        return replace(quote, passage=self._cited.get(_key(passage), passage))

    def _check(self, texts: Sequence[str], statements: Sequence[Statement]) -> list[_Judged]:
        """Return the outcome of each text; set ``is_untrusted`` if a control fails.

        The first check includes the controls. A model that could not check is not asked again.
        """
        evidence = [_evidence_of(statement) for statement in statements]
        claims = [
            Claim(text, text_evidence) for text, text_evidence in zip(texts, evidence, strict=False)
        ]
        controls = [] if self._has_passed else list(self._controls(statements))
        # Shuffled, but the same each time the question is asked.
        order = sorted(
            range(len(claims) + len(controls)),
            key=lambda at: sha256(f"{at}{self.question}".encode()).digest(),
        )
        all_claims = [*claims, *(claim for claim, _ in controls)]
        checked = (
            None
            if self._cannot_check
            else self.check(self.question, [all_claims[n] for n in order])
        )
        if checked is None:
            self._cannot_check = True
            return [self._judge_unchecked(statement) for statement in statements]
        self.prompt_tokens += checked.prompt_tokens
        self.completion_tokens += checked.completion_tokens
        verdicts = dict(zip(order, checked.verdicts, strict=True))
        self.is_untrusted = any(
            (verdicts[at] == "supported") is not is_true
            for at, (_, is_true) in enumerate(controls, start=len(claims))
        )
        self._has_passed |= bool(controls)
        return [self._judge(verdicts[at], claim) for at, claim in enumerate(claims)]

    def _judge(self, verdict: Verdict, claim: Claim) -> _Judged:
        """Return the outcome of a claim by the model's verdict.

        A supported claim with a new number, name or negation is quoted. An unsupported one goes,
        since its sources are the wrong ones.
        """
        if verdict != "supported":
            return "dropped", _REASONS[verdict]
        # Lower-case the first letter of each sentence, so that it does not look like a name.
        text = _VERDICT.sub("", claim.statement)
        spans = sentence_spans(text)
        statement = " ".join(text[start].lower() + text[start + 1 : end] for start, end in spans)
        known = f"{claim.evidence}\n{self.question}"
        keeps = keeps_facts(statement, known) and (
            not _denies(statement) or _denies(claim.evidence)
        )
        return ("stated", "") if keeps else ("quoted", NEW_FACT)

    def _controls(self, statements: Sequence[Statement]) -> Iterator[tuple[Claim, bool]]:
        """Yield claims made from the first statement's sources, each true or false."""
        statement = next((each for each in statements if each.quotes), None)
        if statement is None:
            return
        evidence, source = _evidence_of(statement), plain_text(statement.quotes[0].text)
        yield Claim(source, evidence), True
        others = [
            plain_text(passage.text[slice(*segment.span)])
            for passage in reversed(self.passages)
            for segment in segments_of(passage.text)
            if segment.kind is Kind.SENTENCE and not segment.is_lead_in and not segment.refers_back
        ]
        for false in (falsify(source), find_unrelated(evidence, others)):
            if false:
                yield Claim(false, evidence), False

    def _add(self, statement: Statement, text: str, how: Outcome, reason: str) -> VerifiedStatement:
        """Add a statement's text, or its quotes, or nothing; return its outcome."""
        fate = VerifiedStatement(statement.text, _quoted(statement), how, reason)
        if not statement.quotes:
            return replace(fate, outcome="dropped", reason="it points at nothing that was given")
        if how == "dropped":
            return fate
        quotes = tuple(map(self._locate, statement.quotes))
        cited = [citation.passage for citation in self.text.citations]
        confidence = self.verifier.estimate_draft([*cited, *(quote.passage for quote in quotes)])
        if how == "stated" and not (self._is_rewritten and self.text.cites_all(quotes)):
            self.text.add([Piece(text, quotes)], confidence)
            return fate
        pieces = [
            replace(piece, quotes=tuple(map(self._locate, piece.quotes)))
            for piece in _quote_pieces(statement.quotes)
        ]
        fresh = [piece for piece in pieces if not self.text.cites_all(piece.quotes)]
        self.text.add(fresh, confidence)
        return replace(fate, outcome="quoted" if fresh else "repeated")

    def _judge_unchecked(self, statement: Statement) -> _Judged:
        """Quote the sources, from the first relevant statement on.

        A statement is relevant if it cites words that the reader marks, or by the judge's score.
        """
        for quote in map(self._locate, statement.quotes):
            reading, offset = quote.passage.reading, quote.passage.start_char
            if reading is not None and reading.start < reading.end:
                start, end = reading.start + offset, reading.end + offset
                self._is_about |= quote.start_char < end and start < quote.end_char
        if not self._is_about:
            (relevance,) = self.verifier.relevance(self.question, [_evidence_of(statement)])
            self._is_about = relevance >= ABOUT_FROM
        return ("quoted", UNCHECKED) if self._is_about else ("dropped", _REASONS["irrelevant"])


def _quoted(statement: Statement) -> str:
    return "\n".join(quote.text for quote in statement.quotes)


def _evidence_of(statement: Statement) -> str:
    """Return the cited texts of a statement, each with its headings and what it needs."""
    parts = []
    for quote in statement.quotes:
        text = "\n".join(each.text for each in [*needs_of(quote), quote])
        place = quote.passage.breadcrumb
        parts.append(f"({place})\n{text}" if place else text)
    return "\n...\n".join(parts)


def _denies(text: str) -> bool:
    return any(is_negation(word) for word in read_words(text))


@lru_cache(maxsize=64)
def segments_of(text: str) -> tuple[Segment, ...]:
    return split_segments(text)


def needs_of(quote: Quote) -> list[Quote]:
    """Return the quotes needed to understand a quote, in order."""
    passage, offset = quote.passage, quote.passage.start_char
    segments = segments_of(passage.text)
    segment = next((s for s in segments if s.start + offset == quote.start_char), None)
    if segment is None:
        return []
    return [replace(quote, start_char=a + offset, end_char=b + offset) for a, b in segment.needs]


def _quote_pieces(quotes: Sequence[Quote]) -> Iterator[Piece]:
    """Yield the quotes as pieces, each after what it needs, and none twice."""
    quoted: list[Quote] = []
    for quote in quotes:
        for each in (*needs_of(quote), quote):
            is_header = _is_row(quote) and _is_row(each) and each != quote
            if not is_header and not any(each.is_within(other) for other in quoted):
                quoted.append(each)
                yield _as_piece(each)


def _as_piece(quote: Quote) -> Piece:
    text = quote.text
    if text.startswith(("```", "~~~")):
        return Piece(text, (quote,), layout="block")
    if _is_row(quote):
        header = next((each.text for each in needs_of(quote) if _is_row(each)), "")
        return Piece(row_to_text(text, header), (quote,))
    kind = next((s.kind for s in segments_of(text)), Kind.SENTENCE)
    return Piece(plain_text(text), (quote,), layout="item" if kind is Kind.ITEM else "sentence")


def _is_row(quote: Quote) -> bool:
    return quote.text.startswith("|")


_LINE_MARKS = re.compile(
    r"^[ \t]*(?:>[ \t]?|[-*+\u2022][ \t]+|\(?\d{1,3}[.)][ \t]+|#{1,6}[ \t]+)+", re.M
)
_TASK = re.compile(r"\A\[[ xX]\]\s+")
_SPACE = re.compile(r"\s+")


def plain_text(text: str) -> str:
    """Return a quote as one line, without marks of lists, quotes and headings."""
    return _TASK.sub("", _SPACE.sub(" ", _LINE_MARKS.sub("", text)).strip())


def row_to_text(row: str, header: str) -> str:
    """Return the cells of a table row, each with its column name."""
    cells, names = _cells(row), _cells(header)
    named = [
        f"{name}: {cell}" if name else cell
        for cell, name in zip(cells, [*names, *[""] * len(cells)], strict=False)
        if cell
    ]
    return "; ".join(named)


def _cells(row: str) -> list[str]:
    inner = row.strip().removeprefix("|").removesuffix("|")
    return [_SPACE.sub(" ", cell).strip() for cell in re.split(r"(?<!\\)\|", inner)]
