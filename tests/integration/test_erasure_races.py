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
from qa.answer_question import record_answer
from qa.models import Answer
from tests.support.database import held_up, places_of
from tests.support.documents import LIGHTHOUSE, Ingest, answer_from, answered

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("is_kept_first", [True, False])
def test_answer_kept_while_its_document_is_deleted_is_erased(
    ingest: Ingest, collection: Collection, *, is_kept_first: bool
) -> None:
    stored = ingest(LIGHTHOUSE)

    def keep() -> None:
        answer = answer_from(stored.document_id, stored.chunk_ids[0])
        record_answer(answered(answer), collection=collection)

    if is_kept_first:
        # As in a shell: nothing is locked before the deletion begins.
        with held_up(lambda: Document.objects.filter(pk=stored.document_id).delete()):
            keep()
    else:
        with held_up(keep):
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


@pytest.fixture
def item(collection: Collection) -> JobItem:
    """A file that a running job is at."""
    job = Job.objects.create(kind="sync", collection=collection, status="running", total=1)
    item = JobItem(job=job, key="/notes/marigold.md", path="/notes/marigold.md")
    item.save()
    return item


@pytest.mark.parametrize(
    ("outcome", "reason"), [(Outcome.ADDED, ""), (Outcome.FAILED, "The document was deleted.")]
)
def test_an_item_that_ends_after_its_document_went_names_nothing(
    ingest: Ingest, item: JobItem, outcome: Outcome, reason: str
) -> None:
    stored = ingest(LIGHTHOUSE)
    delete_document(UUID(stored.document_id))
    end_item(item, ItemResult(outcome, stored.document_id, reason=reason and "Marigold is bad."))
    item.refresh_from_db()
    assert (item.path, item.reason, item.outcome) == ("", reason, outcome)
    assert places_of("marigold") == set()
    assert list(find_violations()) == []


def test_a_running_job_tells_what_failed(ingest: Ingest, item: JobItem) -> None:
    stored = ingest(LIGHTHOUSE)
    end_item(item, ItemResult(Outcome.FAILED, stored.document_id, reason="It is bad."))
    delete_document(UUID(stored.document_id))
    item.job.refresh_from_db()
    assert item.job.errors == [{"path": "/notes/marigold.md", "reason": "It is bad."}]
