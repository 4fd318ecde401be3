"""What people liked becomes a question of the evaluation once a reviewer has accepted it."""

from typing import Any
from uuid import UUID

import pytest

from corpus.catalogue import delete_document
from corpus.errors import InvalidInput
from corpus.models import Collection, Document
from evaluation.models import Question
from evaluation.questions import adopt_feedback, read_accepted
from qa.feedback import MarkedSpan, give_feedback, review_feedback
from qa.models import Answer, Feedback
from tests.support.client import Api
from tests.support.documents import BAKERY, LIGHTHOUSE, LIGHTHOUSE_QUESTION, Ingest


@pytest.fixture
def answer_id(api: Api, ingest: Ingest) -> UUID:
    ingest(LIGHTHOUSE)
    return UUID(api.answer()["id"])


def review(answer_id: UUID, rating: str, passage: MarkedSpan | None = None) -> Feedback:
    feedback = give_feedback(answer_id, rating=rating, passage=passage)
    assert review_feedback([feedback.pk], Feedback.Review.ACCEPTED) == 1
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


@pytest.fixture
def unsure(api: Api, ingest: Ingest, settings: Any) -> Answer:
    settings.PKB_ANSWER_FROM = 1.0
    ingest(LIGHTHOUSE)
    return Answer.objects.get(pk=api.answer()["id"])


def shown_passage(answer: Answer) -> MarkedSpan:
    (close,) = answer.closest
    return MarkedSpan(UUID(close["document_id"]), *close["unit"])


def test_marked_passage_is_the_gold_answer_as_are_its_likeliest_words(
    unsure: Answer, collection: Collection
) -> None:
    (close,) = unsure.closest
    review(unsure.pk, "up", shown_passage(unsure))
    dataset, stale_count = read_accepted(collection)
    (question,) = dataset.questions
    words = LIGHTHOUSE[close["start_char"] : close["end_char"]]
    assert question.answers == (words, LIGHTHOUSE)
    assert question.doc_ids == (close["document_id"],)
    assert stale_count == 0
    assert Question.objects.get().quote == LIGHTHOUSE


def test_a_marked_passage_comes_before_what_the_answer_cites(
    answer_id: UUID, ingest: Ingest, collection: Collection
) -> None:
    other = Document.objects.get(pk=ingest(BAKERY).document_id)
    close = {
        "document_id": str(other.pk), "content_sha256": other.content_sha256, "start_char": 0,
        "end_char": 10, "unit": None, "score": 0.1,
    }  # fmt: skip
    Answer.objects.filter(pk=answer_id).update(closest=[close])
    review(answer_id, "up")
    review(answer_id, "up", MarkedSpan(other.pk, 0, 10))
    assert adopt_feedback(collection) == 1
    question = Question.objects.get()
    assert (question.document_id, question.answers) == (other.pk, [BAKERY[:10]])


def test_a_marked_passage_of_another_version_is_not_adopted(
    unsure: Answer, collection: Collection
) -> None:
    review(unsure.pk, "up", shown_passage(unsure))
    Document.objects.update(content_sha256="0" * 64)
    assert adopt_feedback(collection) == 0


def test_a_deleted_document_leaves_of_a_marked_passage_where_it_stood(
    unsure: Answer, collection: Collection
) -> None:
    passage = shown_passage(unsure)
    kept = review(unsure.pk, "up", passage)
    delete_document(passage.document_id)
    kept.refresh_from_db()
    assert (kept.document_id, kept.start_char, kept.end_char) == (None, *passage[1:])
    assert adopt_feedback(collection) == 0
    with pytest.raises(InvalidInput):
        give_feedback(unsure.pk, rating="up", passage=passage)
