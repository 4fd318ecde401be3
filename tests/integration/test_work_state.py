"""What the queue's own tables tell of workers and of what waits for them."""

from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest
from django.db import OperationalError
from django.test import Client

from corpus.models import Installation
from corpus.queue import (
    add_home_worker,
    enqueue_file_deletion,
    enqueue_job,
    enqueue_token_vectors,
    list_workers,
    read_backlog,
)
from pkb.dashboard import describe_state
from pkb.postgres.programs import PostgresDidNotStart
from pkb.status import service_status as state_module
from pkb.status.service_status import Problem, read_state
from tests.support.database import execute

JOB = UUID("6a50f511-3018-4a63-8095-956467a384db")


@pytest.fixture(autouse=True)
def quiet_queue(db: None) -> None:
    """Nobody works and nothing waits, whatever tests of before have committed."""
    execute("DELETE FROM procrastinate_jobs")
    execute("DELETE FROM procrastinate_workers")


def register(silent_s: int) -> int:
    """Have a worker that was heard of so long ago; returns its number."""
    insert = (
        "INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now() - %s * interval '1 s')"
    )
    ((number,),) = execute(f"{insert} RETURNING id", silent_s)
    return int(number)


def test_workers_are_named_with_their_last_heartbeat_and_what_they_run() -> None:
    dead, alive = register(90), register(2)
    enqueue_job(JOB)
    execute("UPDATE procrastinate_jobs SET status = 'doing', worker_id = %s", alive)
    first, second = list_workers()
    assert (first.id, first.is_alive, first.task, first.job_id) == (
        alive, True, "corpus.run_job", str(JOB),
    )  # fmt: skip
    assert (second.id, second.is_alive, second.task, second.job_id) == (dead, False, "", None)
    assert second.silent >= timedelta(seconds=90)
    said = " ".join(describe_state(read_state()))
    assert f"{alive} (2 s ago), {dead} (90 s ago)" in said


def test_the_oldest_of_what_waits_is_told_from_when_it_could_have_begun() -> None:
    assert read_backlog().oldest is None
    enqueue_job(JOB)
    # Behind all: it may wait for as long as it likes.
    enqueue_token_vectors(1)
    # Not to be begun yet.
    enqueue_job(UUID(int=1), delay_s=600)
    execute("UPDATE procrastinate_events SET at = now() - interval '2 hours'")
    found = read_backlog()
    assert found.waiting_count == 1
    assert found.oldest is not None
    assert timedelta(hours=2) <= found.oldest < timedelta(hours=3)
    execute("UPDATE procrastinate_jobs SET scheduled_at = now() - interval '1 hour'")
    later = read_backlog()
    assert later.oldest is not None
    assert timedelta(hours=1) <= later.oldest < timedelta(hours=2)


def test_a_task_that_broke_off_unforeseen_is_counted() -> None:
    enqueue_job(JOB)
    execute("UPDATE procrastinate_jobs SET status = 'failed'")
    found = read_backlog()
    assert (found.failed_count, found.waiting_count) == (1, 0)


def test_the_status_names_workers_queue_disks_and_problems() -> None:
    number = register(600)
    enqueue_job(JOB)
    body = Client().get("/status").json()
    assert set(body) == {"problems", "models_loaded", "workers", "queue", "disks", "backups"}
    [shown] = body["workers"]
    assert (shown["id"], shown["is_alive"], shown["job_id"]) == (number, False, None)
    assert shown["silent_s"] >= 600
    assert body["queue"]["waiting_count"] == 1
    assert Problem.NO_WORKER in {found["problem"] for found in body["problems"]}
    assert {disk["use"] for disk in body["disks"]} == {"data", "database"}
    assert all(0 < disk["free_bytes"] < disk["size_bytes"] for disk in body["disks"])
    assert body["backups"] is None


def test_work_for_a_host_without_a_worker_is_told() -> None:
    mine, elsewhere = register(90), register(2)
    for number in (10**12, mine):
        add_home_worker(number)
    enqueue_file_deletion()
    execute("UPDATE procrastinate_events SET at = now() - interval '1 minute'")
    body = Client().get("/status").json()
    assert [(each["id"], each["is_home"]) for each in body["workers"]] == [
        (elsewhere, False), (mine, True),
    ]  # fmt: skip
    assert body["queue"]["home_oldest_s"] >= 60
    assert Problem.HOME_UNSERVED in {found["problem"] for found in body["problems"]}
    # What has ended is not kept for ever.
    assert Installation.objects.home_workers() == {mine}
    execute("UPDATE procrastinate_workers SET last_heartbeat = now()")
    assert Problem.HOME_UNSERVED not in {each.problem for each in read_state().find_problems()}


@pytest.mark.parametrize("error", [OperationalError("refused"), PostgresDidNotStart("no room")])
def test_a_database_that_is_away_is_told_and_not_raised(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def refuse() -> None:
        raise error

    monkeypatch.setattr(state_module, "list_workers", refuse)
    monkeypatch.setattr("pkb.health.count_stored", refuse)
    assert Client().get("/health").json()["status"] == "degraded"
    body = Client().get("/status").json()
    assert (body["workers"], body["queue"]) == (None, None)
    assert Problem.DATABASE_AWAY in {found["problem"] for found in body["problems"]}


def test_the_helm_chart_counts_tasks_that_wait_or_run() -> None:
    query = (Path(__file__).parents[2] / "deploy/helm/pkb/queue-length.sql").read_text()
    assert execute(query) == [(0,)]
    enqueue_file_deletion()
    enqueue_job(JOB)
    enqueue_job(UUID(int=1), delay_s=60)
    enqueue_token_vectors(1)
    assert execute(query) == [(2,)]
    execute("UPDATE procrastinate_jobs SET status = 'doing' WHERE queue_name = 'pkb-home'")
    assert execute(query) == [(2,)]
