"""Store answers with their citations, and feedback on them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple
from uuid import UUID

from django.db import transaction
from django.db.models import Model
from django.utils import timezone

from accounts.audit import record_question
from corpus.errors import AnswerNotFound, InvalidInput
from corpus.models import Chunk, Collection, Document
from qa import models
from qa.configuration_hash import configuration_sha256
from qa.context import EXTRACTIVE
from qa.models import ERASED_ANSWER, ERASED_CITATION, Feedback
from qa.types import Answer, Citation, ClosePassage, Draft, Passage


@transaction.atomic
def record_answer(
    answer: Answer,
    *,
    collection: Collection,
    steps: list[dict[str, Any]],
    draft: Draft | None = None,
    passages: Sequence[Passage] = (),
) -> str:
    """Store the answer and return its id.

    If a cited document was deleted meanwhile, the answer is stored as erased.

    Args:
        draft: The unverified draft; stored if a language model wrote it.
        passages: The passages that the draft was written from.
    """
    quoted = [citation.passage for citation in answer.citations]
    cited = {passage.document_id for passage in quoted if not passage.is_selected}
    chunks = {passage.chunk_id for passage in quoted if not passage.is_selected}
    draft_json = draft_to_json(draft, answer) if draft else None
    read = (
        {passage.document_id for passage in passages if passage.document_id}
        if draft_json
        else set()
    )
    # Locked until the commit: a deletion sees the answer, or the answer sees the deletion.
    here = Document.objects.lock_for_key_share(cited | read)
    chunks_here = Chunk.objects.lock_for_key_share(chunks)
    row = _new_answer(answer, collection, steps)
    if draft_json and read <= here:
        row.draft = {**draft_json, "documents": sorted(read)}
    if cited - here:
        _overwrite(row, ERASED_ANSWER)
    row.save(force_insert=True)
    rows = [_new_citation(row, *numbered) for numbered in enumerate(answer.citations)]
    for citation in rows:
        if not citation.is_selected and str(citation.document_id) not in here:
            _overwrite(citation, {**ERASED_CITATION, "document": None})
        if str(citation.chunk_id) not in chunks_here:
            citation.chunk_id = None
    models.Citation.objects.bulk_create(rows)
    record_question(str(row.pk), question=answer.question)
    return str(row.pk)


def _new_answer(
    answer: Answer, collection: Collection, steps: list[dict[str, Any]]
) -> models.Answer:
    short_start, short_end = answer.short or (None, None)
    return models.Answer(
        collection=collection,
        question=answer.question,
        text=answer.text,
        kind=answer.kind,
        intent=answer.intent,
        short_start=short_start,
        short_end=short_end,
        confidence=answer.confidence,
        answerer=answer.answerer,
        fallback=answer.fallback,
        embedding_model=collection.embedding_model,
        configuration_sha256=configuration_sha256(collection.embedding_model),
        steps=steps,
        closest=[_span_to_json(close) for close in answer.closest if not close.passage.is_selected],
        disagreement=[_span_to_json(other) for other in answer.disagreement],
        unanswered=list(answer.unanswered),
    )


def _span_to_json(close: ClosePassage) -> dict[str, Any]:
    return {
        "document_id": close.passage.document_id,
        "content_sha256": close.passage.content_sha256,
        "start_char": close.start_char,
        "end_char": close.end_char,
        "unit": [close.unit_start, close.unit_end] if close.unit_text else None,
        "score": close.score,
    }


def draft_to_json(draft: Draft, answer: Answer) -> dict[str, Any] | None:
    """Return a language model's draft and its outcome as it is stored, else None."""
    if draft.answerer == EXTRACTIVE:
        return None
    return {
        "answerer": draft.answerer,
        "text": draft.text,
        "verdict": draft.verdict,
        "note": draft.note,
        "prompt_tokens": draft.prompt_tokens,
        "completion_tokens": draft.completion_tokens,
        "statements": [asdict(statement) for statement in answer.statements],
    }


def _new_citation(row: models.Answer, ordinal: int, citation: Citation) -> models.Citation:
    passage = citation.passage
    return models.Citation(
        answer=row,
        ordinal=ordinal,
        document_id=passage.document_id or None,
        chunk_id=passage.chunk_id or None,
        content_sha256=passage.content_sha256,
        title=passage.title,
        source_uri=passage.source_uri,
        heading_path=list(passage.heading_path),
        **citation.page_range._asdict(),
        document_date=passage.document_date,
        quote=citation.quote,
        is_selected=passage.is_selected,
        start_char=citation.start_char,
        end_char=citation.end_char,
        context_start=citation.context[0],
        context_end=citation.context[1],
        answer_start=citation.answer_start,
        answer_end=citation.answer_end,
        score=citation.score,
        support=citation.support,
    )


def _overwrite(row: Model, fields: Mapping[str, Any]) -> None:
    for name, value in fields.items():
        setattr(row, name, value)


class MarkedSpan(NamedTuple):
    """Characters ``start_char:end_char`` of a document, marked as the answer."""

    document_id: UUID
    start_char: int
    end_char: int


@transaction.atomic
def give_feedback(
    answer_id: UUID, *, rating: str, comment: str = "", passage: MarkedSpan | None = None
) -> Feedback:
    """Store feedback on an answer, with the passage marked as right, if any.

    Raises:
        AnswerNotFound: There is no answer with that id.
        InvalidInput: The answer does not show that passage, or its document is gone.
    """
    # Lock in the same order as a deletion.
    here = Document.objects.lock_for_key_share([str(passage.document_id)] if passage else [])
    if not models.Answer.objects.lock_for_key_share([str(answer_id)]):
        raise AnswerNotFound(f"There is no answer {answer_id}.")
    place: dict[str, Any] = {}
    if passage is not None:
        version = _find_version(models.Answer.objects.get(pk=answer_id), passage)
        if not here or version is None:
            raise InvalidInput(_NOT_OF_ANSWER, field="passage")
        place = {**passage._asdict(), "content_sha256": version}
    return Feedback.objects.create(answer_id=answer_id, rating=rating, comment=comment, **place)


_NOT_OF_ANSWER = "This is none of the passages that the answer cites or shows as closest."


def _find_version(answer: models.Answer, marked: MarkedSpan) -> str | None:
    """Return the version of the document that the answer shows this span of, or None."""
    cited = answer.citations.filter(document=marked.document_id)
    spans = {(c.start_char, c.end_char): c.content_sha256 for c in cited}
    for close in answer.closest:
        if close["document_id"] == str(marked.document_id):
            spans[close["start_char"], close["end_char"]] = close["content_sha256"]
            spans |= {tuple(close["unit"]): close["content_sha256"]} if close.get("unit") else {}
    return spans.get(marked[1:])


def review_feedback(ids: Iterable[UUID], review: Feedback.Review) -> int:
    """Accept waiting feedback for the evaluation, or dismiss it; return the number reviewed."""
    waiting = Feedback.objects.to_review().select_related(None).filter(pk__in=list(ids))
    return waiting.order_by().update(review=review, reviewed_at=timezone.now())
