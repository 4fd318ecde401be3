"""Sync a collection with a source; new and changed entries become pending items."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from corpus.characters import is_storable
from corpus.errors import (
    BackendError,
    CollectionNotFound,
    NoRoomLeft,
    PkbError,
    SourceUnavailable,
)
from corpus.ingestion.file_scan import MAX_URI_CHARS, error_reason
from corpus.ingestion.file_sync import failed_result, ingest_fingerprint, known_result
from corpus.ingestion.outcomes import ItemResult, Outcome
from corpus.ingestion.source_sync import (
    Mirror,
    documents_of,
    ingest_entry,
    record_rejection,
    source_ref_of,
)
from corpus.jobs.kinds.items import count_listed, new_item, remove_document
from corpus.jobs.kinds.job_kind import JobKind
from corpus.models import Collection, Document, Job, JobItem
from corpus.models.job import JobQuerySet
from corpus.queue import enqueue_job
from corpus.sources.source import Source
from corpus.sources.source_settings import SourceSettings
from corpus.user_quotas import check_job_quota

# Attempts to list the source.
MAX_STARTS = 5
# Consecutive failed entries after which the rest is not tried.
MAX_FAILURES = 3
# Sources that a process keeps open between the slices of their jobs.
MAX_OPENED = 4
# Entries of one transaction.
BATCH_SIZE = 500


@dataclass
class _OpenSource:
    """An open source of a job; ``versions`` are those that this process listed."""

    settings: SourceSettings
    source: Source
    versions: Mapping[str, str] = field(default_factory=dict)
    failures: int = 0


_open_sources: dict[UUID, _OpenSource] = {}


class SourceKind(JobKind):
    """An item is an entry of a source; its key is the entry's URI."""

    stage = Job.Stage.INGESTING

    def refuse(self, job: Job) -> str:
        if job.start_count > MAX_STARTS:
            return "Listing the source was broken off again and again."
        return "" if find_source(job.arguments["source"]) else _UNKNOWN

    def list_items(self, job: Job, *, should_stop: Callable[[], bool]) -> None:
        """List all entries, then create the items in batches."""
        opened = _open(job)
        opened.versions = list_versions(opened.source)
        may_be_empty = bool(job.arguments["emptied"])
        planned = plan_entries(
            opened.settings, job.collection, opened.versions, may_be_empty=may_be_empty
        )
        for start in range(0, len(planned), BATCH_SIZE):
            if should_stop():
                return
            _create_items(job, planned[start : start + BATCH_SIZE])
        Job.objects.filter(pk=job.pk).update(is_listed=True)

    def run(self, item: JobItem) -> ItemResult:
        try:
            opened = _open(item.job)
            mirror = _mirror(item, opened.settings)
        except SourceUnavailable as exc:
            return failed_result(exc)
        version = opened.versions.get(item.key, "")
        try:
            reading = opened.source.read(item.key)
            opened.failures, version = 0, reading.version
            return ingest_entry(item.key, reading, mirror=mirror)
        except (BackendError, CollectionNotFound):
            raise
        except SourceUnavailable as exc:
            opened.failures += 1
            if opened.failures >= MAX_FAILURES:
                _give_up_rest(item, error_reason(exc))
            return failed_result(exc)
        except PkbError as exc:
            # A later sync tries the same version again.
            version = "" if isinstance(exc, NoRoomLeft) else version
            record_rejection(item.key, error_reason(exc), version=version, mirror=mirror)
            return failed_result(exc)

    def documents(self, job: Job, items: "QuerySet[JobItem]") -> "QuerySet[Document]":
        # No document waits: the old version stays until the new one is stored.
        return Document.objects.none()

    def finish(self, job: Job) -> None:
        try:
            self._reread_duplicates(job)
            _delete_vanished(job)
        except SourceUnavailable as exc:
            job.refresh_from_db(fields=["errors"])
            job.add_error(f"Nothing was removed. {error_reason(exc)}")
            job.save(update_fields=["errors"])
        finally:
            _close(job.pk)

    def _reread_duplicates(self, job: Job) -> None:
        """Read duplicates again if the other document has changed since."""
        doubles = job.items.filter(status=JobItem.Status.DONE, outcome=Outcome.UNCHANGED)
        for item in doubles.exclude(reason="").select_related("job__collection"):
            holder = Document.objects.filter(pk=str(item.document_id))
            if holder.filter(ingested_at__lt=item.ended_at).exists():
                continue
            result = self.run(item)
            if not result.has_failed:
                item.outcome, item.reason = result.outcome, result.reason
                item.document_id = UUID(result.document_id)
                item.chunk_count, item.encoded_count = result.chunk_count, result.encoded_count
                item.save()


_UNKNOWN = "No source of this name is configured any more."


def find_source(name: str) -> SourceSettings | None:
    """Return the settings of a source."""
    return next((each for each in settings.PKB_SOURCES if each.name == name), None)


def open_source(found: SourceSettings) -> Source:
    """Return the source without connecting to it."""
    return found.open(max_bytes=settings.PKB_MAX_FILE_BYTES)


@transaction.atomic
def start_source_sync(
    found: SourceSettings, collection: Collection, *, emptied: bool = False, background: bool = True
) -> Job:
    """Create a job that syncs a source, or return the unfinished one.

    Args:
        emptied: Accept an empty source, which was emptied on purpose.

    Raises:
        TooManyJobs: The user has too many unfinished background jobs.
    """
    Collection.objects.select_for_update(no_key=True).get(pk=collection.pk)
    running = syncs_of(found.name).unfinished().first()
    if running is not None:
        if emptied:
            running.arguments = {**running.arguments, "emptied": True}
            running.save(update_fields=["arguments"])
        return running
    if background:
        check_job_quota()
    job = Job.objects.create(
        kind=Job.Kind.SOURCE,
        collection=collection,
        arguments={"source": found.name, "emptied": emptied},
        is_background=background,
    )
    if background:
        enqueue_job(job.pk)
    return job


def syncs_of(name: str) -> JobQuerySet:
    """Return the jobs of a source, newest first."""
    return Job.objects.filter(kind=Job.Kind.SOURCE, arguments__source=name)


def list_versions(source: Source) -> dict[str, str]:
    """Return the version of each entry by its URI.

    Raises:
        SourceUnavailable: It cannot be listed, or lists URIs that cannot be stored.
    """
    versions: dict[str, str] = {}
    for entry in source.list_entries():
        if not 0 < len(entry.uri) <= MAX_URI_CHARS or not is_storable(entry.uri):
            raise SourceUnavailable("The source lists a URL that cannot be stored.")
        versions[entry.uri] = entry.version
    return versions


class Planned(NamedTuple):
    """An entry with its document, and its result if that is known."""

    uri: str
    document_id: UUID | None
    result: ItemResult | None


class _Known(NamedTuple):
    """The columns of a document that show whether its entry has changed."""

    document: Document
    version: str
    attachment_ids: tuple[str, ...]


def plan_entries(
    found: SourceSettings,
    collection: Collection,
    versions: Mapping[str, str],
    *,
    may_be_empty: bool,
) -> list[Planned]:
    """Return for each entry whether it must be read, changed entries before new ones.

    In this order, content that moved from one entry to another is released before it is read.

    Raises:
        SourceUnavailable: The source is empty, but was not before.
    """
    known = _known_entries(found.name, collection)
    if not versions and known and not may_be_empty:
        raise SourceUnavailable(
            f"{found.name} has nothing now, as one has that another account is asked for: its"
            f" documents ({len(known)}) stay. If it was emptied on purpose: manage.py sync_source"
            f" {found.name} --emptied"
        )
    fingerprint = ingest_fingerprint(collection, tags=found.tags)
    missing = _missing_attachments(known.values(), versions)
    planned = []
    for uri, version in versions.items():
        before = known.get(uri)
        is_same = before is not None and before.version == version
        if before is None or not is_same or missing.intersection(before.attachment_ids):
            planned.append(Planned(uri, before.document.pk if before else None, None))
        else:
            document = before.document
            result = known_result(document.file_hash, document, fingerprint)
            planned.append(Planned(uri, document.pk, result))
    return sorted(planned, key=lambda each: each.document_id is None)


def _known_entries(name: str, collection: Collection) -> dict[str, _Known]:
    rows = documents_of(name, collection_id=collection.pk).only(
        "source_uri", "file_hash", "settings_sha256", "status", "error", "chunk_count", "metadata"
    )
    known = {}
    for row in rows.iterator():
        source_ref = source_ref_of(row.metadata)
        if source_ref["entry"] == row.source_uri:
            listed = row.metadata.get("attachments")
            carried = [each for each in listed if isinstance(each, dict)] if listed else []
            attachment_ids = tuple(
                str(each["document_id"]) for each in carried if "document_id" in each
            )
            known[row.source_uri] = _Known(row, source_ref["version"], attachment_ids)
            row.metadata = {}
    return known


def _missing_attachments(known: Iterable[_Known], versions: Mapping[str, str]) -> set[str]:
    """Return the ids of documents of attachments that are deleted, or will be."""
    wanted = {each for before in known for each in before.attachment_ids}
    rows = Document.objects.filter(pk__in=wanted).values_list("pk", "metadata")
    there = {
        str(pk)
        for pk, metadata in rows
        if not (entry := source_ref_of(metadata)["entry"]) or entry in versions
    }
    return wanted - there


@transaction.atomic
def _create_items(job: Job, batch: Iterable[Planned]) -> None:
    locked = Job.objects.select_for_update(no_key=True).get(pk=job.pk)
    by_uri = {planned.uri: planned for planned in batch}
    # Already listed before an interruption.
    for uri in locked.items.filter(path__in=by_uri).values_list("path", flat=True):
        del by_uri[uri]
    items = [
        new_item(uri, planned.result, job=locked, document_id=planned.document_id)
        for uri, planned in by_uri.items()
    ]
    JobItem.objects.bulk_create(items)
    count_listed(locked, items)


def _mirror(item: JobItem, found: SourceSettings) -> Mirror:
    job = item.job
    return Mirror(
        source=found.name,
        collection=job.collection,
        fingerprint=ingest_fingerprint(job.collection, tags=found.tags),
        tags=found.tags,
        is_listed=lambda uri: job.items.filter(path=uri).exists(),
        on_embedding=lambda: JobItem.objects.reached(item.pk, JobItem.Stage.EMBEDDING),
    )


@transaction.atomic
def _give_up_rest(item: JobItem, reason: str) -> None:
    """Fail the pending items of a job whose source does not answer."""
    job = Job.objects.select_for_update(no_key=True).get(pk=item.job_id)
    count = (
        job.items.pending()
        .exclude(pk=item.pk)
        .update(
            status=JobItem.Status.FAILED,
            outcome=Outcome.FAILED,
            reason=reason,
            ended_at=timezone.now(),
        )
    )
    Job.objects.filter(pk=job.pk).update(failed=F("failed") + count)


def find_deleted_entries(job: Job) -> Iterator[tuple[UUID, str]]:
    """Yield documents, with their URIs, whose entries the source does not list any more.

    The source is listed again first: the first listing may have missed an entry between pages.
    """
    seen = set(job.items.values_list("key", flat=True))
    gone = list(_documents_without(seen, job.arguments["source"], job.collection_id))
    if not gone:
        return
    opened = _open(job)
    versions = list_versions(opened.source)
    if not versions and not job.arguments["emptied"]:
        raise SourceUnavailable(f"{opened.settings.name} has nothing now.")
    yield from ((pk, uri) for pk, uri, entry in gone if entry not in versions)


def _documents_without(
    entries: set[str], name: str, collection_id: int
) -> Iterator[tuple[UUID, str, str]]:
    rows = documents_of(name, collection_id=collection_id)
    for pk, uri, metadata in rows.values_list("pk", "source_uri", "metadata"):
        if (entry := source_ref_of(metadata)["entry"]) not in entries:
            yield pk, uri, entry


def _delete_vanished(job: Job) -> None:
    for pk, uri in find_deleted_entries(job):
        remove_document(job, pk, uri, source_uri=uri)


def _open(job: Job) -> _OpenSource:
    """Return the source of a job, which stays open between the job's slices."""
    if job.pk not in _open_sources:
        found = find_source(job.arguments["source"])
        if found is None:
            raise SourceUnavailable(_UNKNOWN)
        while len(_open_sources) >= MAX_OPENED:
            _close(next(iter(_open_sources)))
        _open_sources[job.pk] = _OpenSource(found, open_source(found))
    return _open_sources[job.pk]


def _close(job_id: UUID) -> None:
    opened = _open_sources.pop(job_id, None)
    if opened is not None:
        opened.source.close()
