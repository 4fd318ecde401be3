"""Create the items of sync jobs."""

from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from corpus.ingestion.outcomes import ItemResult, Outcome
from corpus.models import Document, Job, JobItem


def new_item(
    name: str, result: ItemResult | None, *, job: Job, document_id: UUID | None
) -> JobItem:
    """Return an unsaved item; it has ended if its result is known."""
    item = JobItem.of_file(name, job=job)
    if result is not None:
        item.status = JobItem.Status.FAILED if result.has_failed else JobItem.Status.DONE
        item.outcome, item.reason, item.ended_at = result.outcome, result.reason, timezone.now()
        item.document_id, item.chunk_count = document_id, result.chunk_count
    return item


def count_listed(job: Job, items: list[JobItem]) -> None:
    """Add new items to the counts of their locked job."""
    failed = [item for item in items if item.status == JobItem.Status.FAILED]
    done = sum(item.status == JobItem.Status.DONE for item in items)
    for item in failed:
        job.add_error(item.reason, item)
    Job.objects.filter(pk=job.pk).update(
        total=F("total") + len(items),
        done=F("done") + done,
        failed=F("failed") + len(failed),
        errors=job.errors,
    )


@transaction.atomic
def remove_document(job: Job, document_id: UUID, name: str, **still: str) -> None:
    """Delete the document of a missing file or entry, and create an item for it.

    Args:
        name: Path or URI of the item.
        still: Column values that the document must still have; else it stays.
    """
    rows = Document.objects.filter(pk=document_id, **still)
    deleted, _ = rows.only("pk", "collection", "file_path", "source_uri").delete()
    if not deleted:
        return
    item = JobItem.of_file(name, job=job)
    item.status, item.outcome = JobItem.Status.DONE, Outcome.REMOVED
    item.document_id, item.ended_at = document_id, timezone.now()
    item.save()
    Job.objects.filter(pk=job.pk).update(total=F("total") + 1, done=F("done") + 1)
