"""Clocks that are set back while something waits for its time."""

from datetime import timedelta

import pytest
from django.db.models.functions import Now
from procrastinate.contrib.django.models import ProcrastinateJob

from corpus.jobs.states import requeue_abandoned_jobs
from corpus.models import Collection, Job
from corpus.queue import enqueue_job, has_waiting_tasks


@pytest.mark.django_db
def test_job_that_waits_since_the_clock_was_ahead_runs_with_the_next_look(
    collection: Collection, empty_queue: None
) -> None:
    job = Job.objects.create(kind=Job.Kind.EMBED, collection=collection, is_listed=True)
    enqueue_job(job.pk, delay_s=5)
    task = ProcrastinateJob.objects.filter(status="todo", args={"job_id": str(job.pk)})
    assert task.update(scheduled_at=Now() + timedelta(hours=1)) == 1
    assert not has_waiting_tasks()
    requeue_abandoned_jobs()
    assert has_waiting_tasks()
    assert task.count() == 1
