"""Present a stored answer on a page: marked text, sources and confidence."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any
from urllib.parse import unquote
from uuid import UUID

from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import Truncator

from corpus.loaders.ocr import UNSURE_BELOW
from corpus.models import Document
from qa import models
from qa.context import EXTRACTIVE
from qa.conversations import (
    find_passages,
    page_range_of_citation,
    read_passages,
    uncited_spans,
)
from qa.notices import NOTHING_NEAR, UNANSWERED, UNSURE, notice_of
from qa.search.display import DocumentSpan
from qa.types import ClosePassage
from web.rendered_text import MARKDOWN, Mark, render, visible_text

# Characters of a paragraph or list that are shown before and behind what is quoted in it.
AROUND_CHARS = 500
# Of a passage that is folded to one line.
FIRST_CHARS = 160
PLAIN = "text/plain"

# Of an unsure answer to a text that is not kept, or from documents that are gone.
UNSURE_ALONE = "Not sure."
SHARED_WORDS = "Passages with some of the same words"
DISAGREEMENT = "Your documents disagree:"
OCR_UNSURE = "OCR may have misread this: compare it with the page"
ERASED = "Removed because a quoted document was deleted."


@dataclass(frozen=True, slots=True)
class Source:
    """A quote with what it stands in.

    Attributes:
        number: By which the answer names it, from 1.
        quote: As one line, without marks of form.
        answer_end: Where in the answer that ends which it holds up.
        state: ``current``, ``changed``, ``deleted``, or ``selected`` for a text of the asker's.
        html: The quote marked in its surroundings, or alone; empty where the answer says it.
        ocr_confidence: Where OCR is least sure of the quote; None where it did not read it.
        last_page: Where the quote ends, if that is known.
        document_date: The day, month or year of its document, as ISO 8601, or empty.
    """

    number: int
    title: str
    source_uri: str
    heading_path: Sequence[str]
    page: int | None
    document_id: UUID | str | None
    start: int
    end: int
    content_sha256: str
    quote: str
    answer_end: int = 0
    state: str = "current"
    support: str = ""
    html: SafeString = mark_safe("")  # noqa: RUF009 - nothing
    ocr_confidence: float | None = None
    last_page: int | None = None
    document_date: str = ""

    @property
    def pages(self) -> str:
        """As people say them; empty where its document has none."""
        if self.last_page is None or self.last_page == self.page:
            return f"page {self.page}" if self.page else ""
        return f"pages {self.page}–{self.last_page}"

    @property
    def is_unsure(self) -> bool:
        """Return whether OCR may have misread letters of it."""
        return self.ocr_confidence is not None and self.ocr_confidence < UNSURE_BELOW

    @property
    def warning(self) -> str:
        return OCR_UNSURE if self.is_unsure else ""

    @property
    def name(self) -> str:
        """The title, else the last part of the address."""
        if self.state == "selected":
            return "Selected text"
        last = unquote(self.source_uri.rstrip("/").rsplit("/", 1)[-1])
        return self.title or last or "Document"

    @property
    def headings(self) -> Sequence[str]:
        """The headings it stands under; the title at their head is not said again."""
        path = self.heading_path
        return path[1:] if list(path[:1]) == [self.title] else path


@dataclass(frozen=True, slots=True)
class Card:
    """A relevant passage, shown whole.

    Attributes:
        source: Its likeliest words; ``html`` is the whole passage with them marked.
        text: The whole passage, verbatim.
        start: Where it begins in the document, in characters.
    """

    source: Source
    text: str
    start: int
    first_words: str

    @property
    def end(self) -> int:
        return self.start + len(self.text)


@dataclass(frozen=True, slots=True)
class Turn:
    """A question with its answer.

    Attributes:
        text: What a language model wrote; empty where documents are quoted.
        passages: The sources of an extract, those of one document that follow each other together.
        sources: What a written answer goes back to.
        closest: Passages that the answer does not cite, best first.
    """

    answer: models.Answer
    text: SafeString = mark_safe("")  # noqa: RUF009 - nothing
    passages: list[list[Source]] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    disagreement: list[Source] = field(default_factory=list)
    closest: list[Card] = field(default_factory=list)
    notice: str = ""

    @property
    def words(self) -> dict[str, str]:
        return {
            "unsure": UNSURE if self.closest else UNSURE_ALONE,
            "unanswered": UNANSWERED,
            "disagreement": DISAGREEMENT,
            "shared_words": SHARED_WORDS,
        }

    @property
    def erased(self) -> str:
        return ERASED

    @property
    def is_answer(self) -> bool:
        return self.answer.kind == models.Answer.Kind.ANSWER

    @property
    def is_reply(self) -> bool:
        """It is what to ask for, said to a text that is no question."""
        return self.notice not in ("", NOTHING_NEAR)

    @property
    def is_written(self) -> bool:
        """A language model wrote it; else it is the documents' own words."""
        return bool(self.text)

    @property
    def cited(self) -> list[Source]:
        """Return the sources of the answer, in order."""
        quoted = [source for group in self.passages for source in group]
        return quoted or self.sources

    @property
    def changed(self) -> list[str]:
        """Names of the documents that are not what they were when the question was answered."""
        names = (source.name for source in self.cited if source.state == "changed")
        return list(dict.fromkeys(names))


def read_turns(answers: Iterable[models.Answer]) -> list[Turn]:
    """Return what to show of answers that were read with ``shown``."""
    answers = list(answers)
    cited = (c.document_id for answer in answers for c in answer.citations.all())
    spans = uncited_spans(answers)
    media_types = read_media_types({*filter(None, cited), *(s["document_id"] for s in spans)})
    reader = _TurnReader(media_types, find_passages(spans))
    return [reader.read(answer) for answer in answers]


def read_media_types(documents: Iterable[UUID | str]) -> dict[str, str]:
    """Return the media types of documents that are there, by their ids."""
    rows = Document.objects.filter(pk__in=set(documents)).values_list("pk", "media_type")
    return {str(key): media_type for key, media_type in rows}


class _TurnReader:
    """Reads answers with what was looked up for all of them."""

    def __init__(
        self, media_types: dict[str, str], passages: Mapping[DocumentSpan, ClosePassage]
    ) -> None:
        self._media_types = media_types
        self._passages = passages

    def read(self, answer: models.Answer) -> Turn:
        if answer.kind != models.Answer.Kind.ANSWER:
            notice = notice_of(answer.intent) if answer.kind == "abstained" else ""
            return Turn(answer, closest=self._show_whole(answer.closest, first=1), notice=notice)
        cited = sorted(answer.citations.all(), key=lambda c: (c.answer_start, c.ordinal))
        others = self._point_to(answer.disagreement, first=len(cited) + 1)
        more = self._show_whole(answer.closest, first=len(cited) + len(others) + 1)
        sources = [self._quote(answer, each, number) for number, each in enumerate(cited, start=1)]
        turn = Turn(answer, disagreement=others, closest=more)
        if answer.answerer == EXTRACTIVE:
            groups = groupby(sources, key=lambda source: (source.document_id, source.name))
            return replace(turn, passages=[list(group) for _, group in groups])
        return replace(turn, text=_text(answer, cited, sources), sources=sources)

    def _quote(self, answer: models.Answer, citation: Any, number: int) -> Source:
        said = answer.text[citation.answer_start : citation.answer_end]
        is_said = answer.answerer != EXTRACTIVE and said == citation.quote
        media_type = self._media_type(citation)
        return _source(
            citation,
            citation,
            number=number,
            media_type=media_type,
            html=SafeString() if is_said else _quote_in_place(answer, citation, media_type),
            answer_end=citation.answer_end,
            state=_state(citation),
            support=citation.support,
            document_date=citation.document_date,
            **page_range_of_citation(citation)._asdict(),
        )

    def _point_to(self, spans: Sequence[dict[str, Any]], *, first: int) -> list[Source]:
        found = enumerate(read_passages(spans, self._passages), start=first)
        return [self._point(close, number, text=close.quote) for number, close in found]

    def _show_whole(self, spans: Sequence[dict[str, Any]], *, first: int) -> list[Card]:
        found = enumerate(read_passages(spans, self._passages), start=first)
        return [self._card(close, number) for number, close in found]

    def _card(self, close: ClosePassage, number: int) -> Card:
        text = close.shown_text
        start = close.unit_start if close.unit_text else close.start_char
        marks = [Mark(close.start_char, close.end_char)] if text != close.quote else []
        source = self._point(close, number, text=text, offset=start, marks=marks)
        shown = visible_text(text, media_type=self._media_type(close.passage))
        return Card(source, text, start, Truncator(shown).chars(FIRST_CHARS))

    def _point(
        self,
        close: ClosePassage,
        number: int,
        *,
        text: str,
        offset: int | None = None,
        marks: Sequence[Mark] = (),
    ) -> Source:
        """Show a text that holds what a passage points at."""
        media_type = self._media_type(close.passage)
        offset = close.start_char if offset is None else offset
        html = render(text, media_type=media_type, offset=offset, marks=marks)
        return _source(
            close.passage,
            close,
            number=number,
            media_type=media_type,
            html=as_block(html, media_type),
            ocr_confidence=close.page_range.ocr_confidence,
            page=close.page_range.page or close.passage.page,
            last_page=close.page_range.last_page,
            document_date=close.passage.document_date,
        )

    def _media_type(self, origin: Any) -> str:
        return self._media_types.get(str(origin.document_id), PLAIN)


def _source(origin: Any, quoted: Any, *, media_type: str, **fields: Any) -> Source:
    """Show what is quoted, a span of the document that its origin names."""
    return Source(
        title=origin.title,
        source_uri=origin.source_uri,
        heading_path=origin.heading_path,
        document_id=origin.document_id,
        content_sha256=origin.content_sha256,
        start=quoted.start_char,
        end=quoted.end_char,
        quote=visible_text(quoted.quote, media_type=media_type),
        **fields,
    )


def _state(citation: Any) -> str:
    if citation.is_selected:
        return "selected"
    if citation.document_id is None:
        return "deleted"
    return "current" if citation.standing == citation.quote else "changed"


def _quote_in_place(answer: models.Answer, citation: Any, media_type: str) -> SafeString:
    """The quote within its paragraph or list, where that is known; its telling words bold."""
    marks = [Mark(citation.start_char, citation.end_char)]
    said = answer.text[citation.answer_start : citation.answer_end]
    if answer.short and said == citation.quote:
        shift = citation.start_char - citation.answer_start
        start, end = answer.short_start or 0, answer.short_end or 0
        if citation.answer_start <= start and end <= citation.answer_end:
            marks.append(Mark(start + shift, end + shift, tag="strong", name="short"))
    if not citation.surroundings:
        html = render(
            citation.quote, media_type=media_type, offset=citation.start_char, marks=marks
        )
        return as_block(html, media_type)
    text, offset = _clip(citation.surroundings, citation)
    return as_block(render(text, media_type=media_type, offset=offset, marks=marks), media_type)


def _clip(text: str, citation: Any) -> tuple[str, int]:
    """Cut what is far from the quote, at the end of a line or word; return where it begins."""
    start = citation.start_char - citation.context_start
    end = citation.end_char - citation.context_start
    first = max(start - AROUND_CHARS, 0)
    if first:
        cut = max(text.rfind("\n", first, start), text.find(" ", first, start))
        first = cut + 1 if cut >= 0 else start
    last = min(end + AROUND_CHARS, len(text))
    if last < len(text):
        cut = text.find("\n", end, last)
        last = cut if cut >= 0 else max(text.rfind(" ", end, last), end)
    return text[first:last], citation.context_start + first


def as_block(html: str, media_type: str) -> SafeString:
    """In ``html`` all text of documents is escaped."""
    name = "rendered" if media_type == MARKDOWN else "text"
    return format_html('<div class="{}">{}</div>', name, mark_safe(html)) if html else SafeString()  # noqa: S308


def _text(answer: models.Answer, cited: Sequence[Any], sources: Sequence[Source]) -> SafeString:
    """Render a language model's text, each sentence followed by its source numbers."""
    marks = [
        Mark(c.answer_start, c.answer_end, tag="span", name=f"sentence is-{c.support}")
        for c in cited
    ]
    chips = [
        (citation.answer_end, str(_chip(source, answer)))
        for citation, source in zip(cited, sources, strict=True)
    ]
    html = render(answer.text, media_type=MARKDOWN, marks=marks, inserted=chips)
    return as_block(html, MARKDOWN)


def _chip(source: Source, answer: models.Answer) -> SafeString:
    support = "partly supported" if source.support == "partial" else "supported"
    return format_html(
        '<span class="chip-wrap"><button type="button" class="chip" data-cite="{number}"'
        ' data-document="{document}" data-start="{start}" data-end="{end}" data-sha="{sha}"'
        ' aria-expanded="false" aria-describedby="tip-{answer}-{number}"'
        ' aria-label="Source {number}, {name}">{number}</button>'
        '<span class="tip" role="tooltip" id="tip-{answer}-{number}"><q>{quote}</q>'
        '<span class="place">{name} · {support}</span></span></span>',
        number=source.number,
        document=source.document_id or "",
        start=source.start,
        end=source.end,
        sha=source.content_sha256,
        answer=answer.pk,
        name=source.name,
        quote=source.quote,
        support=support,
    )
