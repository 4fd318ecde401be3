"""Deleting is complete: after it no word of a document stands in any column of any table."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client

from corpus.catalogue import create_collection, delete_collection, delete_document
from corpus.errors import BackendError
from corpus.invariants import find_violations
from corpus.jobs.run import run_job_slice
from corpus.jobs.states import retry_job
from corpus.models import Collection, Document, IdempotentRequest, Job, JobItem
from evaluation.models import CollectionBenchmark, Question
from evaluation.questions import adopt_feedback, propose_questions
from qa.answer_question import record_answer
from qa.feedback import review_feedback
from qa.models import Answer, ChatEvent, Feedback, Message
from tests.support.client import Api, again, chat, upload
from tests.support.database import fingerprint, places_of
from tests.support.documents import BAKERY, LIGHTHOUSE, LIGHTHOUSE_QUESTION, Ingest
from tests.support.jobs import run_job
from tests.support.sync_tree import sync_tree

# None stands in a question that is asked here.
WORDS = ("orsolya", "quill", "rapes", "basalt", "marigold", "ottermol", "vexlimar")
ATTRIBUTES = {
    "title": "Marigold's towers",
    "source_uri": "https://example.org/ottermol/1",
    "metadata": {"author": "Vexlimar"},
}
FILE = "ottermol.md"
FILE_TEXT = f"# Marigold\n\n{LIGHTHOUSE}\n\nVexlimar wrote this.\n"


def ingest_by_key(api: Api) -> str:
    body = {"text": LIGHTHOUSE, **ATTRIBUTES}
    reply = api.post("/ingest", body, headers={"Idempotency-Key": "a-1"})
    assert reply.status_code == 201
    return str(reply.json()["document_id"])


def ask_by_all_doors(api: Api, collection: Collection) -> None:
    """Leave the document's words wherever asking leaves them."""
    api.answer()
    session_id = api.ask()["session_id"]
    api.ask("How tall is it?", session_id=session_id)
    assert "Orsolya" in api.ask(selected_text=LIGHTHOUSE.replace(". ", ".  "))["answer"]
    messages = [{"role": "user", "content": LIGHTHOUSE_QUESTION}]
    api.post("/v1/chat/completions", {"model": "pkb", "messages": messages})
    answer_id = api.answer()["id"]
    liked = api.post(f"/answers/{answer_id}/feedback", {"rating": "up"}).json()
    assert review_feedback([liked["id"]], Feedback.Review.ACCEPTED) == 1
    assert adopt_feedback(collection) == 1
    propose_questions(collection, count=5)


@pytest.mark.django_db(transaction=True)
def test_no_word_of_a_deleted_document_is_left_by_any_door(
    api: Api, collection: Collection
) -> None:
    api.ingest(BAKERY)
    document_id = ingest_by_key(api)
    ask_by_all_doors(api, collection)
    location = chat().headers["Location"]
    assert {place.split(":")[0] for place in places_of(*WORDS)} >= {
        "corpus_document", "corpus_chunk", "corpus_termcount", "qa_answer", "qa_citation",
        "qa_chatevent", "evaluation_question",
    }  # fmt: skip
    assert api.delete(f"/documents/{document_id}").status_code == 204
    assert places_of(*WORDS) == set()
    assert not IdempotentRequest.objects.exists()
    assert again(location).kinds == ["done"]
    assert list(find_violations()) == []
    assert "rye bread" in api.answer("What does the bakery bake?")["answer"]


def by_api(document: Document) -> None:
    assert Api().delete(f"/documents/{document.pk}").status_code == 204


def by_page(document: Document) -> None:
    assert Client().post(f"/ui/documents/{document.pk}/delete").status_code == 302


def administrator() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return client


def by_admin(document: Document) -> None:
    path = f"/admin/corpus/document/{document.pk}/delete/"
    assert administrator().post(path, {"post": "yes"}).status_code == 302


def by_admin_action(document: Document) -> None:
    chosen = {"action": "delete_selected", "_selected_action": [str(document.pk)], "post": "yes"}
    assert administrator().post("/admin/corpus/document/", chosen).status_code == 302


def by_queryset(document: Document) -> None:
    Document.objects.filter(title__startswith="Marigold").delete()


def by_collection(document: Document) -> None:
    delete_collection(document.collection.name)


WAYS = [by_api, by_page, by_admin, by_admin_action, by_queryset, by_collection]


@pytest.mark.parametrize("delete", WAYS, ids=lambda way: way.__name__)
def test_every_way_of_deleting_is_complete(
    api: Api,
    client: Client,
    uploads: Path,
    delete: Callable[[Document], None],
    django_capture_on_commit_callbacks: Any,
) -> None:
    other = create_collection("other")
    job = upload(client, FILE, FILE_TEXT.encode(), collection="other")
    assert run_job_slice(job.pk)
    document = Document.objects.get()
    api.ask(collection="other")
    api.ask(selected_text=LIGHTHOUSE)
    propose_questions(other, count=5)
    CollectionBenchmark.objects.create(
        collection=create_collection("before"),
        questions=[{"statement": LIGHTHOUSE}],
        documents=[document.pk],
    )
    assert Answer.objects.filter(text__contains="Orsolya").count() == 2
    assert list(uploads.iterdir())
    with django_capture_on_commit_callbacks(execute=True):
        delete(document)
    assert places_of(*WORDS) == set()
    assert not list(uploads.iterdir())
    assert list(find_violations()) == []


def test_what_a_sync_removes_is_left_in_its_report_only(
    api: Api, collection: Collection, tmp_path: Path
) -> None:
    file = tmp_path / FILE
    file.write_text(FILE_TEXT)
    job = sync_tree(tmp_path, collection=collection)
    api.ask()
    assert JobItem.objects.get(job=job).path == str(file)
    file.unlink()
    removing = sync_tree(tmp_path, collection=collection)
    assert places_of(*WORDS) == {"corpus_jobitem: ottermol"}
    assert JobItem.objects.get(job=removing).path == str(file)
    assert list(find_violations()) == []


def test_a_job_and_the_admins_log_forget_what_failed_and_was_deleted(
    client: Client, uploads: Path
) -> None:
    job = upload(client, "ottermol.pdf", b"%PDF-1.4 no")
    assert run_job_slice(job.pk)
    by_admin(Document.objects.get())
    assert LogEntry.objects.exists()
    assert places_of("ottermol") == set()
    job.refresh_from_db()
    assert (job.status, job.failed, job.errors) == (Job.Status.SUCCEEDED, 1, [])
    # As jobs of an older version are.
    Job.objects.filter(pk=job.pk).update(status=Job.Status.FAILED)
    retry_job(job.pk)
    run_job(job)
    assert (job.status, job.done, job.failed) == (Job.Status.SUCCEEDED, 1, 0)
    assert list(find_violations()) == []


def test_an_erased_answer_stays_as_a_record_that_says_so(api: Api) -> None:
    stored = api.ingest(LIGHTHOUSE, **ATTRIBUTES)
    asked = api.ask()
    api.delete(f"/documents/{stored.document_id}")
    shown = api.get(f"/answers/{asked['id']}").json()
    assert (shown["kind"], shown["answer"], shown["short"]) == ("erased", "", None)
    assert (shown["abstained"], shown["question"]) == (False, LIGHTHOUSE_QUESTION)
    (citation,) = shown["citations"]
    assert (citation["quote"], citation["title"], citation["source_uri"]) == ("", "", "")
    assert (citation["document_id"], citation["state"]) == (None, "stale")
    assert citation["content_sha256"] == asked["citations"][0]["content_sha256"]
    assert not Answer.objects.unanswered().exists()


def test_the_whole_text_goes_where_one_of_several_documents_does(api: Api) -> None:
    lighthouse, bakery = api.ingest(LIGHTHOUSE), api.ingest(BAKERY)
    both = api.ask("Who built the lighthouse at Bavoke and when does the bakery open?")
    only = api.ask("When does the bakery in Lindow open?")
    api.delete(f"/documents/{lighthouse.document_id}")
    kept = Answer.objects.get(pk=both["id"])
    assert (kept.kind, kept.text) == ("erased", "")
    quotes = {str(c.document_id): c.quote for c in kept.citations.all()}
    assert quotes["None"] == ""
    assert quotes[bakery.document_id] in BAKERY
    assert Answer.objects.get(pk=only["id"]).text == only["answer"]


def test_a_replaced_version_stays_in_answers_until_its_document_goes(api: Api) -> None:
    api.ingest(LIGHTHOUSE, source_uri="note:1")
    asked = api.ask()
    stored = api.ingest(BAKERY, source_uri="note:1")
    assert Answer.objects.get(pk=asked["id"]).text == asked["answer"]
    api.delete(f"/documents/{stored.document_id}")
    assert places_of("orsolya") == set()


def test_a_selection_of_rendered_markdown_is_found_without_its_marks(api: Api) -> None:
    text = "- The lighthouse at **Bavoke** was built by [Orsolya Quill](https://x.example/o)."
    stored = api.ingest(f"# Towers\n\n{text}\n- Its lamp burns `rapeseed` oil.")
    shown = "The lighthouse at Bavoke was built by Orsolya Quill.\nIts lamp burns rapeseed oil."
    assert "Orsolya" in api.ask(selected_text=shown)["answer"]
    api.delete(f"/documents/{stored.document_id}")
    assert places_of("orsolya") == set()


def test_later_questions_of_a_conversation_stand_as_they_were_asked(api: Api) -> None:
    stored = api.ingest(LIGHTHOUSE)
    session_id = api.ask()["session_id"]
    later = api.ask("How tall is it?", session_id=session_id)
    # As a language model completes it, from the answer.
    Message.objects.filter(answer=later["id"]).update(searched="How tall is Orsolya's tower?")
    Answer.objects.filter(pk=later["id"]).update(steps=[{"searched": "Orsolya's tower"}])
    api.delete(f"/documents/{stored.document_id}")
    assert [m.searched for m in Message.objects.all()] == [LIGHTHOUSE_QUESTION, "How tall is it?"]
    assert places_of("orsolya") == set()


def test_question_asked_while_the_answer_before_it_goes_stands_as_asked(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The conversation was read before the deletion, and is added to after it."""
    stored = api.ingest(LIGHTHOUSE)
    session_id = api.ask()["session_id"]
    document_id = UUID(stored.document_id)

    def delete_after(*arguments: Any, **options: Any) -> str:
        key = record_answer(*arguments, **options)
        delete_document(document_id)
        return key

    monkeypatch.setattr("qa.answer_question.record_answer", delete_after)
    asked = api.ask("How tall is it?", session_id=session_id)
    assert Message.objects.get(answer=asked["id"]).searched == "How tall is it?"
    assert places_of("orsolya") == set()


@pytest.mark.django_db(transaction=True)
def test_a_stream_that_is_answered_while_its_document_goes_keeps_nothing(
    ingest: Ingest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The document is deleted after its words were told, before the answer is kept."""
    stored = ingest(LIGHTHOUSE, **ATTRIBUTES)

    def delete_first(*arguments: Any, **options: Any) -> str:
        delete_document(UUID(stored.document_id))
        return record_answer(*arguments, **options)

    monkeypatch.setattr("qa.answer_question.record_answer", delete_first)
    stream = chat()
    assert "Orsolya" in stream.said
    assert places_of(*WORDS) == set()
    assert Answer.objects.get().kind == "erased"
    assert not ChatEvent.objects.exclude(kind="done").exists()


@pytest.mark.django_db(transaction=True)
def test_a_stream_that_came_to_no_end_keeps_nothing(
    ingest: Ingest, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = ingest(LIGHTHOUSE, **ATTRIBUTES)

    def fail(*arguments: Any, **options: Any) -> str:
        raise BackendError

    monkeypatch.setattr("qa.answer_question.record_answer", fail)
    stream = chat()
    assert stream.kinds == ["chunk", "citation", "error"]
    told = ChatEvent.objects.exclude(kind="error")
    assert {str(event.document_id) for event in told} == {stored.document_id}
    delete_document(UUID(stored.document_id))
    assert again(stream.headers["Location"]).kinds == ["error"]
    assert places_of(*WORDS) == set()


def test_a_deletion_that_is_broken_off_takes_nothing(api: Api) -> None:
    document_id = ingest_by_key(api)
    api.ask()
    before = fingerprint()
    with transaction.atomic():
        by_api(Document.objects.get(pk=document_id))
        assert places_of(*WORDS) == set()
        transaction.set_rollback(True)
    assert fingerprint() == before
    assert Question.objects.count() == 0
