"""Feedback on answers: give it and review it."""

from collections.abc import Iterable
from typing import Any, NamedTuple
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from corpus.errors import AnswerNotFound, InvalidInput
from corpus.models import Document
from qa import models
from qa.models import Feedback


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
        # The spans that the answer shows of the document, with its version.
        answer = models.Answer.objects.get(pk=answer_id)
        cited = answer.citations.filter(document=passage.document_id)
        spans = {(c.start_char, c.end_char): c.content_sha256 for c in cited}
        for close in answer.closest:
            if close["document_id"] == str(passage.document_id):
                spans[close["start_char"], close["end_char"]] = close["content_sha256"]
                if close.get("unit"):
                    spans[tuple(close["unit"])] = close["content_sha256"]
        version = spans.get(passage[1:])
        if not here or version is None:
            raise InvalidInput(
                "This is none of the passages that the answer cites or shows as closest.",
                field="passage",
            )
        place = {**passage._asdict(), "content_sha256": version}
    return Feedback.objects.create(answer_id=answer_id, rating=rating, comment=comment, **place)


def review_feedback(ids: Iterable[UUID], review: Feedback.Review) -> int:
    """Accept waiting feedback for the evaluation, or dismiss it; return the number reviewed."""
    waiting = Feedback.objects.to_review().filter(pk__in=list(ids))
    return waiting.update(review=review, reviewed_at=timezone.now())
