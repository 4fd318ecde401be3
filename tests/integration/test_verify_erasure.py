"""Looking for what is left of a deleted text."""

from hashlib import sha256
from typing import Any
from uuid import UUID

import pytest

from corpus.catalogue import create_collection, delete_collection, delete_document
from corpus.models import Collection, IdempotentRequest, Job, Tombstone
from qa.models import Answer
from tests.support.commands import refusal, run
from tests.support.documents import BAKERY, LIGHTHOUSE, Ingest, ingest_text_of

SHA = sha256(LIGHTHOUSE.encode()).hexdigest()
SENTENCE = "Every evening the keeper climbs 212 steps to wind the clockwork of the lens."


def verify(content_sha256: str = SHA) -> tuple[list[str], int]:
    """Return the lines and the exit status."""
    out, _, code = run("verify_erasure", content_sha256)
    return out.splitlines(), code


@pytest.fixture
def deleted(ingest: Ingest) -> None:
    ingest(BAKERY)
    delete_document(UUID(ingest(LIGHTHOUSE).document_id))


def test_nothing_is_left_of_a_deleted_document(deleted: None) -> None:
    assert verify() == (["0 rows contain words of the deleted text"], 0)


def test_what_is_left_is_told_by_table_and_column(deleted: None, collection: Collection) -> None:
    answer = {"collection": collection, "kind": "answer", "confidence": 0.5}
    Answer.objects.create(**answer, question="Who?", text=f"They say: {SENTENCE.upper()}")
    Answer.objects.create(**answer, question="What?", text=BAKERY)
    Job.objects.create(collection=collection, errors=[{"path": "", "reason": SENTENCE}])
    IdempotentRequest.objects.create(key="1", status=201, body={SENTENCE: [1, None, {"a": "b"}]})
    Tombstone.objects.create(
        content_sha256="0", seal=b"", width=8, hashes=SENTENCE.encode() + b"\xff"
    )
    collection.documents.get().chunks.update(heading_path=["A", SENTENCE])
    lines, status = verify()
    assert status == 1
    assert lines == [
        "corpus_chunk.heading_path: 1 rows",
        "corpus_idempotentrequest.body: 1 rows",
        "corpus_job.errors: 1 rows",
        "corpus_tombstone.hashes: 1 rows",
        "qa_answer.text: 1 rows",
        "5 rows contain words of the deleted text",
    ]


def test_what_another_document_holds_too_is_told_apart(
    deleted: None, collection: Collection, ingest: Ingest
) -> None:
    stored = ingest(f"The keeper's day. {SENTENCE} Then he sleeps.", title="Days")
    answer = {"collection": collection, "kind": "answer", "confidence": 0.5}
    Answer.objects.create(**answer, question="Who?", text=SENTENCE)
    lines, status = verify()
    assert status == 0
    assert lines[0].startswith(f"also in document {stored.document_id}: 7 of ")
    assert len(lines) == 2


def test_the_documents_of_a_deleted_collection_can_be_looked_for() -> None:
    ingest_text_of(create_collection("other"))(LIGHTHOUSE)
    delete_collection("other")
    assert verify() == (["0 rows contain words of the deleted text"], 0)


def test_the_tombstone_does_not_hold_the_text(deleted: None) -> None:
    tombstone = Tombstone.objects.get()
    assert (tombstone.content_sha256, tombstone.width) == (SHA, 8)
    assert b"keeper" not in bytes(tombstone.hashes)


def test_without_a_hash_the_deleted_texts_are_listed(deleted: None) -> None:
    assert run("verify_erasure")[0].rstrip().endswith(SHA)


def test_by_another_secret_key_nothing_is_said(deleted: None, settings: Any) -> None:
    settings.SECRET_KEY = "another"
    reason, code = refusal("verify_erasure", SHA)
    assert ("secret key has changed" in reason, code) == (True, 2)


@pytest.mark.parametrize("wrong", ["0" * 64, "abc"])
def test_a_text_that_was_not_deleted_exits_2(wrong: str) -> None:
    assert refusal("verify_erasure", wrong)[1] == 2


def test_no_tombstone_is_kept_where_none_is_wanted(ingest: Ingest, settings: Any) -> None:
    settings.PKB_TOMBSTONE_DAYS = 0
    delete_document(UUID(ingest(LIGHTHOUSE).document_id))
    assert not Tombstone.objects.exists()
