"""Background jobs and their items."""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import Any, Self

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import MD5
from django.utils import timezone

from corpus.access.principal import current_creator_id, current_key_collections
from corpus.postgres import execute
from corpus.telemetry import current_request_id

MAX_ERRORS = 100

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

    def shown_since(self, moment: datetime) -> Self:
        """Keep jobs about documents that are unfinished, or ended in background after ``moment``.

        Prefetch collections and, as ``shown_items``, the first items, failed ones first.
        """
        ended = Q(finished_at__gt=moment, is_background=True)
        rows = self.exclude(kind="map").filter(Q(status__in=self.model.UNFINISHED) | ended)
        items = JobItem.objects.troubled_first()[:ITEMS_SHOWN]
        shown = models.Prefetch("items", items, to_attr="shown_items")
        return rows.select_related("collection__owner").prefetch_related(shown)


class Job(models.Model):
    """A background job; runners claim its items one by one.

    The process that runs a job holds an advisory session lock on it, which ends with the process:
    an unfinished job without a lock is abandoned.
    """

    class Kind(models.TextChoices):
        SYNC = "sync"
        EMBED = "embed"
        REEMBED = "reembed"
        EDIT = "edit"
        SOURCE = "source"
        CRAWL = "crawl"
        GRID = "grid"
        BENCHMARK = "benchmark"

    class Status(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        SUCCEEDED = "succeeded"
        FAILED = "failed"
        CANCELLED = "cancelled"

    class Stage(models.TextChoices):
        WAITING = "waiting"
        LISTING = "listing"
        INGESTING = "ingesting"
        FETCHING = "fetching"
        EMBEDDING = "embedding"
        EDITING = "editing"
        ANSWERING = "answering"
        REMOVING = "removing"
        ENDED = "ended"

    UNFINISHED = (Status.QUEUED, Status.RUNNING)
    # They read files of the host that stores them, or sources of its PKB_SOURCES.
    READING_FILES = (Kind.SYNC, Kind.SOURCE)

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    kind = models.CharField(max_length=20, choices=Kind.choices)
    status = models.CharField(max_length=20, choices=Status.choices, default=Status.QUEUED)
    stage = models.CharField(max_length=20, choices=Stage.choices, default=Stage.WAITING)
    total = models.PositiveIntegerField(default=0, help_text="items known so far")
    done = models.PositiveIntegerField(default=0)
    failed = models.PositiveIntegerField(default=0)
    errors: models.JSONField[Any, Any] = models.JSONField(
        default=list, blank=True, help_text="the first of them: reason, and path or document_id"
    )
    arguments: models.JSONField[Any, Any] = models.JSONField(default=dict, blank=True)
    skipped: models.JSONField[Any, Any] = models.JSONField(
        default=dict, db_default={}, blank=True, help_text="files passed over, by kind"
    )
    collection = models.ForeignKey("corpus.Collection", models.CASCADE, related_name="jobs")
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        blank=True,
        default=current_creator_id,
        editable=False,
        related_name="+",
        help_text="none: a command's or an admin's, or no login was asked for",
    )
    bounds = ArrayField(
        models.BigIntegerField(),
        null=True,
        blank=True,
        default=current_key_collections,
        editable=False,
        help_text="ids of the collections that its maker's key was bound to; none: to none",
    )
    request_id = models.CharField(
        max_length=64,
        blank=True,
        default=current_request_id,
        db_default="",
        editable=False,
        help_text="X-Request-ID of the request that asked for it last; empty: none did",
    )
    is_background = models.BooleanField(
        default=True, help_text="workers run it; else a command does, and it ends with that"
    )
    is_listed = models.BooleanField(default=False, help_text="all its items are known")
    start_count = models.PositiveIntegerField(default=0, help_text="since it was queued")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    objects = JobQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(total__gte=F("done") + F("failed")), name="job_counts_add_up"
            ),
            models.CheckConstraint(
                condition=Q(status__in=["queued", "running"], finished_at=None)
                | Q(
                    status__in=["succeeded", "failed", "cancelled"],
                    finished_at__isnull=False,
                ),
                name="job_finished_has_its_time",
            ),
        ]
        indexes = [models.Index("status", name="job_status")]

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}"

    @property
    def is_unfinished(self) -> bool:
        return self.status in self.UNFINISHED

    def add_error(self, reason: str, item: JobItem | None = None) -> None:
        """Add an error to the job without saving it; items store their own reasons."""
        error = {"path": item.path if item else "", "reason": reason}
        if item and item.document_id and not item.path:
            error["document_id"] = str(item.document_id)
        if len(self.errors) < MAX_ERRORS:
            self.errors.append(error)


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

    def claim(self, job_id: uuid.UUID, *, runner: int) -> JobItem | None:
        """Claim a pending item of a running job; None if there is none.

        Items of dead runners are claimed as well; items with fewer attempts come first.
        """
        rows = execute(_CLAIM, {"job": job_id, "runner": runner, "locks": RUNNER_LOCKS})
        return self.select_related("job__collection").get(pk=rows[0][0]) if rows else None


class JobItem(models.Model):
    """One file, page or document of a job, or its collection.

    Attributes:
        key: A file path, page key, document id or collection name; unique in the job.
        document_id: The document of the item; for a file, the document that it became.
    """

    class Status(models.TextChoices):
        PENDING = "pending"
        DONE = "done"
        FAILED = "failed"
        QUARANTINED = "quarantined"

    class Stage(models.TextChoices):
        QUEUED = "queued"
        PARSING = "parsing"
        EMBEDDING = "embedding"

    job = models.ForeignKey(Job, models.CASCADE, related_name="items", db_index=False)
    key = models.CharField(max_length=4096, help_text="what it is about, once in a job")
    path = models.CharField(max_length=4096, blank=True, default="", help_text="of a file or page")
    status = models.CharField(max_length=20, choices=Status.choices, default=Status.PENDING)
    stage = models.CharField(
        max_length=20, choices=Stage.choices, default=Stage.QUEUED, help_text="while pending"
    )
    outcome = models.CharField(max_length=20, blank=True, default="")
    attempts = models.PositiveSmallIntegerField(default=0, help_text="times it was begun")
    reason = models.TextField(blank=True, default="", help_text="why it failed")
    document_id = models.UUIDField(null=True, blank=True)
    chunk_count = models.PositiveIntegerField(default=0)
    encoded_count = models.PositiveIntegerField(default=0, help_text="texts the model was given")
    runner = models.PositiveIntegerField(null=True, blank=True, help_text="who claimed it last")
    ended_at = models.DateTimeField(null=True, blank=True)

    objects = JobItemQuerySet.as_manager()

    class Meta:
        ordering = ["id"]
        constraints = [
            # A path may be too long for an index.
            models.UniqueConstraint("job", MD5("key"), name="job_item_key_unique_in_job"),
            models.CheckConstraint(
                condition=Q(status="pending", ended_at=None)
                | (~Q(status="pending") & Q(ended_at__isnull=False)),
                name="job_item_ended_has_its_time",
            ),
            models.CheckConstraint(
                condition=~Q(status__in=["failed", "quarantined"]) | ~Q(reason=""),
                name="job_item_failed_has_a_reason",
            ),
        ]
        indexes = [
            models.Index("job", "status", "id", name="job_item_claim"),
            models.Index("document_id", name="job_item_document"),
        ]

    def __str__(self) -> str:
        return self.key

    def begin_embedding(self) -> None:
        """Show that its chunks are being embedded."""
        type(self).objects.filter(pk=self.pk).update(stage=self.Stage.EMBEDDING)

    @property
    def name(self) -> str:
        """Return the last part of the path, else the key."""
        return self.path.rstrip("/").rsplit("/", 1)[-1] or self.key

    @property
    def state(self) -> str:
        """Return queued, parsing, embedding, ready or failed."""
        if self.status == self.Status.PENDING:
            return self.stage
        return "ready" if self.status == self.Status.DONE else "failed"
