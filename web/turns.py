"""What a page shows of a stored answer: its words in their places, its sources, how sure it is."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any
from urllib.parse import unquote
from uuid import UUID

from django.conf import settings
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from corpus.loaders.ocr import UNSURE_BELOW
from corpus.models import Document
from qa import models
from qa.context import EXTRACTIVE
from qa.conversations import (
    find_passages,
    place_of_stored,
    pointed_at,
    read_passages,
)
from qa.conversations.passages import Place
from qa.questions import ABSTENTION, tell_abstention
from qa.types import ClosePassage
from web.rendered_text import MARKDOWN, Mark, render, visible_text

# Characters of a paragraph or list that are shown before and behind what is quoted in it.
AROUND_CHARS = 500
# Of what a passage must have for an unsure answer, to be unfolded under an abstention: that shows 6
# of 9 documents that hold the answer, and something for 3 of 28 questions without (decision 30).
NEAR_SHARE = 0.5
PLAIN = "text/plain"

UNSURE = "Not sure. These passages come closest:"
UNANSWERED = "Not answered by your documents:"
DISAGREEMENT = "Your documents disagree:"
OCR_UNSURE = "read by OCR, which is not sure of it: compare it with the page"
ERASED = "A document that this answer quoted was deleted, and what was said of it with it."


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
        """Whether letters of it may be others on the page."""
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
        return path[1:] if path[:1] == [self.title] else path


@dataclass(frozen=True, slots=True)
class Turn:
    """A question with its answer.

    Attributes:
        text: What a language model wrote; empty where documents are quoted.
        passages: The sources of an extract, those of one document that follow each other together.
        sources: What a written answer goes back to, or the closest passages of none.
        is_near: One of the closest passages is near enough to be shown unasked.
    """

    answer: models.Answer
    text: SafeString = mark_safe("")  # noqa: RUF009 - nothing
    passages: list[list[Source]] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    disagreement: list[Source] = field(default_factory=list)
    notice: str = ""
    is_near: bool = False

    @property
    def words(self) -> dict[str, str]:
        return {"unsure": UNSURE, "unanswered": UNANSWERED, "disagreement": DISAGREEMENT}

    @property
    def erased(self) -> str:
        return ERASED

    @property
    def is_answer(self) -> bool:
        return self.answer.kind == models.Answer.Kind.ANSWER

    @property
    def is_reply(self) -> bool:
        """It is what to ask for, said to a text that is no question."""
        return self.notice not in ("", ABSTENTION)

    @property
    def is_written(self) -> bool:
        """A language model wrote it; else it is the documents' own words."""
        return bool(self.text)

    @property
    def cited(self) -> list[Source]:
        """What the answer goes back to, in its order."""
        quoted = [source for group in self.passages for source in group]
        return quoted or (self.sources if self.is_answer else [])

    @property
    def changed(self) -> list[str]:
        """Names of the documents that are not what they were when the question was answered."""
        names = (source.name for source in self.cited if source.state == "changed")
        return list(dict.fromkeys(names))


def read_turns(answers: Iterable[models.Answer]) -> list[Turn]:
    """Return what to show of answers that were read with ``shown``."""
    answers = list(answers)
    cited = (c.document_id for answer in answers for c in answer.citations.all())
    spans = pointed_at(answers)
    media_types = read_media_types({*filter(None, cited), *(s["document_id"] for s in spans)})
    reader = _TurnReader(media_types, find_passages(spans))
    return [reader.read(answer) for answer in answers]


def read_media_types(documents: Iterable[UUID | str]) -> dict[str, str]:
    """Return the media types of documents that are there, by their ids."""
    rows = Document.objects.filter(pk__in=set(documents)).values_list("pk", "media_type")
    return {str(key): media_type for key, media_type in rows}


class _TurnReader:
    """Reads answers with what was looked up for all of them."""

    def __init__(self, media_types: dict[str, str], passages: Mapping[Place, ClosePassage]) -> None:
        self._media_types = media_types
        self._passages = passages

    def read(self, answer: models.Answer) -> Turn:
        if answer.kind != models.Answer.Kind.ANSWER:
            notice = tell_abstention(answer.question) if answer.kind == "abstained" else ""
            closest = self._point_to(answer.closest, first=1)
            return Turn(answer, sources=closest, notice=notice, is_near=_is_near(answer))
        cited = sorted(answer.citations.all(), key=lambda c: (c.answer_start, c.ordinal))
        others = self._point_to(answer.disagreement, first=len(cited) + 1)
        sources = [self._quote(answer, each, number) for number, each in enumerate(cited, start=1)]
        if answer.answerer == EXTRACTIVE:
            groups = groupby(sources, key=lambda source: (source.document_id, source.name))
            return Turn(answer, passages=[list(group) for _, group in groups], disagreement=others)
        text = _text(answer, cited, sources)
        return Turn(answer, text=text, sources=sources, disagreement=others)

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
            **place_of_stored(citation)._asdict(),
        )

    def _point_to(self, spans: Sequence[dict[str, Any]], *, first: int) -> list[Source]:
        found = enumerate(read_passages(spans, self._passages), start=first)
        return [self._point(close, number) for number, close in found]

    def _point(self, close: ClosePassage, number: int) -> Source:
        media_type = self._media_type(close.passage)
        html = as_block(
            render(close.quote, media_type=media_type, offset=close.start_char), media_type
        )
        return _source(
            close.passage,
            close,
            number=number,
            media_type=media_type,
            html=html,
            ocr_confidence=close.printed.ocr_confidence,
            page=close.passage.page,
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


def _is_near(answer: models.Answer) -> bool:
    least = float(settings.PKB_ABSTAIN_BELOW) * NEAR_SHARE
    return any(span["score"] >= least for span in answer.closest)


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
    """What a language model wrote, each sentence with the numbers of its sources behind it."""
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
