"""The interface of a kind of job, and how jobs are created."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from typing import Any, ClassVar
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from corpus.ingestion.outcomes import ItemResult
from corpus.models import Document, Job, JobItem
from corpus.queue import enqueue_job
from corpus.user_quotas import check_job_quota

# Items of one statement.
_BATCH_SIZE = 1_000


class JobKind(ABC):
    """A kind of job.

    Attributes:
        stage: The stage of a job while its items run.
    """

    stage: ClassVar[Job.Stage]

    def refuse(self, job: Job) -> str:
        """Return why a job must not list its items; empty if it may."""
        return ""

    def list_items(self, job: Job, *, should_stop: Callable[[], bool]) -> None:
        """Create the items of a job that was created without them.

        May be interrupted and started again; sets ``is_listed`` at the end.
        """
        return

    def delay_before_next_s(self, job: Job) -> float:
        """Return the seconds to wait before the next item."""
        return 0.0

    @abstractmethod
    def run(self, item: JobItem) -> ItemResult:
        """Run an item and return its result.

        Raises:
            BackendError: The model failed; the item is claimed again later.
            CollectionNotFound: The collection was deleted, and the job with it.
        """

    def give_up(self, item: JobItem, reason: str) -> None:
        """Store the failure of an item that ``run`` did not finish."""
        return

    def documents(self, job: Job, items: "QuerySet[JobItem]") -> "QuerySet[Document]":
        """Return the documents whose status depends on these items."""
        return Document.objects.none()

    def finish(self, job: Job) -> None:
        """Do the work that is left after the last item."""
        return


def set_result(item: JobItem, result: ItemResult) -> None:
    """End an item without saving it."""
    item.status = JobItem.Status.FAILED if result.has_failed else JobItem.Status.DONE
    item.outcome, item.reason, item.ended_at = result.outcome, result.reason, timezone.now()
    item.document_id = UUID(result.document_id) if result.document_id else None
    item.chunk_count, item.encoded_count = result.chunk_count, result.encoded_count


@transaction.atomic
def start_job(
    kind: Job.Kind, collection_id: int, arguments: Mapping[str, Any], *, background: bool = True
) -> Job:
    """Create a job that lists its items; workers run it if ``background`` is set.

    Raises:
        TooManyJobs: The user has too many unfinished background jobs.
    """
    if background:
        check_job_quota()
    job = Job.objects.create(
        kind=kind, collection_id=collection_id, arguments=arguments, is_background=background
    )
    if background:
        enqueue_job(job.pk)
    return job


def queue_documents(
    kind: Job.Kind, collection_id: int, document_ids: Collection[UUID], arguments: Mapping[str, Any]
) -> Job:
    """Create a background job with an item for each document."""
    job = Job.objects.create(
        kind=kind,
        collection_id=collection_id,
        arguments=arguments,
        total=len(document_ids),
        is_listed=True,
    )
    items = [JobItem(job=job, key=str(key), document_id=key) for key in document_ids]
    JobItem.objects.bulk_create(items, batch_size=_BATCH_SIZE)
    enqueue_job(job.pk)
    return job
