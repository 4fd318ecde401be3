"""Query sets of jobs and job items."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Self
from uuid import UUID

from django.apps import apps
from django.db import connection, models

if TYPE_CHECKING:
    from corpus.models.job import Job, JobItem  # noqa: F401

# First half of the key of the advisory lock that each running runner holds.
RUNNER_LOCKS = 0x706B62

# Items of a job that a list of jobs shows.
ITEMS_SHOWN = 20

# Items of a dead runner can be claimed: its lock ended with its connection.
_CLAIM = """
UPDATE corpus_jobitem SET attempts = attempts + 1, runner = %(runner)s, stage = 'parsing'
 WHERE id = (
    SELECT i.id FROM corpus_jobitem i
      JOIN corpus_job j ON j.id = i.job_id AND j.status = 'running'
     WHERE i.job_id = %(job)s AND i.status = 'pending'
       AND (i.runner IS NULL OR i.runner NOT IN (
            SELECT objid::bigint FROM pg_locks
             WHERE locktype = 'advisory' AND classid = %(locks)s AND objsubid = 2 AND granted
               AND database = (SELECT oid FROM pg_database WHERE datname = current_database())))
     ORDER BY i.attempts, i.id LIMIT 1 FOR UPDATE OF i SKIP LOCKED)
RETURNING id
"""


class JobQuerySet(models.QuerySet["Job"]):
    def unfinished(self) -> Self:
        """Keep jobs that are queued or running."""
        return self.filter(status__in=self.model.UNFINISHED)

    def about_documents(self) -> Self:
        """Keep jobs that add or change documents."""
        return self.exclude(kind="map")

    def since(self, moment: datetime) -> Self:
        """Keep unfinished jobs, and background jobs that ended after ``moment``."""
        unfinished = models.Q(status__in=self.model.UNFINISHED)
        return self.filter(unfinished | models.Q(finished_at__gt=moment, is_background=True))

    def with_items(self) -> Self:
        """Prefetch collections and, as ``shown_items``, the first items, failed ones first."""
        items = apps.get_model("corpus", "JobItem")._default_manager.troubled_first()[:ITEMS_SHOWN]
        shown = models.Prefetch("items", items, to_attr="shown_items")
        return self.select_related("collection__owner").prefetch_related(shown)


class JobItemQuerySet(models.QuerySet["JobItem"]):
    def troubled_first(self) -> Self:
        """Order by failed, pending and other items."""
        weight = models.Case(
            models.When(status__in=["failed", "quarantined"], then=0),
            models.When(status="pending", then=1),
            default=2,
        )
        return self.order_by(weight, "id")

    def pending(self) -> Self:
        """Keep items that have not ended."""
        return self.filter(status="pending")

    def at_work(self) -> Self:
        """Keep pending items that were begun, in order."""
        begun = self.pending().exclude(stage="queued")
        return begun.order_by("id")

    def troubled(self) -> Self:
        """Keep items that failed or were quarantined."""
        return self.filter(status__in=["failed", "quarantined"])

    def reached(self, item_id: int, stage: str) -> None:
        """Set the stage of an item."""
        self.filter(pk=item_id).update(stage=stage)

    def claim(self, job_id: UUID, *, runner: int) -> JobItem | None:
        """Claim a pending item of a running job; None if there is none.

        Items of dead runners are claimed as well; items with fewer attempts come first.
        """
        with connection.cursor() as cursor:
            cursor.execute(_CLAIM, {"job": job_id, "runner": runner, "locks": RUNNER_LOCKS})
            row = cursor.fetchone()
        return self.select_related("job__collection").get(pk=row[0]) if row else None
