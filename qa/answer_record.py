"""An answer as all interfaces show it, made of a new answer or of a stored one."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal, NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import connection
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from corpus.errors import AnswerNotFound
from corpus.models import Chunk, Collection
from corpus.models.chunk import PREVIEW_CHARS
from corpus.postgres import one_snapshot
from corpus.roots.shown_paths import shown_uri
from qa import models
from qa.answer_question import draft_to_json
from qa.notices import not_about_notice, notice_of
from qa.search.display import add_quote_pages, find_page_range, read_slices
from qa.search.hybrid import passage_of
from qa.types import Answer, AnsweredQuestion, Citation, ClosePassage, PageRange, Passage

# A span as an answer stores it: document_id, content_sha256, start_char, end_char, score, and unit,
# the start and end of what is shown around it (older answers have none).
StoredSpan = Mapping[str, Any]
# Names of collections by key.
Names = Mapping[int | None, str]
NO_NAMES: Names = {}
Standing = Literal["current", "changed", "deleted", "selected"]


class SpanKey(NamedTuple):
    """A stored span and its unit, which is empty if it has none."""

    document_id: str
    content_sha256: str
    start_char: int
    end_char: int
    unit_start: int
    unit_end: int


class Excerpt(NamedTuple):
    """Characters ``start_char:end_char`` of a document version."""

    text: str
    start_char: int

    @property
    def end_char(self) -> int:
        return self.start_char + len(self.text)


@dataclass(frozen=True, slots=True)
class QuoteRecord:
    """A verbatim span of a document version: cited, or shown beside an answer.

    Attributes:
        chunk_id: None if its document was re-chunked, and for a text sent with the question.
        document_id: None if it was deleted, and for a text sent with the question.
        chunk_page: The page on which its chunk begins.
        page_range: The pages of the quote itself.
        around: A citation's paragraph or list, or the whole passage to show; None if that version
            of the document is gone.
        standing: What became of the quote in its document since; ``selected`` if it is from a text
            sent with the question.
        answer_start: Of a citation, where the part of the answer begins that it supports.
        support: Of a citation, ``supported`` or ``partial``.
        preview: Of a citation, the beginning of its chunk.
        collection: Qualified name of its collection, if all were asked.
    """

    chunk_id: str | None
    document_id: str | None
    content_sha256: str
    title: str
    source_uri: str
    heading_path: Sequence[str]
    document_date: str | None
    chunk_page: int | None
    quote: str
    start_char: int
    end_char: int
    score: float
    page_range: PageRange
    around: Excerpt | None
    standing: Standing = "current"
    answer_start: int = 0
    answer_end: int = 0
    support: str = ""
    preview: str = ""
    collection: str = ""

    @property
    def name(self) -> str:
        """Return its document's title, else the last part of its URI, else its id."""
        last_part = self.source_uri.rstrip("/").rsplit("/", 1)[-1]
        return self.title or last_part or self.document_id or ""

    @property
    def whole_text(self) -> str:
        """Return the text around the quote, or the quote alone."""
        return self.around.text if self.around else self.quote

    @property
    def is_selected(self) -> bool:
        return self.standing == "selected"


@dataclass(frozen=True, slots=True)
class AnswerRecord:
    """An answer with all that is shown of it.

    Attributes:
        short_start: Where in ``text`` the few words begin that answer, if any.
        closest: Passages that the answer does not cite, best first.
        disagreement: Passages of other documents with another value, newest first.
        draft: A language model's draft and its outcome, as stored.
        created_at: None for a new answer.
    """

    id: str
    question: str
    kind: str
    intent: str
    text: str
    short_start: int | None
    short_end: int | None
    confidence: float
    answerer: str
    fallback: str | None
    citations: Sequence[QuoteRecord]
    closest: Sequence[QuoteRecord]
    disagreement: Sequence[QuoteRecord]
    unanswered: Sequence[str]
    not_about: Sequence[str]
    steps: Sequence[Mapping[str, Any]]
    draft: Mapping[str, Any] | None
    created_at: datetime | None = None

    @property
    def abstained(self) -> bool:
        return self.kind in {"unsure", "abstained"}

    @property
    def short(self) -> str | None:
        if self.short_start is None or self.short_end is None:
            return None
        return self.text[self.short_start : self.short_end]

    @property
    def corrections(self) -> Sequence[Mapping[str, str]]:
        """Return the words that were read as others, of which a step tells."""
        return [each for step in self.steps for each in step.get("corrections", ())]

    @property
    def notice(self) -> str | None:
        """Return the message in place of an answer, if there are no passages, or beside one."""
        if self.not_about:
            return not_about_notice(self.not_about, [quote.name for quote in self.citations])
        return notice_of(self.intent) if self.kind == "abstained" else None


def new_answer_record(answered: AnsweredQuestion) -> AnswerRecord:
    answer = answered.answer
    short_start, short_end = answer.short or (None, None)
    names = Collection.objects.names() if answered.is_of_all else {}
    return _record_of(
        answer,
        id=answered.id,
        short_start=short_start,
        short_end=short_end,
        citations=[cited_quote(citation, names) for citation in answer.citations],
        closest=[close_quote(close, names) for close in answer.closest],
        disagreement=[close_quote(close, names) for close in answer.disagreement],
        steps=answered.steps,
        draft=draft_to_json(answered.draft, answer),
    )


def _record_of(answer: Answer | models.Answer, **fields: Any) -> AnswerRecord:
    return AnswerRecord(
        question=answer.question,
        kind=answer.kind,
        intent=answer.intent,
        text=answer.text,
        confidence=answer.confidence,
        answerer=answer.answerer,
        fallback=answer.fallback or None,
        unanswered=answer.unanswered,
        not_about=answer.not_about,
        **fields,
    )


def cited_quote(citation: Citation, names: Names = NO_NAMES) -> QuoteRecord:
    start, end = citation.context
    return _new_quote(
        citation,
        names,
        around=Excerpt(citation.passage.text_of(start, end), start),
        answer_start=citation.answer_start,
        answer_end=citation.answer_end,
        support=citation.support,
        preview=citation.passage.text[:PREVIEW_CHARS],
    )


def close_quote(close: ClosePassage, names: Names = NO_NAMES) -> QuoteRecord:
    # The unit, or the span if none was read.
    unit = Excerpt(close.unit_text, close.unit_start)
    span = Excerpt(close.quote, close.start_char)
    return _new_quote(close, names, around=unit if close.unit_text else span)


def _new_quote(quoted: Citation | ClosePassage, names: Names, **fields: Any) -> QuoteRecord:
    passage = quoted.passage
    return _quote_of(
        quoted,
        passage,
        chunk_id=None if passage.is_selected else passage.chunk_id,
        document_id=None if passage.is_selected else passage.document_id,
        source_uri=passage.source_uri,
        collection=names.get(passage.collection_id, ""),
        page_range=quoted.page_range,
        standing="selected" if passage.is_selected else "current",
        **fields,
    )


def _quote_of(
    quoted: Citation | ClosePassage | models.Citation,
    source: Passage | models.Citation,
    **fields: Any,
) -> QuoteRecord:
    return QuoteRecord(
        content_sha256=source.content_sha256,
        title=source.title,
        heading_path=source.heading_path,
        document_date=source.document_date or None,
        chunk_page=source.page,
        quote=quoted.quote,
        start_char=quoted.start_char,
        end_char=quoted.end_char,
        score=quoted.score,
        **fields,
    )


def public_url(source_uri: str, document_id: str) -> str:
    """Return the web page that a document came from, else its page in the web app."""
    if source_uri.startswith(("https://", "http://")):
        return source_uri
    return f"{settings.PKB_PUBLIC_URL}/ui/documents/{document_id}"


def find_answer_record(answer_id: UUID) -> AnswerRecord:
    """Return the record of a stored answer.

    Raises:
        AnswerNotFound: There is no answer with that id.
    """
    records = stored_answer_records(models.Answer.objects.shown().filter(pk=answer_id))
    if not records:
        raise AnswerNotFound(f"There is no answer {answer_id}.")
    return records[0]


def stored_answer_records(answers: Iterable[models.Answer]) -> list[AnswerRecord]:
    """Return the records of answers that were read with ``shown``.

    Closest and disagreeing passages whose document was deleted, replaced or re-chunked are left
    out.
    """
    answers = list(answers)
    passages = read_passages(
        span for answer in answers for span in (*answer.closest, *answer.disagreement)
    )

    is_of_all = any(answer.collection_id is None for answer in answers)
    names_of_all = Collection.objects.names() if is_of_all else {}

    def quotes_of(spans: Iterable[StoredSpan], names: Names) -> list[QuoteRecord]:
        return [
            replace(close_quote(passages[key], names), score=span["score"])
            for span in spans
            if (key := _key_of(span)) in passages
        ]

    records = []
    for answer in answers:
        names = names_of_all if answer.collection_id is None else NO_NAMES
        records.append(
            _record_of(
                answer,
                id=str(answer.pk),
                short_start=answer.short_start,
                short_end=answer.short_end,
                citations=[_stored_quote(citation, names) for citation in answer.citations.all()],
                closest=quotes_of(answer.closest, names),
                disagreement=quotes_of(answer.disagreement, names),
                steps=answer.steps,
                draft=answer.draft,
                created_at=answer.created_at,
            )
        )
    return records


def _stored_quote(citation: Any, names: Names) -> QuoteRecord:
    """Return the record of a citation that ``CitationQuerySet.compared`` has read."""
    standing: Standing = "changed"
    if citation.is_selected:
        standing = "selected"
    elif citation.document_id is None:
        standing = "deleted"
    elif citation.standing == citation.quote:
        standing = "current"
    page_range = PageRange(citation.page, citation.last_page, citation.ocr_confidence)
    if citation.last_page is None:
        # Older citations do not store their pages: compute them as long as the version exists.
        page_range = find_page_range(
            citation.start_char,
            citation.end_char,
            page=citation.page,
            page_starts=citation.page_starts,
            scan=citation.packed_scan,
        )
    around = citation.surroundings and Excerpt(citation.surroundings, citation.context_start)
    return _quote_of(
        citation,
        citation,
        chunk_id=citation.chunk_id and str(citation.chunk_id),
        document_id=citation.document_id and str(citation.document_id),
        source_uri=shown_uri(citation.source_uri, file_path=citation.file_path),
        collection=names.get(citation.in_collection, ""),
        page_range=page_range,
        around=around or None,
        standing=standing,
        answer_start=citation.answer_start,
        answer_end=citation.answer_end,
        support=citation.support,
        preview=citation.preview or "",
    )


_CHUNKS = """
SELECT place.number, around.id
  FROM unnest(%s::uuid[], %s::text[], %s::int[], %s::int[]) WITH ORDINALITY
       AS place (document_id, content_sha256, start_char, end_char, number)
  JOIN corpus_document d ON d.id = place.document_id AND d.content_sha256 = place.content_sha256
 CROSS JOIN LATERAL (
       SELECT c.id FROM corpus_chunk c
        WHERE c.document_id = d.id
          AND c.start_char <= place.start_char AND c.end_char >= place.end_char
        ORDER BY c.ordinal LIMIT 1) around
"""


def read_passages(spans: Iterable[StoredSpan]) -> dict[SpanKey, ClosePassage]:
    """Return the passages around spans whose version still exists, in four queries.

    Their scores are 0.
    """
    keys = list(dict.fromkeys(map(_key_of, spans)))
    if not keys:
        return {}
    columns = zip(*(key[:4] for key in keys), strict=True)
    with one_snapshot():
        with connection.cursor() as cursor:
            cursor.execute(_CHUNKS, [list(column) for column in columns])
            rows = cursor.fetchall()
        by_id = Chunk.objects.with_document().in_bulk({chunk_id for _, chunk_id in rows})
        whole = [key for key in keys if key.unit_end]
        slices = read_slices([(*key[:2], key.unit_start, key.unit_end) for key in whole])
    chunks = {keys[number - 1]: by_id[chunk_id] for number, chunk_id in rows if chunk_id in by_id}
    units = {whole[at]: text for at, text in slices.items()}
    passages = add_quote_pages(
        ClosePassage(
            passage_of(chunk, score=0.0, similarity=0.0),
            key.start_char,
            key.end_char,
            score=0.0,
            unit_start=key.unit_start if key in units else 0,
            unit_text=units.get(key, ""),
        )
        for key, chunk in chunks.items()
    )
    return dict(zip(chunks, passages, strict=True))


def _key_of(span: StoredSpan) -> SpanKey:
    unit_start, unit_end = span.get("unit") or (0, 0)
    return SpanKey(
        span["document_id"],
        span["content_sha256"],
        span["start_char"],
        span["end_char"],
        unit_start,
        unit_end,
    )


class ContextShown(serializers.Serializer[Any]):
    """The text around a quote: a span of the same document version."""

    text = serializers.CharField()
    start_char = serializers.IntegerField()
    end_char = serializers.IntegerField()


class QuoteShown(serializers.Serializer[Any]):
    """A span of a passage with its location."""

    chunk_id = serializers.UUIDField(allow_null=True)
    document_id = serializers.UUIDField(allow_null=True)
    content_sha256 = serializers.CharField()
    title = serializers.CharField()
    source_uri = serializers.CharField()
    heading_path = serializers.ListField(child=serializers.CharField())
    page = serializers.IntegerField(source="chunk_page", allow_null=True)
    score = serializers.FloatField()
    quote = serializers.CharField()
    start_char = serializers.IntegerField()
    end_char = serializers.IntegerField()
    ocr_confidence = serializers.FloatField(source="page_range.ocr_confidence", allow_null=True)
    document_date = serializers.CharField(allow_null=True)
    collection = serializers.CharField(help_text="its collection, if all were asked, or empty")


class CitationShown(QuoteShown):
    selected = serializers.BooleanField(source="is_selected")
    preview = serializers.CharField()
    answer_start = serializers.IntegerField()
    answer_end = serializers.IntegerField()
    support = serializers.ChoiceField(["supported", "partial"])
    context = ContextShown(source="around")  # type: ignore[assignment]
    # Of the quote; a chunk has only the page where it begins.
    page = serializers.IntegerField(source="page_range.page", allow_null=True)
    last_page = serializers.IntegerField(source="page_range.last_page", allow_null=True)


class StoredCitation(CitationShown):
    """A stored citation, and whether its quote is still current."""

    context = ContextShown(source="around", allow_null=True)
    state = serializers.SerializerMethodField()

    def get_state(self, quote: QuoteRecord) -> str:
        return "current" if quote.standing in {"current", "selected"} else "stale"


class ClosestShown(QuoteShown):
    """A relevant passage that the answer does not cite, or one that disagrees with it."""

    passage = ContextShown(source="around")


class CorrectionShown(serializers.Serializer[Any]):
    """A word of a question with a slip of spelling, and the word that it was read as."""

    word = serializers.CharField()
    read_as = serializers.CharField()


class AnswerShown(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    question = serializers.CharField()
    corrections = CorrectionShown(many=True)
    kind = serializers.ChoiceField(models.Answer.Kind.choices)
    answer = serializers.CharField(source="text", allow_blank=True)
    short = serializers.CharField(allow_null=True)
    short_start = serializers.IntegerField(allow_null=True)
    short_end = serializers.IntegerField(allow_null=True)
    abstained = serializers.BooleanField()
    confidence = serializers.FloatField(min_value=0, max_value=1)
    answerer = serializers.CharField(allow_blank=True)
    fallback = serializers.CharField(allow_null=True)
    citations = CitationShown(many=True)
    closest = ClosestShown(many=True)
    disagreement = serializers.SerializerMethodField()
    notice = serializers.CharField(allow_null=True)
    unanswered = serializers.ListField(child=serializers.CharField())
    not_about = serializers.ListField(child=serializers.CharField())
    debug = serializers.SerializerMethodField()

    @extend_schema_field(ClosestShown(many=True, allow_null=True))
    def get_disagreement(self, answer: AnswerRecord) -> Any:
        return ClosestShown(answer.disagreement, many=True).data or None

    def get_debug(self, answer: AnswerRecord) -> dict[str, Any]:
        return {"steps": answer.steps, "draft": answer.draft} if settings.IS_DEV else {"steps": []}


class StoredAnswerShown(AnswerShown):
    citations = StoredCitation(many=True)
    created_at = serializers.DateTimeField()
