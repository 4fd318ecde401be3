"""The vocabulary of question answering: frozen values that import nothing of the product."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from corpus.filters import Filter

Scorer = Callable[[str, Sequence[str]], NDArray[np.float32]]
"""Judges texts against a query: one raw relevance a text, shape (n,), great is good."""


# Between two paragraphs of a stored text.
_GAP = "\n\n"
# Passages that are shown where nothing is claimed.
CLOSEST_COUNT = 5


@dataclass(frozen=True, slots=True)
class Query:
    """A question made ready for retrieval.

    Attributes:
        text: What is searched for; passages are judged by it alone.
        collection: Name of the collection.
        tags: Any of them must be on a chunk; none given means all chunks.
        k: Passages to keep, 1 to 100.
        filters: What the document of a passage must be like.
        phrasings: The text in other words, each of which is searched for too.
        wants_list: It asks for several things, which a list or table may give.
    """

    text: str
    collection: str
    tags: tuple[str, ...] = ()
    k: int = 12
    filters: "Filter | None" = None
    phrasings: tuple[str, ...] = ()
    wants_list: bool = False

    @property
    def wordings(self) -> tuple["Query", ...]:
        """The query by its text, and the same by each of its phrasings."""
        texts = (self.text, *self.phrasings)
        return tuple(replace(self, text=text, phrasings=()) for text in texts)


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question of a conversation and what was answered.

    Attributes:
        searched: The question as it stands on its own.
        answer: Empty where the documents did not hold one.
    """

    question: str
    searched: str
    answer: str


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reader found in a text for a question.

    Attributes:
        score: The logit of the text answering the question, unbounded.
        start: Where the part that answers best starts, in characters of the text.
        end: Where it ends; ``start`` where there is none.
        margin: How much likelier that part is than that no part answers, in logits, unbounded.
    """

    score: float
    start: int
    end: int
    margin: float


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk as evidence: the slice ``start_char:end_char`` of a stored document version.

    Attributes:
        similarity: Cosine similarity to the query, clipped to [0, 1].
        score: In [0, 1]; comparable within one list only, great is good.
        relevance: The reranker's raw score, where it has one.
        reading: What the reader found in it, once it was read for a question.
        is_selected: It is of a text that came with the question, not of a stored document;
            ``document_id`` is empty, and ``chunk_id`` names it within one question only.
        document_date: The day, month or year that its document is of, as ISO 8601, or empty.
        is_newest: It took the place of the likeliest one, as the newest of those that disagree.
    """

    chunk_id: str
    document_id: str
    content_sha256: str
    title: str
    source_uri: str
    heading_path: tuple[str, ...]
    page: int | None
    text: str
    start_char: int
    end_char: int
    similarity: float = 0.0
    score: float = 0.0
    relevance: float | None = None
    reading: Reading | None = None
    is_selected: bool = False
    document_date: str = ""
    is_newest: bool = False
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What to call its document: the title, else the last part of its address, else its id."""
        return self.title or self.source_uri.rstrip("/").rsplit("/", 1)[-1] or self.document_id

    @property
    def source(self) -> str:
        """Where its document came from: the address, else the title, else its id."""
        return self.source_uri or self.title or self.document_id

    @property
    def lead(self) -> str:
        """What stands before the text where passages are ranked: the title's line.

        Before the text it helps a reranker more than behind it.
        """
        return f"{self.title}\n" if self.title else ""

    @property
    def as_ranked(self) -> str:
        """What rerankers read of it."""
        return self.lead + self.text

    @property
    def place(self) -> str:
        """Its title and headings, which its text often says "it" for; empty without any."""
        return " > ".join(dict.fromkeys(part for part in (self.title, *self.heading_path) if part))


@dataclass(frozen=True, slots=True)
class Quote:
    """A verbatim span of a document: characters ``start_char:end_char`` of its stored text."""

    passage: Passage
    start_char: int
    end_char: int

    @property
    def text(self) -> str:
        offset = self.passage.start_char
        return self.passage.text[self.start_char - offset : self.end_char - offset]

    def is_within(self, other: "Quote") -> bool:
        """Return whether another quote of the same document covers this one."""
        is_same = self.passage.document_id == other.passage.document_id
        return is_same and other.start_char <= self.start_char and self.end_char <= other.end_char


@dataclass(frozen=True, slots=True)
class Statement:
    """One thing that a draft says, and the sources it points at.

    Attributes:
        text: In the answerer's words; the extractive answerer uses the source's.
        quotes: What it points at, in the order in which it is read.
    """

    text: str
    quotes: tuple[Quote, ...]


@dataclass(frozen=True, slots=True)
class Draft:
    """An unverified answer by an answerer. Without statements it refuses to answer.

    Attributes:
        answerer: Name of the one that wrote it.
        verdict: The answer to a question that asks for yes or no, else empty.
        note: What went wrong on the way, or empty.
        is_fallback: It took the place of a model's that failed, or the model broke off.
    """

    statements: tuple[Statement, ...]
    answerer: str
    verdict: Literal["yes", "no", ""] = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    note: str = ""
    is_fallback: bool = False

    @property
    def text(self) -> str:
        return " ".join(statement.text for statement in self.statements)


OnDraft = Callable[[Draft], None]
"""Takes a draft that is being written: its finished statements so far."""


def ignore_draft(draft: Draft) -> None:
    """Do nothing: only the finished draft is of interest."""


@dataclass(frozen=True, slots=True)
class VerifiedStatement:
    """The outcome of verifying one statement of a draft.

    Attributes:
        text: As drafted.
        quoted: The text that it points at.
        outcome: It was said in its own words, or its sources were quoted, or they had been quoted
            before, or nothing was said.
        reason: Why it was not said in its own words, or empty.
    """

    text: str
    quoted: str
    outcome: Literal["stated", "quoted", "repeated", "dropped"]
    reason: str = ""


class PageRange(NamedTuple):
    """Where a quote stands in its document as people see it; all None where that has no pages.

    Attributes:
        page: That it begins on.
        last_page: That it ends on.
        ocr_confidence: How sure OCR is of it, where it is least sure, in [0, 1]; None where it
            did not read it.
    """

    page: int | None = None
    last_page: int | None = None
    ocr_confidence: float | None = None


NO_PAGES = PageRange()


@dataclass(frozen=True, slots=True)
class Citation:
    """A verbatim span that holds up the slice ``answer_start:answer_end`` of an answer.

    Attributes:
        quote: Equals ``raw_text[start_char:end_char]`` of the document version.
        score: Where that part is the quote itself, its passage's; else the chance that the quote
            supports it. In [0, 1].
        support: ``supported``; answers stored before have ``partial`` too.
        printed: As ``qa.search.display`` finds it.
    """

    passage: Passage
    quote: str
    start_char: int
    end_char: int
    answer_start: int
    answer_end: int
    score: float
    support: str
    printed: PageRange = NO_PAGES

    @property
    def context(self) -> tuple[int, int]:
        """The span, in its document, of the paragraph or list that the quote stands in."""
        text, offset = self.passage.text, self.passage.start_char
        return _block_around(text, self.start_char - offset, self.end_char - offset, offset)


def _block_around(text: str, start: int, end: int, offset: int) -> tuple[int, int]:
    before, behind = text.rfind(_GAP, 0, start), text.find(_GAP, end)
    first = 0 if before < 0 else before + len(_GAP)
    last = len(text) if behind < 0 else behind
    return offset + first, offset + last


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a passage that is quoted looks like beside the question.

    Attributes:
        reading: The reader's score, a logit.
        behind: The passage's own score less that of the best one found, in [-1, 0].
    """

    reading: float
    behind: float


@dataclass(frozen=True, slots=True)
class ClosePassage:
    """A passage that may answer, with the span of its document that comes nearest.

    Attributes:
        score: The chance that it answers, in [0, 1].
        unit_start: Where the paragraphs, items or rows around that span begin in the document.
        unit_text: Their text; empty as long as it was not read.
        printed: As of a citation.
    """

    passage: Passage
    start_char: int
    end_char: int
    score: float
    unit_start: int = 0
    unit_text: str = ""
    printed: PageRange = NO_PAGES

    @property
    def quote(self) -> str:
        offset = self.passage.start_char
        return self.passage.text[self.start_char - offset : self.end_char - offset]

    @property
    def unit_end(self) -> int:
        return self.unit_start + len(self.unit_text)

    @property
    def shown_text(self) -> str:
        """The unit, or the span alone where none was read."""
        return self.unit_text or self.quote


Kind = Literal["answer", "unsure", "abstained"]


@dataclass(frozen=True, slots=True)
class Answer:
    """``text`` is empty where the corpus does not hold an answer, or it is unsure whether it does.

    Attributes:
        short: Where in ``text`` the few words stand that answer, half-open, if any do.
        closest: The most relevant passages that the text does not cite, best first; nothing is
            claimed of them.
        is_unsure: Whether the nearest is near enough to be looked at.
        unanswered: Parts of the question that the text says nothing to.
        disagreement: Passages of other documents that answer with another value, newest first.
        answerer: Who wrote it.
        fallback: Why another answerer stood in for the one that was asked, or empty.
        drafted: What became of each statement of the draft of the one that was asked.
        intent: What the question asks for, as ``qa.intent`` names it.
    """

    question: str
    text: str
    confidence: float
    citations: tuple[Citation, ...] = ()
    short: tuple[int, int] | None = None
    closest: tuple[ClosePassage, ...] = ()
    is_unsure: bool = False
    disagreement: tuple[ClosePassage, ...] = ()
    unanswered: tuple[str, ...] = ()
    answerer: str = ""
    fallback: str = ""
    drafted: tuple[VerifiedStatement, ...] = ()
    intent: str = ""

    @property
    def abstained(self) -> bool:
        return not self.text

    @property
    def pieces(self) -> Iterator[tuple[str, Citation]]:
        """The text as it is said: each piece, from the end of the one before, with its citation."""
        begin = 0
        for citation in self.citations:
            yield self.text[begin : citation.answer_end], citation
            begin = citation.answer_end

    @property
    def quoted(self) -> Iterator[Citation | ClosePassage]:
        """All that it shows of documents."""
        yield from self.citations
        yield from self.closest
        yield from self.disagreement

    @property
    def kind(self) -> Kind:
        if self.text:
            return "answer"
        return "unsure" if self.is_unsure else "abstained"
