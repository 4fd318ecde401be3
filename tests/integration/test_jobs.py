"""Jobs: claimed once, retried, cancelled, quarantined, picked up again."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from asgiref.sync import async_to_sync
from django.db import connection
from procrastinate.contrib.django.models import ProcrastinateJob
from psycopg.conninfo import make_conninfo

from corpus.catalogue import create_collection
from corpus.embedders import get_embedder
from corpus.errors import BackendError
from corpus.ingestion.folder_mirror import SyncOptions
from corpus.invariants import find_violations
from corpus.jobs.kinds.sync_job import start_sync
from corpus.jobs.leases import MAX_ATTEMPTS, claim_item, job_lock, register_runner
from corpus.jobs.run import begin_job, run_job_slice
from corpus.jobs.states import (
    cancel_abandoned_jobs,
    cancel_job,
    requeue_abandoned_jobs,
    retry_job,
)
from corpus.models import Collection, Document, Embedding, Job, JobItem
from corpus.tasks import rescue_jobs
from tests.support.database import execute
from tests.support.documents import BAKERY, LIGHTHOUSE, Ingest, long_text
from tests.support.jobs import run_job

pytestmark = pytest.mark.usefixtures("empty_queue", "no_violations")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number in range(4):
        (tmp_path / f"{number}.txt").write_text(f"Note {number}. {BAKERY}")
    return tmp_path


def start(folder: Path, collection: Collection, **options: Any) -> Job:
    wanted = SyncOptions(paths=(str(folder),), mirror=True)
    return start_sync(collection, wanted, **options)


@pytest.fixture
def job(folder: Path, collection: Collection) -> Job:
    return start(folder, collection)


def waiting(job: Job) -> int:
    return ProcrastinateJob.objects.filter(status="todo", args={"job_id": str(job.pk)}).count()


def test_a_finished_job_is_not_run_again(job: Job) -> None:
    run_job_slice(job.pk)
    assert run_job_slice(job.pk)
    assert run_job_slice(uuid4())
    assert job.items.count() == 4


def test_a_turn_that_is_over_leaves_the_rest(job: Job) -> None:
    turns = iter([False, True])
    assert not run_job_slice(job.pk, is_slice_over=lambda: next(turns))
    job.refresh_from_db()
    assert (job.status, job.done) == (Job.Status.RUNNING, 1)
    assert run_job_slice(job.pk)


def test_an_item_is_claimed_once_while_its_runner_lives(job: Job) -> None:
    begin_job(job.pk)
    with register_runner() as first, register_runner() as second:
        claims = [claim_item(job.pk, number=number) for number in (first, second, first, second)]
        assert len({item.pk for item in claims if item is not None}) == 4
        assert claim_item(job.pk, number=first) is None
    with register_runner() as third:
        again = claim_item(job.pk, number=third)
        assert again is not None
        assert again.attempts == 2


def test_an_item_begun_three_times_is_quarantined(job: Job) -> None:
    begin_job(job.pk)
    poison = job.items.order_by("pk")[0]
    job.items.filter(pk=poison.pk).update(attempts=MAX_ATTEMPTS)
    run_job(job)
    poison.refresh_from_db()
    assert poison.status == JobItem.Status.QUARANTINED
    assert "3 times" in poison.reason
    assert (job.status, job.done, job.failed) == (Job.Status.FAILED, 3, 1)
    assert job.errors == [{"path": poison.path, "reason": poison.reason}]


def test_retry_takes_up_what_failed_only(folder: Path, collection: Collection) -> None:
    (folder / "4.txt").write_text("It is gone when it is read.")
    job = start(folder, collection)
    begin_job(job.pk)
    (folder / "4.txt").unlink()
    run_job_slice(job.pk)
    (folder / "4.txt").write_text("It is mended now, and has a text worth keeping.")
    retried = retry_job(job.pk)
    assert (retried.status, retried.done, retried.failed) == (Job.Status.QUEUED, 4, 0)
    assert waiting(job) == 1
    assert list(find_violations()) == []
    run_job(job)
    assert (job.status, job.total, job.done) == (Job.Status.SUCCEEDED, 5, 5)


def test_a_cancelled_job_stops_between_files_and_can_be_retried(job: Job) -> None:
    def cancel_after_one() -> bool:
        if job.items.filter(status="done").exists():
            cancel_job(job.pk) if Job.objects.unfinished().filter(pk=job.pk) else None
        return False

    assert run_job_slice(job.pk, should_stop=cancel_after_one)
    job.refresh_from_db()
    assert (job.status, job.done) == (Job.Status.CANCELLED, 1)
    assert Document.objects.count() == 1
    assert list(find_violations()) == []
    retry_job(job.pk)
    run_job(job)
    assert (job.status, job.done) == (Job.Status.SUCCEEDED, 4)


def test_a_job_left_behind_is_queued_again_once(job: Job) -> None:
    begin_job(job.pk)
    ProcrastinateJob.objects.all()._raw_delete("default")  # the queue's row went with its worker
    requeue_abandoned_jobs()
    requeue_abandoned_jobs()
    assert waiting(job) == 1


def test_the_rescue_clears_the_queue_of_a_dead_worker(job: Job) -> None:
    begin_job(job.pk)
    # As a worker leaves it that was killed, and whose own row was pruned since.
    execute("UPDATE procrastinate_jobs SET status = 'doing', worker_id = NULL")
    async_to_sync(rescue_jobs.func)(0)
    assert not ProcrastinateJob.objects.filter(status="doing").exists()
    assert waiting(job) == 1


@pytest.fixture
def elsewhere(db: None) -> Iterator["psycopg.Connection[Any]"]:
    """Another connection, as another process has."""
    given = connection.get_connection_params()
    names = ("host", "port", "user", "password", "dbname")
    address = make_conninfo("", **{name: given.get(name) for name in names})
    with psycopg.connect(address) as other:
        yield other


def test_a_job_that_somebody_holds_is_left_to_them(
    job: Job, elsewhere: "psycopg.Connection[Any]"
) -> None:
    key = int.from_bytes(job.pk.bytes[:8], signed=True)
    elsewhere.execute("SELECT pg_advisory_lock(%s)", [key])
    with job_lock(job.pk) as is_mine:
        assert not is_mine
    run_job(job)
    assert job.status == Job.Status.QUEUED


def test_the_job_of_a_killed_command_is_ended(folder: Path, collection: Collection) -> None:
    job = start(folder, collection, background=False)
    begin_job(job.pk)
    assert Document.objects.filter(status="pending").count() == 4
    cancel_abandoned_jobs()
    job.refresh_from_db()
    assert job.status == Job.Status.CANCELLED
    assert not Document.objects.exists()


def test_a_file_that_kills_the_command_each_time_is_put_aside(
    folder: Path, collection: Collection
) -> None:
    for _ in range(MAX_ATTEMPTS):
        job = start(folder, collection, background=False)
        begin_job(job.pk)
        with register_runner() as number:
            item = claim_item(job.pk, number=number)
            assert item is not None
            job.items.exclude(pk=item.pk).delete()
            Job.objects.filter(pk=job.pk).update(total=1)
        cancel_abandoned_jobs()
    last = start(folder, collection, background=False)
    begin_job(last.pk)
    assert max(last.items.values_list("attempts", flat=True)) >= 1


def test_a_collection_takes_its_jobs_along(folder: Path) -> None:
    other = create_collection("other")
    job = start(folder, other)
    other.delete()
    assert run_job_slice(job.pk)
    assert not Job.objects.exists()


class FailingEmbedder:
    """The real embedder; encoding fails while it is told to."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.is_down = True
        self.after = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def embed_passages(self, texts: Any) -> Any:
        self.after -= 1
        if self.is_down and self.after < 0:
            raise BackendError("the model is gone")
        return self.inner.embed_passages(texts)


@pytest.fixture
def embedder(monkeypatch: pytest.MonkeyPatch, collection: Collection) -> FailingEmbedder:
    failing = FailingEmbedder(get_embedder(collection.embedding_model))
    for module in ("ingest", "vectors"):
        monkeypatch.setattr(f"corpus.ingestion.{module}.get_embedder", lambda name: failing)
    monkeypatch.setattr("corpus.ingestion.vectors.MAX_ATTEMPTS", 1)
    return failing


def test_the_vectors_of_batches_that_worked_are_kept(
    ingest: Ingest, embedder: FailingEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("corpus.ingestion.vectors.BATCH_SIZE", 1)
    embedder.after = 2
    stored = ingest(long_text(6))
    assert stored.embedded_count == Embedding.objects.count() == 2
    inputs = set(Embedding.objects.values_list("input_sha256", flat=True))
    embedder.is_down = False
    run_job_slice(Job.objects.get().pk)
    assert Embedding.objects.count() == stored.chunk_count > 2
    # The job makes the same inputs from the stored rows: nothing is encoded a second time.
    again = ingest(long_text(6) + " One more.", source_uri="note:2")
    assert again.encoded_count <= 2
    assert inputs <= set(Embedding.objects.values_list("input_sha256", flat=True))


def test_a_model_that_stays_away_fails_the_job_and_retry_mends_it(
    ingest: Ingest, embedder: FailingEmbedder
) -> None:
    ingest(LIGHTHOUSE)
    assert list(find_violations()) == []
    job = Job.objects.get()
    assert (job.kind, waiting(job)) == (Job.Kind.EMBED, 1)
    for _ in range(MAX_ATTEMPTS - 1):
        assert not run_job_slice(job.pk)
    assert run_job_slice(job.pk)
    document = Document.objects.get()
    assert (document.status, document.error) == (Document.Status.FAILED, "the model is gone")
    assert list(find_violations()) == []
    embedder.is_down = False
    retry_job(job.pk)
    run_job_slice(job.pk)
    document.refresh_from_db()
    assert document.status == Document.Status.COMPLETED
    assert document.error == ""


def test_the_queue_holds_ids_only(job: Job) -> None:
    row = ProcrastinateJob.objects.get()
    assert row.args == {"job_id": str(job.pk)}
    assert UUID(row.args["job_id"]) == job.pk
