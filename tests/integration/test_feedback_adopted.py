"""What people liked becomes a question of the evaluation once a reviewer has accepted it."""

from uuid import UUID

import pytest
from rest_framework.test import APIClient

from corpus.models import Collection
from evaluation.models import Question
from evaluation.questions import adopt_feedback, read_accepted
from qa.models import Feedback
from qa.records import accept_feedback, give_feedback
from tests.factories import LIGHTHOUSE, LIGHTHOUSE_QUESTION, Ingest

pytestmark = pytest.mark.django_db


@pytest.fixture
def answer_id(api: APIClient, ingest: Ingest) -> UUID:
    ingest(LIGHTHOUSE)
    return UUID(api.get("/answer", {"q": LIGHTHOUSE_QUESTION}).json()["id"])


def review(answer_id: UUID, rating: str) -> Feedback:
    feedback = give_feedback(answer_id, rating=rating)
    assert accept_feedback([feedback.pk]) == 1
    return feedback


def test_an_accepted_liking_is_measured_with_its_quote(
    answer_id: UUID, collection: Collection
) -> None:
    review(answer_id, "up")
    dataset, stale_count = read_accepted(collection)
    (question,) = dataset.questions
    assert question.text == LIGHTHOUSE_QUESTION
    assert question.answers[0] in LIGHTHOUSE
    assert stale_count == 0
    assert Question.objects.get().origin == "feedback"


def test_a_liking_is_adopted_once(answer_id: UUID, collection: Collection) -> None:
    review(answer_id, "up")
    review(answer_id, "up")
    assert adopt_feedback(collection) == 1
    assert adopt_feedback(collection) == 0


def test_what_was_disliked_or_not_reviewed_is_not_adopted(
    answer_id: UUID, collection: Collection
) -> None:
    review(answer_id, "down")
    give_feedback(answer_id, rating="up")
    assert adopt_feedback(collection) == 0
