"""Keep answers with their citations, and what people say of them."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from corpus.errors import AnswerNotFound
from corpus.models import Chunk, Collection, Document
from qa import models
from qa.configuration import configuration_sha256
from qa.context import EXTRACTIVE
from qa.models import Feedback
from qa.types import Answer, Draft, Passage


@transaction.atomic
def record_answer(
    answer: Answer,
    *,
    collection: Collection,
    steps: list[dict[str, Any]],
    draft: Draft | None = None,
) -> str:
    """Store the answer and return its id.

    A document that was deleted while the answer was made leaves a citation without a quote.

    Args:
        draft: What was written first; kept if a language model wrote it.
    """
    short_start, short_end = answer.short or (None, None)
    row = models.Answer.objects.create(
        collection=collection,
        question=answer.question,
        text=answer.text,
        kind=answer.kind,
        short_start=short_start,
        short_end=short_end,
        confidence=answer.confidence,
        answerer=answer.answerer,
        fallback=answer.fallback,
        embedding_model=collection.embedding_model,
        configuration_sha256=configuration_sha256(collection.embedding_model),
        draft=tell_draft(draft, answer) if draft else None,
        steps=steps,
    )
    passages = [citation.passage for citation in answer.citations]
    cited = {passage.document_id for passage in passages if not passage.is_selected}
    chunks = {passage.chunk_id for passage in passages if not passage.is_selected}
    here = Document.objects.keep_in_place(cited)
    chunks_here = Chunk.objects.keep_in_place(chunks)
    models.Citation.objects.bulk_create(
        models.Citation(
            answer=row,
            ordinal=ordinal,
            document_id=_if_in(citation.passage.document_id, here),
            chunk_id=_if_in(citation.passage.chunk_id, chunks_here),
            content_sha256=citation.passage.content_sha256,
            title=citation.passage.title,
            source_uri=citation.passage.source_uri,
            heading_path=list(citation.passage.heading_path),
            page=citation.passage.page,
            quote=citation.quote if _is_there(citation.passage, here) else "",
            is_selected=citation.passage.is_selected,
            start_char=citation.start_char,
            end_char=citation.end_char,
            context_start=citation.context[0],
            context_end=citation.context[1],
            answer_start=citation.answer_start,
            answer_end=citation.answer_end,
            score=citation.score,
            support=citation.support,
        )
        for ordinal, citation in enumerate(answer.citations)
    )
    return str(row.pk)


def tell_draft(draft: Draft, answer: Answer) -> dict[str, Any] | None:
    """Return a language model's draft with what became of it, as it is stored; else None."""
    if draft.answerer == EXTRACTIVE:
        return None
    return {
        "answerer": draft.answerer,
        "text": draft.text,
        "cited": list(draft.cited),
        "note": draft.note,
        "prompt_tokens": draft.prompt_tokens,
        "completion_tokens": draft.completion_tokens,
        "sentences": [asdict(sentence) for sentence in answer.drafted],
    }


def _is_there(passage: Passage, documents: set[str]) -> bool:
    return passage.is_selected or passage.document_id in documents


def _if_in(key: str, present: set[str]) -> str | None:
    return key if key in present else None


@transaction.atomic
def give_feedback(answer_id: UUID, *, rating: str, comment: str = "") -> Feedback:
    """Keep what someone thinks of an answer.

    Raises:
        AnswerNotFound: There is none of that id.
    """
    if not models.Answer.objects.keep_in_place([str(answer_id)]):
        raise AnswerNotFound(f"There is no answer {answer_id}.")
    return Feedback.objects.create(answer_id=answer_id, rating=rating, comment=comment)


def accept_feedback(ids: Iterable[UUID]) -> int:
    """Accept what waits among these, for the evaluation; return how many."""
    return _review(ids, Feedback.Review.ACCEPTED)


def dismiss_feedback(ids: Iterable[UUID]) -> int:
    """Put aside what waits among these; return how many."""
    return _review(ids, Feedback.Review.DISMISSED)


def _review(ids: Iterable[UUID], review: str) -> int:
    waiting = Feedback.objects.to_review().select_related(None).filter(pk__in=list(ids))
    return waiting.order_by().update(review=review, reviewed_at=timezone.now())
