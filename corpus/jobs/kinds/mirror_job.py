"""Mirror the entries of a folder, source or website: what these kinds of jobs share."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple
from uuid import UUID

from django.db import transaction
from django.db.models import F

from corpus.ingestion.decisions import Decision
from corpus.ingestion.outcomes import ItemResult, Outcome
from corpus.ingestion.placeholders import store_failure
from corpus.jobs.kinds.job_kind import JobKind, set_result
from corpus.models import Document, Job, JobItem

# Attempts to list the entries.
MAX_STARTS = 5


class PlannedEntry(NamedTuple):
    """A listed entry.

    Attributes:
        name: The path or URI that its item shows.
        placeholder: An unsaved document that lists show: pending, or failed with the reason.
    """

    name: str
    decision: Decision
    placeholder: Document | None = None


class StaleDocument(NamedTuple):
    """A document whose entry is gone, with the name of its item."""

    document_id: UUID
    source_uri: str
    name: str


class MirrorKind(JobKind):
    """A kind of job whose items are the entries of a folder, source or site.

    An item has ended when it is listed if its entry need not be loaded.
    """

    stage = Job.Stage.INGESTING

    @abstractmethod
    def plan(self, job: Job) -> Iterator[Sequence[PlannedEntry]]:
        """List the entries in batches, each with the decision about it.

        Raises:
            SourceUnavailable: They cannot be listed now.
        """

    def find_stale_documents(self, job: Job) -> Iterator[StaleDocument]:
        """Yield the documents to delete after the last item, because their entries are gone."""
        return iter(())

    def list_items(self, job: Job, *, should_stop: Callable[[], bool]) -> None:
        for batch in self.plan(job):
            if should_stop():
                return
            _create_items(job, batch)
        Job.objects.filter(pk=job.pk).update(is_listed=True)

    def finish(self, job: Job) -> None:
        for stale in self.find_stale_documents(job):
            _delete_stale(job, stale)


@transaction.atomic
def _create_items(job: Job, batch: Sequence[PlannedEntry]) -> None:
    locked = Job.objects.select_for_update(no_key=True).get(pk=job.pk)
    by_name = {planned.name: planned for planned in batch}
    # Already listed before an interruption.
    for name in locked.items.filter(path__in=by_name).values_list("path", flat=True):
        del by_name[name]
    items = [_new_item(planned, job) for planned in by_name.values()]
    if not job.is_background:
        _copy_attempts(job, items)
    JobItem.objects.bulk_create(items)
    placeholders = [each.placeholder for each in by_name.values() if each.placeholder]
    pending = [each for each in placeholders if each.status == Document.Status.PENDING]
    Document.objects.bulk_create(pending, ignore_conflicts=True)
    for placeholder in placeholders:
        if placeholder.status == Document.Status.FAILED:
            store_failure(placeholder, error=placeholder.error, file_hash="", settings_sha256="")
    failed = [item for item in items if item.status == JobItem.Status.FAILED]
    for item in failed:
        locked.add_error(item.reason, item)
    Job.objects.filter(pk=job.pk).update(
        total=F("total") + len(items),
        done=F("done") + sum(item.status == JobItem.Status.DONE for item in items),
        failed=F("failed") + len(failed),
        errors=locked.errors,
    )


def _new_item(planned: PlannedEntry, job: Job) -> JobItem:
    item = JobItem.of_file(planned.name, job=job)
    if not planned.decision.needs_content:
        set_result(item, planned.decision.result)
    return item


def _copy_attempts(job: Job, items: list[JobItem]) -> None:
    """Copy attempts from the last cancelled command, so that killer entries are quarantined."""
    cancelled = Job.objects.filter(
        kind=job.kind,
        collection_id=job.collection_id,
        arguments=job.arguments,
        is_background=False,
        status=Job.Status.CANCELLED,
    )
    last = cancelled.order_by("-created_at").first()
    if last is None:
        return
    begun = last.items.pending().filter(path__in=[item.path for item in items], attempts__gt=0)
    attempts = dict(begun.values_list("path", "attempts"))
    for item in items:
        item.attempts = attempts.get(item.path, 0)


@transaction.atomic
def _delete_stale(job: Job, stale: StaleDocument) -> None:
    """Delete a document that still has its URI, and create an item for it."""
    rows = Document.objects.filter(pk=stale.document_id, source_uri=stale.source_uri)
    deleted, _ = rows.only("pk", "collection", "file_path", "source_uri").delete()
    if not deleted:
        return
    item = JobItem.of_file(stale.name, job=job)
    set_result(item, ItemResult(Outcome.REMOVED, str(stale.document_id)))
    item.save()
    Job.objects.filter(pk=job.pk).update(total=F("total") + 1, done=F("done") + 1)
