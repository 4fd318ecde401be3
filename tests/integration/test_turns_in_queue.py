"""Makers of jobs take turns at the workers, however many jobs each has."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth import get_user_model
from procrastinate import JobContext
from procrastinate.contrib.django import app
from procrastinate.contrib.django.models import ProcrastinateJob
from procrastinate.jobs import Status

from accounts.authentication import principal_of
from corpus import tasks
from corpus.access.principal import SYSTEM, Principal, acting_as
from corpus.catalogue import create_collection
from corpus.ingestion.folder_mirror import SyncOptions
from corpus.jobs.kinds.sync_job import start_sync
from corpus.models import Collection, Job
from corpus.queue import (
    FILL,
    HOME_QUEUE,
    QUEUE,
    RUN_JOB,
    enqueue_job,
    enqueue_token_vectors,
    has_waiting_tasks,
)
from tests.support.documents import BAKERY

pytestmark = pytest.mark.usefixtures("empty_queue", "cheap_model")
Send = Callable[..., list[Job]]


@pytest.fixture
def send(tmp_path: Path) -> Send:
    """Have a user make jobs of one file each, in a collection of their own."""

    def send(name: str, count: int, principal: Principal | None = None) -> list[Job]:
        user, _ = get_user_model().objects.get_or_create(username=name)
        owner = principal_of(user)
        with acting_as(owner):
            collection = Collection.objects.filter(owner=user).first() or create_collection(name)
        file = tmp_path / f"{name}.txt"
        file.write_text(f"{name} wrote this. {BAKERY}")
        options = SyncOptions(paths=(str(file),), force=True)
        with acting_as(principal or owner):
            return [start_sync(collection, options) for _ in range(count)]

    return send


def run_slice(meanwhile: Callable[[], Any] = lambda: None) -> str:
    """Run what a worker would take next; whose job it was, or the name of another task."""
    task = async_to_sync(app.job_manager.fetch_job)([QUEUE, HOME_QUEUE], worker_id=None)  # type: ignore[arg-type]
    assert task is not None
    meanwhile()
    ran = str(task.task_name)
    if ran == RUN_JOB:
        given = ProcrastinateJob.objects.get(pk=task.id).args
        ran = str(Job.objects.get(pk=given["job_id"]).collection.owner)
        context = JobContext(app=app, job=task, start_timestamp=0, abort_reason=lambda: None)
        tasks.run_job.func(context, **given)
    async_to_sync(app.job_manager.finish_job)(task, status=Status.SUCCEEDED, delete_job=True)
    return ran


def test_a_single_job_is_begun_after_one_slice_of_who_has_many(send: Send) -> None:
    send("eve", 8)
    ran = [run_slice(meanwhile=lambda: send("bob", 1)), *(run_slice() for _ in range(8))]
    assert ran == ["eve", "bob", *["eve"] * 7]
    assert Job.objects.filter(status=Job.Status.SUCCEEDED).count() == 9


def test_makers_take_turns_as_long_as_their_jobs_go_on(
    send: Send, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each turn is over before a file of it was taken in: no job ends.
    monkeypatch.setattr(tasks, "SLICE_S", -1.0)
    send("eve", 5)
    send("bob", 2)
    ran = [run_slice() for _ in range(6)]
    send("ida", 1)
    ran += [run_slice() for _ in range(9)]
    assert ran == ["eve", "bob"] * 3 + ["eve", "bob", "ida"] * 3


def test_a_job_that_rests_has_no_turns_to_make_up_for(
    send: Send, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "SLICE_S", -1.0)
    [resting] = send("eve", 1)
    send("bob", 1)
    ProcrastinateJob.objects.filter(args={"job_id": str(resting.pk)})._raw_delete("default")
    assert [run_slice() for _ in range(5)] == ["bob"] * 5
    enqueue_job(resting.pk)
    send("ida", 1)
    assert sorted(run_slice() for _ in range(3)) == ["bob", "eve", "ida"]


def test_jobs_that_nobody_made_are_the_owners(send: Send) -> None:
    send("eve", 3)
    send("eve", 2, principal=SYSTEM)
    send("bob", 1)
    assert [run_slice() for _ in range(6)] == ["eve", "bob", "eve", "eve", "eve", "eve"]


def test_token_vectors_stay_behind_whoever_has_many_jobs(send: Send) -> None:
    enqueue_token_vectors(Collection.objects.earliest("pk").pk)
    assert not has_waiting_tasks()
    send("eve", 30)
    assert has_waiting_tasks()
    assert [run_slice() for _ in range(30)] == ["eve"] * 30
    assert run_slice() == FILL
