"""Items of a job that mirrors something: as they are listed, and of what is removed."""

from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from corpus.ingestion.outcomes import ItemResult, Outcome
from corpus.models import Document, Job, JobItem


def new_item(
    name: str, result: ItemResult | None, *, job: Job, document_id: UUID | None
) -> JobItem:
    """Return an unsaved item, which has ended where its result is known when it is listed."""
    item = JobItem.of_file(name, job=job)
    if result is not None:
        item.status = JobItem.Status.FAILED if result.has_failed else JobItem.Status.DONE
        item.outcome, item.reason, item.ended_at = result.outcome, result.reason, timezone.now()
        item.document_id, item.chunk_count = document_id, result.chunk_count
    return item


def count_listed(job: Job, items: list[JobItem]) -> None:
    """Add items that were listed to the counts of their job, which is locked."""
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
    """Remove the document of what is gone, and write it down as an item.

    Args:
        name: What the item is about.
        still: Columns that it must have, or somebody changed it meanwhile and it stays.
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
