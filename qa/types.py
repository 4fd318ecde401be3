"""Value types of question answering, frozen."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NotRequired, TypedDict

import numpy as np
from numpy.typing import NDArray

from corpus.loaders.metadata import full_title, ranked_text

if TYPE_CHECKING:
    from corpus.filters import Filter

Scorer = Callable[[str, Sequence[str]], NDArray[np.float32]]
"""Scores texts by relevance to a query: shape (n,); higher is better."""


# The end of a message's heading in a thread: "Anna Holt, 2026-11-02".
_MESSAGE_DAY = re.compile(r", (\d{4}-\d{2}-\d{2})\Z")
# Between two paragraphs of a stored text.
_GAP = "\n\n"
# Passages that are shown where nothing is claimed.
CLOSEST_COUNT = 5


@dataclass(frozen=True, slots=True)
class Query:
    """A question prepared for retrieval.

    Attributes:
        text: What to search for; passages are judged by it alone.
        collection: Name of the collection, or ``*`` for all.
        tags: A chunk must have any of them; empty means all chunks.
        k: Passages to return, 1 to 100.
        filters: Conditions on a passage's document.
        wants_list: It asks for several things, which a list or table may contain.
    """

    text: str
    collection: str
    tags: tuple[str, ...] = ()
    k: int = 12
    filters: "Filter | None" = None
    wants_list: bool = False


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question of a conversation and its answer.

    Attributes:
        searched: The question completed from the conversation.
        answer: Empty if the documents did not contain one.
        versions: SHA-256 of the document versions that it quotes, and of those that disagree;
            without an answer, of the one with the closest passage.
        short: The few words of the answer that a document answers with, else its first sentence;
            None if that version is gone.
    """

    question: str
    searched: str
    answer: str
    versions: tuple[str, ...] = ()
    short: "Quote | None" = None


class QAInput(TypedDict):
    """The input of the graph."""

    question: str
    history: tuple[Exchange, ...]  # oldest first
    collection: str  # a name, or "*"
    tags: tuple[str, ...]
    k: int
    versions: NotRequired[tuple[str, ...]]  # SHA-256 of the documents quoted last, searched alone
    recast: NotRequired[str]  # the last question, asked of a follow-up's new subject
    document: NotRequired[str]  # SHA-256 of the only document asked


@dataclass(frozen=True, slots=True)
class Reading:
    """A reader's result for a question and a text.

    Attributes:
        score: The logit that the text answers the question, unbounded.
        start: Where the best answer starts, in characters of the text.
        end: Where it ends; ``start`` if there is none.
        margin: The logit of that answer minus that of no answer, unbounded.
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
        score: In [0, 1]; comparable within one list only, higher is better.
        relevance: The reranker's raw score, if it has one.
        reading: The reader's result, once it was read for a question.
        is_selected: It is from a text sent with the question, not from a stored document;
            ``document_id`` is empty, and ``chunk_id`` is unique within one question only.
        document_date: Day, month or year of its document, as ISO 8601, or empty; in a thread of
            e-mails, the day of its message.
        file_words: Words of its file's path that its title lacks.
        collection_id: Of its document; None for a text sent with the question.
        disagrees_with: Ids of the chunks of other documents that state another value.
        is_newest: It replaced the likeliest passage, as the newest of those that disagree.
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
    file_words: str = ""
    collection_id: int | None = None
    disagrees_with: tuple[str, ...] = ()

    @property
    def message_day(self) -> str:
        """Return the day in the heading of its message, if its document is a thread of e-mails."""
        if "from" not in self.metadata or len(self.heading_path) < 2:  # noqa: PLR2004
            return ""
        day = _MESSAGE_DAY.search(self.heading_path[1])
        return day[1] if day else ""

    @property
    def name(self) -> str:
        """Return its document's title, else the last part of its URI, else its id."""
        return self.title or self.source_uri.rstrip("/").rsplit("/", 1)[-1] or self.document_id

    @property
    def source(self) -> str:
        """Return its document's URI, else its title, else its id."""
        return self.source_uri or self.title or self.document_id

    def text_of(self, start_char: int, end_char: int) -> str:
        """Return characters ``start_char:end_char`` of its document, if they are within it."""
        return self.text[start_char - self.start_char : end_char - self.start_char]

    @property
    def as_ranked(self) -> str:
        """Return the text that rerankers read."""
        return ranked_text(self.text, title=self.title, file_words=self.file_words)

    @property
    def breadcrumb(self) -> str:
        """Return file words, title and headings, which its text often refers to; may be empty."""
        parts = dict.fromkeys(part for part in (self.title, *self.heading_path) if part)
        return full_title(" > ".join(parts), file_words=self.file_words)


@dataclass(frozen=True, slots=True)
class Quote:
    """A verbatim span of a document: characters ``start_char:end_char`` of its stored text."""

    passage: Passage
    start_char: int
    end_char: int

    @property
    def text(self) -> str:
        return self.passage.text_of(self.start_char, self.end_char)

    def is_within(self, other: "Quote") -> bool:
        """Return whether another quote of the same document covers this one."""
        is_same = self.passage.document_id == other.passage.document_id
        return is_same and other.start_char <= self.start_char and self.end_char <= other.end_char


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of a draft, and the sources it cites.

    Attributes:
        text: In the answerer's words; the extractive answerer uses the source's.
        quotes: Its sources, in reading order.
    """

    text: str
    quotes: tuple[Quote, ...]


@dataclass(frozen=True, slots=True)
class Draft:
    """An unverified answer by an answerer; without statements it is a refusal.

    Attributes:
        answerer: Name of its answerer.
        verdict: The answer to a yes/no question, else empty.
        note: What went wrong on the way, or empty.
        is_fallback: It replaces a failed model's draft, or is one that broke off.
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
"""Receives a draft that is being written: its finished statements so far."""


def ignore_draft(draft: Draft) -> None:
    """Do nothing: only the finished draft matters."""


@dataclass(frozen=True, slots=True)
class VerifiedStatement:
    """The outcome of verifying one statement of a draft.

    Attributes:
        text: As drafted.
        quoted: The text that it cites.
        outcome: Stated in its own words; replaced by its quotes; its quotes were there already; or
            dropped.
        reason: Why it was not stated in its own words, or empty.
    """

    text: str
    quoted: str
    outcome: Literal["stated", "quoted", "repeated", "dropped"]
    reason: str = ""


class PageRange(NamedTuple):
    """The pages of a quote; all None if its document has no pages.

    Attributes:
        page: First page.
        last_page: Last page.
        ocr_confidence: Lowest OCR confidence within it, in [0, 1]; None without OCR.
    """

    page: int | None = None
    last_page: int | None = None
    ocr_confidence: float | None = None


NO_PAGES = PageRange()


@dataclass(frozen=True, slots=True)
class Citation:
    """A verbatim span that supports the slice ``answer_start:answer_end`` of an answer.

    Attributes:
        quote: Equals ``text[start_char:end_char]`` of the document version.
        score: Of the passage if the slice is the quote itself; else the probability that the quote
            supports it. In [0, 1].
        support: ``supported``; older answers have ``partial`` too.
        page_range: Set by ``qa.search.display``.
    """

    passage: Passage
    quote: str
    start_char: int
    end_char: int
    answer_start: int
    answer_end: int
    score: float
    support: str
    page_range: PageRange = NO_PAGES

    @property
    def context(self) -> tuple[int, int]:
        """Return the span of the quote's paragraph or list in its document."""
        text, offset = self.passage.text, self.passage.start_char
        before = text.rfind(_GAP, 0, self.start_char - offset)
        after = text.find(_GAP, self.end_char - offset)
        first = 0 if before < 0 else before + len(_GAP)
        last = len(text) if after < 0 else after
        return offset + first, offset + last


@dataclass(frozen=True, slots=True)
class Evidence:
    """Features of a passage that is quoted.

    Attributes:
        reading: The reader's score, a logit.
        behind: The passage's own score minus the best one retrieved, in [-1, 0].
        ahead: How much likelier it answers than the best passage with another answer, a
            difference of logits, at most ``MAX_AHEAD``; ``ALONE_AHEAD`` if there is no other.
    """

    reading: float
    behind: float
    ahead: float


@dataclass(frozen=True, slots=True)
class ClosePassage:
    """A passage that may answer, with the closest span of its document.

    Attributes:
        score: The probability that it answers, in [0, 1].
        unit_start: Where the paragraphs, items or rows around that span begin in the document.
        unit_text: Their text; empty until it is read.
        page_range: As of a citation.
    """

    passage: Passage
    start_char: int
    end_char: int
    score: float
    unit_start: int = 0
    unit_text: str = ""
    page_range: PageRange = NO_PAGES

    @property
    def quote(self) -> str:
        return self.passage.text_of(self.start_char, self.end_char)

    @property
    def unit_end(self) -> int:
        return self.unit_start + len(self.unit_text)


Kind = Literal["answer", "unsure", "abstained"]


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer; ``text`` is empty if the documents contain none, or it is unsure.

    Attributes:
        short: Half-open span in ``text`` of the few words that answer, if any.
        closest: The most relevant passages that the text does not cite, best first; nothing is
            claimed of them.
        is_unsure: Whether the closest passage is worth showing.
        unanswered: Parts of the question without an answer.
        not_about: Names in the question that no quoted document is about.
        disagreement: Passages of other documents with another value, newest first.
        answerer: Name of the answerer.
        fallback: Why another answerer replaced the requested one, or empty.
        statements: The outcome of each statement of the requested answerer's draft.
        intent: Of the question, as named in ``qa.intent``.
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
    not_about: tuple[str, ...] = ()
    answerer: str = ""
    fallback: str = ""
    statements: tuple[VerifiedStatement, ...] = ()
    intent: str = ""

    @property
    def abstained(self) -> bool:
        return not self.text

    @property
    def pieces(self) -> Iterator[tuple[str, Citation]]:
        """Yield the text in pieces, each up to the end of a citation."""
        begin = 0
        for citation in self.citations:
            yield self.text[begin : citation.answer_end], citation
            begin = citation.answer_end

    @property
    def quoted(self) -> Iterator[Citation | ClosePassage]:
        yield from self.citations
        yield from self.closest
        yield from self.disagreement

    @property
    def kind(self) -> Kind:
        if self.text:
            return "answer"
        return "unsure" if self.is_unsure else "abstained"


@dataclass(frozen=True, slots=True)
class AnsweredQuestion:
    """A verified answer, stored, with a record of how it was made.

    Attributes:
        searched: The question completed from its conversation.
        passages: The passages given to the answerer, best first.
        draft: The unverified draft; None without passages, and for a question of several parts.
        steps: Name, milliseconds and summary of each node that ran.
        estimate: The shipped fit's confidence in an extract, given or withheld; None without one.
        is_of_all: All collections were asked.
    """

    id: str
    answer: Answer
    searched: str
    passages: tuple[Passage, ...]
    steps: tuple[dict[str, Any], ...] = field(default=())
    draft: Draft | None = None
    estimate: float | None = None
    is_of_all: bool = False
