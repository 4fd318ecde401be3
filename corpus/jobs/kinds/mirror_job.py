"""Mirror a source: list its entries, ingest them one by one, delete documents of missing ones."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar

from django.db import transaction
from django.db.models import F

from corpus.errors import BackendError, CollectionNotFound, PkbError
from corpus.ingestion.decisions import failed_result
from corpus.ingestion.mirror import ListedEntry, Mirror, StaleDocument
from corpus.ingestion.outcomes import ItemResult, Outcome
from corpus.jobs.kinds.job_kind import JobKind, set_result
from corpus.models import Document, Job, JobItem

# Attempts to list the entries.
MAX_STARTS = 5


class MirrorKind(JobKind):
    """A kind of job whose items are the entries of a source, by their names.

    An item has ended when it is listed if its entry need not be loaded.

    Attributes:
        raised: Errors that do not end an item: it is run again, or its job is gone.
    """

    stage = Job.Stage.INGESTING
    raised: ClassVar[tuple[type[PkbError], ...]] = (BackendError, CollectionNotFound)

    @abstractmethod
    def mirror(self, job: Job, item: JobItem | None = None) -> Mirror:
        """Return the mirror of a job, to list its entries or to run an item.

        Raises:
            SourceUnavailable: Its source is not configured any more.
        """

    def list_items(self, job: Job, *, should_stop: Callable[[], bool]) -> None:
        mirror = self.mirror(job)
        for batch in mirror.list_entries():
            if should_stop():
                return
            _create_items(job, mirror, batch)
        Job.objects.filter(pk=job.pk).update(is_listed=True, skipped=mirror.skipped)

    def run(self, item: JobItem) -> ItemResult:
        try:
            return self.mirror(item.job, item).sync(item.key)
        except self.raised:
            raise
        except (PkbError, OSError) as exc:
            return failed_result(exc)

    def find_stale_documents(self, job: Job) -> Iterator[StaleDocument]:
        """Yield the documents to delete after the last item, because their entries are gone."""
        return self.mirror(job).find_stale()

    def finish(self, job: Job) -> None:
        for stale in self.find_stale_documents(job):
            # Unless it has another URI meanwhile.
            rows = Document.objects.filter(pk=stale.document_id, source_uri=stale.source_uri)
            with transaction.atomic():
                deleted_count, _ = rows.delete()
                if deleted_count:
                    item = JobItem(job=job, key=stale.name, path=stale.name)
                    set_result(item, ItemResult(Outcome.REMOVED, str(stale.document_id)))
                    item.save()
                    own = Job.objects.filter(pk=job.pk)
                    own.update(total=F("total") + 1, done=F("done") + 1)


@transaction.atomic
def _create_items(job: Job, mirror: Mirror, batch: Sequence[ListedEntry]) -> None:
    locked = Job.objects.select_for_update(no_key=True).get(pk=job.pk)
    by_name = {listed.name: listed for listed in batch}
    # Already listed before an interruption.
    for name in locked.items.filter(path__in=by_name).values_list("path", flat=True):
        del by_name[name]
    items, pending = [], []
    for name, listed in by_name.items():
        decision = mirror.decide(listed)
        item = JobItem(job=job, key=name, path=name)
        if not decision.needs_content:
            set_result(item, decision.result)
        items.append(item)
        placeholder = listed.placeholder
        if placeholder and decision.error:
            mirror.mark_failed(placeholder, decision.result.reason)
        elif placeholder and listed.known is None:
            pending.append(placeholder)
    if not job.is_background:
        # With the attempts of the last cancelled command, so that killer entries are quarantined.
        cancelled = Job.objects.filter(
            kind=job.kind,
            collection_id=job.collection_id,
            arguments=job.arguments,
            is_background=False,
            status=Job.Status.CANCELLED,
        )
        last = cancelled.order_by("-created_at").first()
        begun = last.items.filter(path__in=by_name, attempts__gt=0).pending() if last else ()
        attempts = {each.path: each.attempts for each in begun}
        for item in items:
            item.attempts = attempts.get(item.path, 0)
    JobItem.objects.bulk_create(items)
    Document.objects.bulk_create(pending, ignore_conflicts=True)
    failed = [item for item in items if item.status == JobItem.Status.FAILED]
    for item in failed:
        locked.add_error(item.reason, item)
    Job.objects.filter(pk=job.pk).update(
        total=F("total") + len(items),
        done=F("done") + sum(item.status == JobItem.Status.DONE for item in items),
        failed=F("failed") + len(failed),
        errors=locked.errors,
    )
