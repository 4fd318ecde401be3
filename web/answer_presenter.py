"""Present an answer on a page: marked text, numbered sources, whole passages."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, groupby
from typing import ClassVar
from urllib.parse import unquote, urlencode

from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import Truncator

from corpus.loaders.ocr import UNSURE_BELOW
from corpus.models import Document
from qa import models
from qa.answer_record import AnswerRecord, Excerpt, QuoteRecord
from qa.context import EXTRACTIVE
from qa.intent import parse_count_query
from qa.notices import NOTHING_NEAR, UNANSWERED, UNSURE
from web.rendered_text import MARKDOWN, Mark, render, visible_text

# Characters of a paragraph or list to show before and after a quote.
AROUND_CHARS = 500
# Characters of a passage that is folded to one line.
FIRST_CHARS = 160
PLAIN = "text/plain"

# For an unsure answer without passages: from a selected text, or from deleted documents.
UNSURE_ALONE = "Not sure."
# Beside what is shown for a language model that failed, or of whose text nothing is proved.
STOOD_IN = "The language model failed. These are your documents' own words."
BROKE_OFF = "The language model broke off. This is what it had written."
NOTHING_PROVED = "The language model gave no answer that your documents prove."
SHARED_WORDS = "Passages with some of the same words"
DISAGREEMENT = "Your documents disagree:"
OCR_UNSURE = "OCR may have misread this: compare it with the page"
ERASED = "Removed because a quoted document was deleted."


@dataclass(frozen=True, slots=True)
class Source:
    """A numbered quote as a page shows it.

    Attributes:
        number: From 1, as the answer refers to it.
        text: The quote as one line, without markup.
        html: The quote marked in its surroundings, or alone; empty if the answer repeats it.
        first_words: The beginning of a passage that is shown whole, for its folded form.
    """

    quote: QuoteRecord
    number: int
    text: str
    html: SafeString
    first_words: str = ""

    @property
    def pages(self) -> str:
        """Return the pages in words; empty if its document has none."""
        first, last, _ = self.quote.page_range
        if last is None or last == first:
            return f"page {first}" if first else ""
        return f"pages {first}–{last}"

    @property
    def warning(self) -> str:
        confidence = self.quote.page_range.ocr_confidence
        return OCR_UNSURE if confidence is not None and confidence < UNSURE_BELOW else ""

    @property
    def name(self) -> str:
        """Return the title, else the last part of the address."""
        if self.quote.is_selected:
            return "Selected text"
        last = unquote(self.quote.source_uri.rstrip("/").rsplit("/", 1)[-1])
        return self.quote.title or last or "Document"

    @property
    def headings(self) -> Sequence[str]:
        """Return the headings above it, without a first one that repeats the title."""
        path = self.quote.heading_path
        return path[1:] if list(path[:1]) == [self.quote.title] else path


@dataclass(frozen=True, slots=True)
class Turn:
    """A question with its answer.

    Attributes:
        text: A language model's answer; empty if documents are quoted.
        sources: Its citations, in the order of the answer.
        closest: Passages that the answer does not cite, each shown whole, best first.
    """

    answer: AnswerRecord
    text: SafeString = mark_safe("")  # noqa: RUF009 - nothing
    sources: Sequence[Source] = ()
    disagreement: Sequence[Source] = ()
    closest: Sequence[Source] = ()
    words: ClassVar = {
        "unanswered": UNANSWERED,
        "disagreement": DISAGREEMENT,
        "shared_words": SHARED_WORDS,
    }

    @property
    def is_answer(self) -> bool:
        return self.answer.kind == models.Answer.Kind.ANSWER

    @property
    def instead(self) -> str:
        """Return what is said in place of an answer."""
        if self.answer.kind == models.Answer.Kind.ERASED:
            return ERASED
        return self.answer.notice or (UNSURE if self.closest else UNSURE_ALONE)

    @property
    def is_reply(self) -> bool:
        """Return whether the notice replies to a text that is no question."""
        return self.answer.abstained and self.answer.notice not in (None, NOTHING_NEAR)

    @property
    def is_written(self) -> bool:
        """Return whether a language model wrote it; else it quotes documents."""
        return bool(self.text)

    @property
    def lm_notice(self) -> str:
        """Return what became of a language model's text, if it is not the answer."""
        if self.answer.fallback:
            return f"{BROKE_OFF if self.is_written else STOOD_IN} ({self.answer.fallback})"
        is_model = self.answer.answerer not in {"", EXTRACTIVE}
        return NOTHING_PROVED if is_model and not self.is_answer else ""

    @property
    def counted(self) -> str:
        """Return the query of the page *Count* for the same mentions; empty if it has none."""
        asked = parse_count_query(self.answer.question)
        row = models.Answer.objects.select_related("collection__owner").get(pk=self.answer.id)
        if asked is None or row.asked_document_id:
            return ""
        collection = row.collection.qualified_name if row.collection else ""
        amount = {"amount": asked.amount} if asked.amount else {}
        scope = {"collection": collection, "tag": row.asked_tags}
        return urlencode({"q": asked.text, **amount, **scope}, True)

    @property
    def passages(self) -> list[list[Source]]:
        """Return the sources of an extract, grouped where one document follows itself."""
        groups = groupby(self.sources, key=lambda each: (each.quote.document_id, each.name))
        return [] if self.is_written else [list(group) for _, group in groups]

    @property
    def changed(self) -> list[str]:
        """Return the names of the documents that changed after the answer."""
        names = (source.name for source in self.sources if source.quote.standing == "changed")
        return list(dict.fromkeys(names))


def read_turns(answers: Iterable[AnswerRecord]) -> list[Turn]:
    answers = list(answers)
    quotes = [
        quote
        for answer in answers
        for quote in (*answer.citations, *answer.closest, *answer.disagreement)
    ]
    presenter = _Presenter(read_media_types(quote.document_id or "" for quote in quotes))
    return [presenter.present(answer) for answer in answers]


def read_media_types(document_ids: Iterable[str]) -> dict[str, str]:
    """Return the media types of documents that are there, by their ids."""
    rows = Document.objects.filter(pk__in=set(document_ids) - {""})
    return {str(key): media_type for key, media_type in rows.values_list("pk", "media_type")}


@dataclass(frozen=True, slots=True)
class _Presenter:
    """Presents answers, given the media types of their documents by id."""

    media_types: Mapping[str, str]

    def present(self, answer: AnswerRecord) -> Turn:
        if answer.kind == models.Answer.Kind.ERASED:
            return Turn(answer)
        numbers = count(1)
        citations = sorted(answer.citations, key=lambda citation: citation.answer_start)
        sources = [self._cite(answer, quote, next(numbers)) for quote in citations]
        turn = Turn(
            answer,
            sources=sources,
            disagreement=[
                self._show(quote, next(numbers), Excerpt(quote.quote, quote.start_char))
                for quote in answer.disagreement
            ],
            closest=[self._show_whole(quote, next(numbers)) for quote in answer.closest],
        )
        is_written = turn.is_answer and answer.answerer != EXTRACTIVE
        return replace(turn, text=_annotate(answer, sources)) if is_written else turn

    def _cite(self, answer: AnswerRecord, quote: QuoteRecord, number: int) -> Source:
        """Show a quote within its paragraph or list, where that is known; its short answer bold."""
        is_verbatim = answer.text[quote.answer_start : quote.answer_end] == quote.quote
        if is_verbatim and answer.answerer != EXTRACTIVE:
            return self._show(quote, number, None)
        marks = [Mark(quote.start_char, quote.end_char)]
        if is_verbatim and answer.short:
            shift = quote.start_char - quote.answer_start
            start, end = answer.short_start or 0, answer.short_end or 0
            if quote.answer_start <= start and end <= quote.answer_end:
                marks.append(Mark(start + shift, end + shift, tag="strong", name="short"))
        excerpt = Excerpt(quote.quote, quote.start_char)
        if quote.around is not None:
            excerpt = _clip(quote.around, quote)
        return self._show(quote, number, excerpt, marks=marks)

    def _show_whole(self, quote: QuoteRecord, number: int) -> Source:
        excerpt = quote.around or Excerpt(quote.quote, quote.start_char)
        is_whole = excerpt.text == quote.quote
        marks = [] if is_whole else [Mark(quote.start_char, quote.end_char)]
        text = visible_text(excerpt.text, media_type=self._media_type(quote))
        source = self._show(quote, number, excerpt, marks=marks)
        return replace(source, first_words=Truncator(text).chars(FIRST_CHARS))

    def _show(
        self,
        quote: QuoteRecord,
        number: int,
        excerpt: Excerpt | None,
        *,
        marks: Sequence[Mark] = (),
    ) -> Source:
        media_type = self._media_type(quote)
        html = SafeString()
        if excerpt is not None:
            html = render_block(
                excerpt.text, media_type=media_type, offset=excerpt.start_char, marks=marks
            )
        return Source(quote, number, visible_text(quote.quote, media_type=media_type), html)

    def _media_type(self, quote: QuoteRecord) -> str:
        return self.media_types.get(quote.document_id or "", PLAIN)


def _clip(around: Excerpt, quote: QuoteRecord) -> Excerpt:
    """Cut what is far from the quote, at the end of a line or word."""
    text, offset = around
    start, end = quote.start_char - offset, quote.end_char - offset
    first = max(start - AROUND_CHARS, 0)
    if first:
        cut = max(text.rfind("\n", first, start), text.find(" ", first, start))
        first = cut + 1 if cut >= 0 else start
    last = min(end + AROUND_CHARS, len(text))
    if last < len(text):
        cut = text.find("\n", end, last)
        last = cut if cut >= 0 else max(text.rfind(" ", end, last), end)
    return Excerpt(text[first:last], offset + first)


def render_block(
    text: str,
    *,
    media_type: str,
    offset: int = 0,
    marks: Sequence[Mark] = (),
    inserted: Sequence[tuple[int, str]] = (),
) -> SafeString:
    """Return the text as ``render`` does, in its block; empty for an empty text."""
    html = render(text, media_type=media_type, offset=offset, marks=marks, inserted=inserted)
    name = "rendered" if media_type == MARKDOWN else "text"
    # All text of documents is escaped in it.
    return format_html('<div class="{}">{}</div>', name, mark_safe(html)) if html else SafeString()  # noqa: S308


def _annotate(answer: AnswerRecord, sources: Sequence[Source]) -> SafeString:
    """Render a language model's text, each sentence followed by its source numbers."""
    marks = [
        Mark(
            source.quote.answer_start,
            source.quote.answer_end,
            tag="span",
            name=f"sentence is-{source.quote.support}",
        )
        for source in sources
    ]
    chips = [
        (
            source.quote.answer_end,
            render_to_string("web/parts/chip.html", {"source": source, "answer": answer}),
        )
        for source in sources
    ]
    return render_block(answer.text, media_type=MARKDOWN, marks=marks, inserted=chips)
