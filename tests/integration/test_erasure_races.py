"""What is written while a document is deleted: whoever comes last, no word of it stays."""

from uuid import UUID

import pytest
from rest_framework.response import Response

from corpus.api.idempotency import respond_idempotently
from corpus.catalogue import delete_document
from corpus.ingestion.outcomes import ItemResult, Outcome
from corpus.invariants import find_violations
from corpus.jobs.leases import end_item
from corpus.models import Collection, Document, IdempotentRequest, Job, JobItem, TermCount
from qa.answer_store import record_answer
from qa.models import Answer
from tests.support.database import held_up, places_of
from tests.support.documents import LIGHTHOUSE, Ingest, answer_from

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_answer_that_is_kept_first_is_found_by_the_deletion(
    ingest: Ingest, collection: Collection
) -> None:
    stored = ingest(LIGHTHOUSE)
    answer = answer_from(stored.document_id, stored.chunk_ids[0])
    # As in a shell: nothing is locked before the deletion begins.
    with held_up(lambda: Document.objects.filter(pk=stored.document_id).delete()):
        record_answer(answer, collection=collection, steps=[])
    assert Answer.objects.get().kind == "erased"
    assert places_of("orsolya") == set()


def test_a_deletion_that_is_first_is_found_by_the_answer(
    ingest: Ingest, collection: Collection
) -> None:
    stored = ingest(LIGHTHOUSE)
    answer = answer_from(stored.document_id, stored.chunk_ids[0])
    with held_up(lambda: record_answer(answer, collection=collection, steps=[])):
        delete_document(UUID(stored.document_id))
    assert Answer.objects.get().kind == "erased"
    assert places_of("orsolya") == set()


def test_a_word_of_two_documents_goes_when_both_are_deleted_at_once(ingest: Ingest) -> None:
    first = ingest("The marigold grows in the north garden of the old house.")
    second = ingest("A marigold was painted on the south wall of the new house.")
    with held_up(lambda: delete_document(UUID(second.document_id))):
        delete_document(UUID(first.document_id))
    assert not Document.objects.exists()
    assert not TermCount.objects.exclude(lexeme="").exists()
    assert list(find_violations()) == []


def test_a_reply_is_not_kept_for_a_key_once_its_document_is_gone(ingest: Ingest) -> None:
    stored = ingest(LIGHTHOUSE)

    def respond() -> Response:
        delete_document(UUID(stored.document_id))
        return Response({"document_id": stored.document_id}, status=201)

    assert respond_idempotently("a-1", fingerprint={}, respond=respond).status_code == 201
    assert not IdempotentRequest.objects.exists()


@pytest.mark.parametrize(
    ("outcome", "reason"), [(Outcome.ADDED, ""), (Outcome.FAILED, "The document was deleted.")]
)
def test_an_item_that_ends_after_its_document_went_names_nothing(
    ingest: Ingest, collection: Collection, outcome: Outcome, reason: str
) -> None:
    stored = ingest(LIGHTHOUSE)
    job = Job.objects.create(kind="sync", collection=collection, status="running", total=1)
    item = JobItem.of_file("/notes/marigold.md", job=job)
    item.save()
    delete_document(UUID(stored.document_id))
    end_item(item, ItemResult(outcome, stored.document_id, reason=reason and "Marigold is bad."))
    item.refresh_from_db()
    assert (item.path, item.reason, item.outcome) == ("", reason, outcome)
    assert places_of("marigold") == set()
    assert list(find_violations()) == []


def test_a_running_job_tells_what_failed(ingest: Ingest, collection: Collection) -> None:
    stored = ingest(LIGHTHOUSE)
    job = Job.objects.create(kind="sync", collection=collection, status="running", total=1)
    item = JobItem.of_file("/notes/marigold.md", job=job)
    item.save()
    end_item(item, ItemResult(Outcome.FAILED, stored.document_id, reason="It is bad."))
    delete_document(UUID(stored.document_id))
    job.refresh_from_db()
    assert job.errors == [{"path": "/notes/marigold.md", "reason": "It is bad."}]
