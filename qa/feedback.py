"""Take feedback on answers, and decide what becomes of it."""

from collections.abc import Iterable
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from corpus.errors import AnswerNotFound
from qa.models import Answer, Feedback


@transaction.atomic
def give_feedback(answer_id: UUID, *, rating: str, comment: str = "") -> Feedback:
    """Keep what someone thinks of an answer.

    Raises:
        AnswerNotFound: There is none of that id.
    """
    if not Answer.objects.keep_in_place([str(answer_id)]):
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
