"""Another model for a collection: built beside the old one, switched at once, taken back."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from django.core.management import CommandError
from django.db import connection
from django.test.utils import CaptureQueriesContext

from corpus.catalogue import create_collection, delete_document
from corpus.embedders.hashed_words import HashingEmbedder
from corpus.errors import BackendError, ModelNotReady
from corpus.ingestion.vectors import complete_document
from corpus.invariants import find_violations
from corpus.jobs.kinds import job_kind, reembed_job
from corpus.jobs.kinds.reembed_job import roll_back, start_reembed, switch_model
from corpus.jobs.leases import MAX_ATTEMPTS, claim_item, register_runner
from corpus.jobs.run import begin_job, run_job_slice
from corpus.jobs.states import cancel_job, retry_job
from corpus.models import Collection, Document, Embedding, Job
from tests.support import commands
from tests.support.client import Api
from tests.support.documents import BAKERY, LIGHTHOUSE, Ingest, ingest_text_of, long_text
from tests.support.jobs import run_job

pytestmark = pytest.mark.usefixtures("no_violations")

FERRY = "A ferry crosses the sound at Marren twice a day, and carries letters and goats."
OLD, NEW, THIRD = "hashing-64", "hashing-96", "hashing-48"


@pytest.fixture
def notes(db: None) -> Collection:
    collection = create_collection("notes", embedding_model=OLD)
    ingest = ingest_text_of(collection)
    ingest(LIGHTHOUSE, title="Bavoke")
    ingest(BAKERY, title="Lindow")
    ingest(long_text(4), title="Entries")
    return collection


@pytest.fixture
def add(notes: Collection) -> Ingest:
    return ingest_text_of(notes)


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that were given to the new model."""
    texts: list[str] = []
    encode = HashingEmbedder.embed_passages

    def embed_passages(self: HashingEmbedder, given: Sequence[str]) -> Any:
        if self.name == NEW:
            texts.extend(given)
        return encode(self, given)

    monkeypatch.setattr(HashingEmbedder, "embed_passages", embed_passages)
    return texts


@pytest.fixture
def broken(notes: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    def embed_passages(self: HashingEmbedder, given: Sequence[str]) -> Any:
        raise BackendError("out of order")

    monkeypatch.setattr(HashingEmbedder, "embed_passages", embed_passages)


def run(*arguments: str) -> tuple[int, dict[str, Any]]:
    try:
        out, _, code = commands.run("reembed", "--collection", "notes", "--json", *arguments)
    except CommandError as refusal:
        return refusal.returncode, {"error": str(refusal)}
    return code, json.loads(out or "{}")


def finish(job: Job | None) -> None:
    assert job is not None
    assert run_job_slice(job.pk)


def model_of(collection: Collection) -> tuple[str, int, str, int | None]:
    now = Collection.objects.get(pk=collection.pk)
    return now.embedding_model, now.dimension, now.previous_model, now.previous_dimension


def search(api: Api, query: str, mode: str = "semantic") -> list[str]:
    found = api.search(query, mode=mode, collection="notes", top_k=1)
    return [hit["document_name"] for hit in found]


def test_vectors_are_built_beside_the_old_ones(notes: Collection, api: Api) -> None:
    before = set(Embedding.objects.filter(collection=notes).values_list("pk", flat=True))
    code, shown = run("--model", NEW)
    assert (code, shown["lacking_count"], shown["embedding_model"]) == (0, 0, OLD)
    assert model_of(notes) == (OLD, 64, "", None)
    rows = Embedding.objects.filter(collection=notes)
    assert before == set(rows.filter(model=OLD).values_list("pk", flat=True))
    assert rows.filter(model=NEW, dimension=96).count() == len(before)
    assert search(api, "lighthouse keeper lamp") == ["Bavoke"]


def test_a_job_shows_how_far_it_is(notes: Collection, api: Api) -> None:
    run("--model", NEW)
    (job,) = api.get("/jobs", {"kind": "reembed"}).json()["results"]
    assert (job["status"], job["done"], job["total"], job["failed"]) == ("succeeded", 3, 3, 0)


def test_doing_it_again_encodes_nothing(notes: Collection, encoded: list[str]) -> None:
    run("--model", NEW)
    assert encoded
    encoded.clear()
    assert run("--model", NEW)[0] == 0
    assert encoded == []
    assert Job.objects.filter(kind="reembed").count() == 1


def test_switch_changes_what_is_searched_by(notes: Collection, api: Api) -> None:
    code, shown = run("--model", NEW, "--switch")
    assert (code, shown["embedding_model"], shown["previous_model"]) == (0, NEW, OLD)
    assert model_of(notes) == (NEW, 96, OLD, 64)
    assert search(api, "lighthouse keeper lamp") == ["Bavoke"]
    stats = api.get("/documents/stats", {"collection": "notes"}).json()
    assert (stats["model_name"], stats["embedding_dimension"]) == (NEW, 96)
    assert list(find_violations()) == []
    assert run("--model", NEW, "--switch")[0] == 0
    assert model_of(notes) == (NEW, 96, OLD, 64)


def test_switch_catches_up_on_what_came_in_meanwhile(
    notes: Collection, add: Ingest, api: Api
) -> None:
    finish(start_reembed(notes, NEW))
    add(FERRY, title="M")
    assert notes.chunks.lacking_vectors(NEW).count() == 1
    switch_model(notes, NEW)
    assert notes.chunks.lacking_vectors(NEW).count() == 0
    assert search(api, "ferry goats letters") == ["M"]


@pytest.mark.usefixtures("broken")
def test_switch_refuses_while_vectors_lack(notes: Collection) -> None:
    with pytest.raises(BackendError):
        switch_model(notes, NEW)
    assert model_of(notes) == (OLD, 64, "", None)


def test_switch_refuses_where_it_cannot_keep_up(
    notes: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reembed_job, "add_missing_vectors", lambda document, model: 0)
    with pytest.raises(ModelNotReady, match="chunks of 'notes'"):
        switch_model(notes, NEW)
    assert model_of(notes) == (OLD, 64, "", None)


@pytest.mark.slow
@pytest.mark.usefixtures("broken")
def test_a_model_that_fails_fails_the_job_and_no_document(notes: Collection) -> None:
    code, shown = run("--model", NEW, "--switch")
    assert code == 1
    assert "failed" in shown["error"]
    job = Job.objects.get(kind="reembed")
    assert (job.status, job.failed) == ("failed", 3)
    assert set(notes.documents.values_list("status", flat=True)) == {"completed"}
    assert model_of(notes) == (OLD, 64, "", None)


def test_a_failed_job_is_taken_up_by_retry(
    notes: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(job_kind, "enqueue_job", lambda job_id: None)
        job = start_reembed(notes, NEW)
        assert job is not None
    job.items.update(attempts=MAX_ATTEMPTS)
    run_job(job)
    assert (job.status, job.failed) == ("failed", 3)
    assert set(notes.documents.values_list("status", flat=True)) == {"completed"}
    retry_job(job.pk)
    finish(job)
    assert notes.chunks.lacking_vectors(NEW).count() == 0


def test_a_job_that_was_begun_is_gone_on_with(notes: Collection, encoded: list[str]) -> None:
    job = start_reembed(notes, NEW)
    assert job is not None
    begin_job(job.pk)
    with register_runner() as number:
        assert claim_item(job.pk, number=number) is not None
    assert start_reembed(notes, NEW) == job
    assert run("--model", NEW)[0] == 0
    assert len(encoded) == len(set(encoded)) == notes.chunks.count()
    assert job.items.order_by("-attempts").values_list("attempts", flat=True)[0] == 2


def test_a_cancelled_job_leaves_what_it_brought(notes: Collection) -> None:
    job = start_reembed(notes, NEW)
    assert job is not None
    turns = iter([False, True])
    run_job_slice(job.pk, is_slice_over=lambda: next(turns))
    cancel_job(job.pk)
    assert 0 < notes.chunks.lacking_vectors(NEW).count() < notes.chunks.count()
    assert set(notes.documents.values_list("status", flat=True)) == {"completed"}
    assert run("--model", NEW, "--switch")[0] == 0


def test_what_is_deleted_meanwhile_stays_deleted(notes: Collection, api: Api) -> None:
    job = start_reembed(notes, NEW)
    gone = notes.documents.get(title="Lindow")
    delete_document(gone.pk)
    finish(job)
    switch_model(notes, NEW)
    roll_back(notes)
    assert not Document.objects.filter(pk=gone.pk).exists()
    assert notes.embeddings.filter(model=NEW).count() == notes.chunks.count()
    assert search(api, "bakery rye bread caraway") != ["Lindow"]


def test_what_is_replaced_meanwhile_has_its_new_vectors(notes: Collection, add: Ingest) -> None:
    add(BAKERY + " It has one oven.", source_uri="note:oven")
    finish(start_reembed(notes, NEW))
    add(BAKERY + " It has two ovens, and a cat.", source_uri="note:oven")
    switch_model(notes, NEW)
    assert notes.chunks.lacking_vectors(NEW).count() == 0


def test_rollback_is_a_few_statements_and_loads_no_model(
    notes: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("--model", NEW, "--switch")

    def refuse(name: str) -> Any:
        raise AssertionError(name)

    monkeypatch.setattr(reembed_job, "get_embedder", refuse)
    with CaptureQueriesContext(connection) as queries:
        assert roll_back(notes) is None
    assert len(queries) < 10
    assert model_of(notes) == (OLD, 64, NEW, 96)


def test_what_came_in_between_is_found_after_a_rollback(notes: Collection, api: Api) -> None:
    run("--model", NEW, "--switch")
    now = Collection.objects.get(pk=notes.pk)
    ingest_text_of(now)(FERRY, title="M")
    roll_back(notes)
    assert search(api, "ferry goats letters", mode="lexical") == ["M"]
    assert list(find_violations()) == []
    job = Job.objects.get(kind="embed")
    finish(job)
    assert search(api, "ferry goats letters") == ["M"]
    assert Document.objects.get(title="M").status == "completed"


def test_the_command_brings_what_a_rollback_lacks(notes: Collection) -> None:
    run("--model", NEW, "--switch")
    ingest_text_of(Collection.objects.get(pk=notes.pk))(long_text(2) + " The end.", title="M")
    code, shown = run("--rollback")
    assert (code, shown["embedding_model"], shown["lacking_count"]) == (0, OLD, 0)
    assert run("--rollback")[1]["embedding_model"] == NEW


def test_without_a_previous_model_there_is_no_rollback(notes: Collection) -> None:
    code, shown = run("--rollback")
    assert (code, "no previous model" in shown["error"]) == (1, True)


def test_only_two_models_are_kept(notes: Collection) -> None:
    run("--model", NEW, "--switch")
    run("--model", THIRD, "--switch")
    assert model_of(notes) == (THIRD, 48, NEW, 96)
    models = notes.embeddings.values_list("model", flat=True).distinct()
    assert set(models) == {NEW, THIRD}


def test_a_text_embedded_before_the_switch_and_stored_after_is_completed(
    notes: Collection, add: Ingest
) -> None:
    """The collection that the ingest holds still names the old model."""
    switch_model(Collection.objects.get(pk=notes.pk), NEW)
    stored = add("A ferry crosses the sound at Marren twice a day, with letters and goats.")
    document = Document.objects.select_related("collection").get(pk=stored.document_id)
    assert not stored.is_complete
    assert document.status == "processing"
    assert list(find_violations()) == []
    finish(Job.objects.get(kind="embed"))
    document.refresh_from_db()
    assert document.status == "completed"


def test_a_document_completed_while_the_model_changes_has_the_new_vectors(
    notes: Collection,
) -> None:
    document = Document.objects.select_related("collection").filter(title="Entries").get()
    switch_model(Collection.objects.get(pk=notes.pk), NEW)
    Embedding.objects.filter(chunk__document=document, chunk__ordinal=0, model=NEW).delete()
    Document.objects.filter(pk=document.pk).update(status="processing")
    assert document.collection.embedding_model == OLD
    assert complete_document(document) == 1
    document.refresh_from_db()
    assert document.status == "completed"


def test_other_collections_keep_their_model(notes: Collection) -> None:
    other = create_collection("other", embedding_model=OLD)
    ingest_text_of(other)(LIGHTHOUSE)
    run("--model", NEW, "--switch")
    run("--model", THIRD, "--switch")
    assert model_of(other) == (OLD, 64, "", None)
    assert other.embeddings.filter(model=OLD).count() == other.chunks.count()


USAGE: dict[str, list[str]] = {
    "nothing": [],
    "both": ["--model", NEW, "--rollback"],
    "workers": ["--model", NEW, "--workers", "0"],
    "collection": ["--model", NEW, "--collection", "absent"],
}


@pytest.mark.parametrize("arguments", USAGE.values(), ids=USAGE.keys())
def test_wrong_usage_is_2(notes: Collection, arguments: list[str]) -> None:
    assert run(*arguments)[0] == 2


def test_an_unknown_model_is_named(notes: Collection) -> None:
    code, shown = run("--model", "no-such-model")
    assert (code, "no-such-model" in shown["error"]) == (1, True)
