"""Standing questions: asked again when documents change, with both quotes."""

from typing import Any
from unittest.mock import patch
from uuid import uuid4

import pytest

from corpus.catalogue import delete_document
from corpus.errors import BackendError
from corpus.models import Collection, Document
from qa import standing_questions
from qa.models import Answer, StandingQuestion
from qa.retention import purge
from qa.standing_questions import ask_changed_questions
from tests.support.client import Api
from tests.support.database import execute
from tests.support.documents import BAKERY, LIGHTHOUSE, LIGHTHOUSE_QUESTION
from tests.support.users import Tenant, call

ADDRESS = "https://bavoke.example/lighthouse"
OTHER_BUILDER = LIGHTHOUSE.replace("Orsolya Quill", "Maren Holt")


def ingest(api: Api, text: str, **attributes: Any) -> str:
    """Store a text as in a transaction of its own: triggers tell of one change in each."""
    execute("SELECT set_config('pkb.changed_collections', '', true)")
    return api.ingest(text, **attributes).document_id


def ask_again() -> None:
    """Do what a worker does every minute."""
    ask_changed_questions(should_stop=lambda: False)


@pytest.fixture
def standing(api: Api) -> str:
    ingest(api, LIGHTHOUSE, title="Bavoke", source_uri=ADDRESS)
    reply = api.post("/standing-questions", {"answer_id": api.answer()["id"]})
    assert reply.status_code == 201, reply.content
    ask_again()
    return f"/standing-questions/{reply.json()['id']}"


def test_a_changed_answer_is_told_with_both_quotes(api: Api, standing: str) -> None:
    before = api.get(standing).json()
    assert (before["question"], before["collection"]) == (LIGHTHOUSE_QUESTION, "default")
    assert (before["previous"], before["changed_at"], before["is_seen"]) == (None, None, True)
    ingest(api, OTHER_BUILDER, title="Bavoke", source_uri=ADDRESS)
    ask_again()
    after = api.get(standing).json()
    assert (after["changed_at"] is not None, after["is_seen"]) == (True, False)
    assert "Orsolya Quill" in " ".join(after["previous"]["quotes"])
    assert "Maren Holt" in " ".join(after["answer"]["quotes"])
    page = api.page("/ui/standing-questions")
    assert "Orsolya Quill" in page
    assert "Maren Holt" in page
    assert api.patch(standing, {"is_seen": True}).json()["is_seen"] is True
    assert api.get("/standing-questions").json()["results"][0]["id"] in standing
    assert api.delete(standing).status_code == 204
    assert api.get(standing).status_code == 404


def test_a_question_is_asked_again_only_if_its_passages_changed(api: Api, standing: str) -> None:
    before = api.get(standing).json()
    with patch.object(standing_questions, "answer_question") as asking:
        ask_again()
        Document.objects.update(title="Bavoke")
        ask_again()
        asking.assert_not_called()
    ingest(api, BAKERY, title="Lindow")
    ask_again()
    after = api.get(standing).json()
    assert after["is_seen"] is True
    assert after["answer"]["quotes"] == before["answer"]["quotes"]
    assert Answer.objects.count() == 2  # the user's, and the one of now


def test_a_new_document_that_answers_is_told(api: Api, collection: Collection) -> None:
    ingest(api, BAKERY, title="Lindow")
    asked = api.answer()
    assert asked["abstained"]
    api.post("/standing-questions", {"answer_id": asked["id"]})
    ask_again()
    ingest(api, LIGHTHOUSE, title="Bavoke")
    ask_again()
    (standing,) = api.get("/standing-questions").json()["results"]
    assert (standing["previous"]["quotes"], standing["is_seen"]) == ([], False)
    assert "Orsolya Quill" in " ".join(standing["answer"]["quotes"])


def test_a_deleted_document_is_told_and_shown_no_more(api: Api, standing: str) -> None:
    execute("SELECT set_config('pkb.changed_collections', '', true)")
    delete_document(Document.objects.get().pk)
    ask_again()
    shown = api.get(standing).json()
    assert (shown["previous"]["kind"], shown["is_seen"]) == ("erased", False)
    assert "Orsolya Quill" not in api.page("/ui/standing-questions")


def test_the_same_question_stands_once(api: Api, standing: str) -> None:
    again = api.post("/standing-questions", {"answer_id": api.answer()["id"]}).json()
    assert again["id"] in standing
    assert StandingQuestion.objects.count() == 1


def test_answers_of_standing_questions_are_not_purged(api: Api, standing: str) -> None:
    ingest(api, OTHER_BUILDER, title="Bavoke", source_uri=ADDRESS)
    ask_again()
    Answer.objects.update(created_at="2020-01-01T00:00Z")
    purge(days=1)
    shown = api.get(standing).json()
    assert None not in (shown["answer"], shown["previous"])


@pytest.mark.parametrize(
    ("question", "scope"),
    [
        (LIGHTHOUSE_QUESTION, {"collection": "*"}),
        ("Hello!", {}),
        (LIGHTHOUSE_QUESTION, {"document_id": "stored"}),
    ],
    ids=["all collections", "a greeting", "one document"],
)
def test_only_a_question_to_one_collection_can_stand(
    api: Api, question: str, scope: dict[str, str]
) -> None:
    stored = ingest(api, LIGHTHOUSE, title="Bavoke")
    if "document_id" in scope:
        scope = {"document_id": stored}
    answer_id = api.answer(question, **scope)["id"]
    assert api.post("/standing-questions", {"answer_id": answer_id}).status_code == 400


def test_an_answer_that_is_not_there_cannot_stand(api: Api) -> None:
    assert api.post("/standing-questions", {"answer_id": str(uuid4())}).status_code == 404


def test_there_is_a_limit_for_a_user(api: Api, standing: str) -> None:
    asked = api.answer("When was the lighthouse at Bavoke built?")["id"]
    with patch.object(standing_questions, "MAX_STANDING_QUESTIONS", 1):
        assert api.post("/standing-questions", {"answer_id": asked}).status_code == 400


def test_a_failed_model_leaves_the_question_for_later(api: Api, standing: str) -> None:
    ingest(api, OTHER_BUILDER, title="Bavoke", source_uri=ADDRESS)
    with patch.object(standing_questions, "answer_question", side_effect=BackendError("Down.")):
        ask_again()
    assert api.get(standing).json()["is_seen"] is True
    ask_again()
    assert api.get(standing).json()["is_seen"] is False


def test_a_worker_stops_between_questions(api: Api, standing: str) -> None:
    ingest(api, OTHER_BUILDER, title="Bavoke", source_uri=ADDRESS)
    ask_changed_questions(should_stop=lambda: True)
    assert api.get(standing).json()["is_seen"] is True


@pytest.mark.usefixtures("login_required")
def test_a_question_is_asked_for_its_user_who_alone_sees_it(ida: Tenant, otto: Tenant) -> None:
    access = "/collections/secret/access"
    grant = call(ida.key, "post", access, role="reader", user="otto").json()
    question = {"q": LIGHTHOUSE_QUESTION, "collection": "secret@ida"}
    answer_id = call(otto.key, "get", "/answer", **question).json()["id"]
    created = call(otto.key, "post", "/standing-questions", answer_id=answer_id)
    path = f"/standing-questions/{created.json()['id']}"
    assert call(ida.key, "get", path).status_code == 404
    ask_again()
    assert Answer.objects.filter(made_by=otto.user).count() == 2
    # Who may not read the collection any more learns nothing of its changes.
    assert call(ida.key, "delete", f"{access}/{grant['id']}").status_code == 204
    execute("SELECT set_config('pkb.changed_collections', '', true)")
    call(ida.key, "post", "/ingest", text=LIGHTHOUSE, collection="secret")
    ask_again()
    assert Answer.objects.filter(made_by=otto.user).count() == 2
    assert call(otto.key, "get", path).status_code == 404
