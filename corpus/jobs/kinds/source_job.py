"""Sync a collection with a source of ``PKB_SOURCES``."""

from collections.abc import Iterator
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from corpus.errors import SourceUnavailable
from corpus.ingestion.file_scan import error_reason
from corpus.ingestion.mirror import StaleDocument
from corpus.ingestion.outcomes import ItemResult, Outcome
from corpus.ingestion.source_mirror import OpenSource, SourceMirror
from corpus.jobs.kinds.job_kind import set_result, start_job
from corpus.jobs.kinds.mirror_job import MAX_STARTS, MirrorKind
from corpus.models import Collection, Document, Job, JobItem
from corpus.models.job import JobQuerySet
from corpus.sources.source_settings import SourceSettings

# Consecutive failed entries after which the rest is not tried.
MAX_FAILURES = 3
# Sources that a process keeps open between the slices of their jobs.
MAX_OPENED = 4
_UNKNOWN = "No source of this name is configured any more."


_open_sources: dict[UUID, OpenSource] = {}


class SourceKind(MirrorKind):
    """An item is an entry of a source; its key is the entry's URI.

    No document waits for its item: the old version stays until the new one is stored.
    """

    def refuse(self, job: Job) -> str:
        if job.start_count > MAX_STARTS:
            return "Listing the source was broken off again and again."
        return "" if find_source(job.arguments["source"]) else _UNKNOWN

    def mirror(self, job: Job, item: JobItem | None = None) -> SourceMirror:
        return SourceMirror(
            _open(job),
            job.collection,
            may_be_empty=bool(job.arguments["emptied"]),
            is_listed=lambda uri: job.items.filter(path=uri).exists(),
            on_embedding=item.begin_embedding if item else lambda: None,
        )

    def run(self, item: JobItem) -> ItemResult:
        result = super().run(item)
        opened = _open_sources.get(item.job_id)
        if opened and opened.failure_count >= MAX_FAILURES:
            # The source does not answer: the pending items fail as well.
            with transaction.atomic():
                job = Job.objects.select_for_update(no_key=True).get(pk=item.job_id)
                count = (
                    job.items.pending()
                    .exclude(pk=item.pk)
                    .update(
                        status=JobItem.Status.FAILED,
                        outcome=Outcome.FAILED,
                        reason=result.reason,
                        ended_at=timezone.now(),
                    )
                )
                Job.objects.filter(pk=job.pk).update(failed=F("failed") + count)
        return result

    def find_stale_documents(self, job: Job) -> Iterator[StaleDocument]:
        """Yield the documents of entries, and their attachments, that the source does not list.

        The source is listed again first: the first listing may have missed an entry between pages.
        """
        mirror = self.mirror(job)
        listed = set(job.items.values_list("key", flat=True))
        if not any(mirror.find_stale(listed)):
            return
        entries = _open(job).list_entries()
        if not entries and not job.arguments["emptied"]:
            raise SourceUnavailable(f"{job.arguments['source']} has nothing now.")
        yield from mirror.find_stale(listed | entries.keys())

    def finish(self, job: Job) -> None:
        try:
            # Read duplicates again if the other document has changed since.
            duplicates = job.items.filter(status=JobItem.Status.DONE, outcome=Outcome.UNCHANGED)
            for item in duplicates.exclude(reason="").select_related("job__collection"):
                holder = Document.objects.filter(pk=str(item.document_id))
                if holder.filter(ingested_at__lt=item.ended_at).exists():
                    continue
                result = self.run(item)
                if not result.has_failed:
                    set_result(item, result)
                    item.save()
            super().finish(job)
        except SourceUnavailable as exc:
            job.refresh_from_db(fields=["errors"])
            job.add_error(f"Nothing was removed. {error_reason(exc)}")
            job.save(update_fields=["errors"])
        finally:
            _close(job.pk)


@transaction.atomic
def start_source_sync(
    source: SourceSettings,
    collection: Collection,
    *,
    emptied: bool = False,
    background: bool = True,
) -> Job:
    """Create a job that syncs a source, or return the unfinished one.

    Args:
        emptied: Accept an empty source, which was emptied on purpose.

    Raises:
        TooManyJobs: The user has too many unfinished background jobs.
    """
    Collection.objects.select_for_update(no_key=True).get(pk=collection.pk)
    running = syncs_of(source.name).unfinished().first()
    if running is None:
        arguments = {"source": source.name, "emptied": emptied}
        return start_job(Job.Kind.SOURCE, collection.pk, arguments, background=background)
    if emptied:
        running.arguments = {**running.arguments, "emptied": True}
        running.save(update_fields=["arguments"])
    return running


def find_source(name: str) -> SourceSettings | None:
    """Return the settings of a source."""
    return next((each for each in settings.PKB_SOURCES if each.name == name), None)


def open_source(source: SourceSettings) -> OpenSource:
    """Return the source without connecting to it."""
    return OpenSource(source, source.open(max_bytes=settings.PKB_MAX_FILE_BYTES))


def syncs_of(name: str) -> JobQuerySet:
    """Return the jobs of a source, newest first."""
    return Job.objects.filter(kind=Job.Kind.SOURCE, arguments__source=name)


def _open(job: Job) -> OpenSource:
    """Return the source of a job, which stays open between the job's slices."""
    if job.pk not in _open_sources:
        source = find_source(job.arguments["source"])
        if source is None:
            raise SourceUnavailable(_UNKNOWN)
        while len(_open_sources) >= MAX_OPENED:
            _close(next(iter(_open_sources)))
        _open_sources[job.pk] = open_source(source)
    return _open_sources[job.pk]


def _close(job_id: UUID) -> None:
    opened = _open_sources.pop(job_id, None)
    if opened is not None:
        opened.source.close()
