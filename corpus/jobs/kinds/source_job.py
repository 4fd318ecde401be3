"""Sync a collection with a source of ``PKB_SOURCES``."""

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from corpus.characters import is_storable
from corpus.errors import BackendError, CollectionNotFound, NoRoomLeft, PkbError, SourceUnavailable
from corpus.ingestion.decisions import KnownDocument, decide, failed_result
from corpus.ingestion.file_scan import MAX_URI_CHARS, error_reason
from corpus.ingestion.file_sync import ingest_fingerprint
from corpus.ingestion.outcomes import ItemResult, Outcome
from corpus.ingestion.source_sync import EntrySync, documents_of, source_ref_of
from corpus.jobs.kinds.job_kind import set_result, start_job
from corpus.jobs.kinds.mirror_job import MAX_STARTS, MirrorKind, PlannedEntry, StaleDocument
from corpus.models import Collection, Document, Job, JobItem
from corpus.models.job import JobQuerySet
from corpus.sources.source import Entry, Source
from corpus.sources.source_settings import SourceSettings

# Consecutive failed entries after which the rest is not tried.
MAX_FAILURES = 3
# Sources that a process keeps open between the slices of their jobs.
MAX_OPENED = 4
# Entries of one transaction.
BATCH_SIZE = 500
_UNKNOWN = "No source of this name is configured any more."


@dataclass
class _OpenSource:
    """An open source of a job; ``entries`` are those that this process listed, by URI."""

    settings: SourceSettings
    source: Source
    entries: Mapping[str, Entry] = field(default_factory=dict)
    failures: int = 0


_open_sources: dict[UUID, _OpenSource] = {}


class SourceKind(MirrorKind):
    """An item is an entry of a source; its key is the entry's URI.

    No document waits for its item: the old version stays until the new one is stored.
    """

    def refuse(self, job: Job) -> str:
        if job.start_count > MAX_STARTS:
            return "Listing the source was broken off again and again."
        return "" if find_source(job.arguments["source"]) else _UNKNOWN

    def plan(self, job: Job) -> Iterator[list[PlannedEntry]]:
        opened = _open(job)
        opened.entries = list_entries(opened.source)
        planned = plan_entries(
            opened.settings,
            job.collection,
            opened.entries,
            may_be_empty=bool(job.arguments["emptied"]),
        )
        for start in range(0, len(planned), BATCH_SIZE):
            yield planned[start : start + BATCH_SIZE]

    def run(self, item: JobItem) -> ItemResult:
        try:
            opened = _open(item.job)
        except SourceUnavailable as exc:
            return failed_result(exc)
        sync = EntrySync(
            opened.settings.name,
            item.job.collection,
            tags=opened.settings.tags,
            is_listed=lambda uri: item.job.items.filter(path=uri).exists(),
            on_embedding=lambda: JobItem.objects.reached(item.pk, JobItem.Stage.EMBEDDING),
        )
        listed = opened.entries.get(item.key)
        version = listed.version if listed else ""
        try:
            content = opened.source.read(item.key)
            opened.failures, version = 0, content.version
            return sync.sync(item.key, content)
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
            sync.record_rejection(item.key, error_reason(exc), version=version)
            return failed_result(exc)

    def find_stale_documents(self, job: Job) -> Iterator[StaleDocument]:
        """Yield the documents of entries, and their attachments, that the source does not list.

        The source is listed again first: the first listing may have missed an entry between pages.
        """
        name, collection_id = job.arguments["source"], job.collection_id
        listed = set(job.items.values_list("key", flat=True))
        if not any(find_unlisted_documents(name, listed, collection_id=collection_id)):
            return
        opened = _open(job)
        entries = list_entries(opened.source)
        if not entries and not job.arguments["emptied"]:
            raise SourceUnavailable(f"{name} has nothing now.")
        yield from find_unlisted_documents(
            name, listed | entries.keys(), collection_id=collection_id
        )

    def finish(self, job: Job) -> None:
        try:
            self._reread_duplicates(job)
            super().finish(job)
        except SourceUnavailable as exc:
            job.refresh_from_db(fields=["errors"])
            job.add_error(f"Nothing was removed. {error_reason(exc)}")
            job.save(update_fields=["errors"])
        finally:
            _close(job.pk)

    def _reread_duplicates(self, job: Job) -> None:
        """Read duplicates again if the other document has changed since."""
        duplicates = job.items.filter(status=JobItem.Status.DONE, outcome=Outcome.UNCHANGED)
        for item in duplicates.exclude(reason="").select_related("job__collection"):
            holder = Document.objects.filter(pk=str(item.document_id))
            if holder.filter(ingested_at__lt=item.ended_at).exists():
                continue
            result = self.run(item)
            if not result.has_failed:
                set_result(item, result)
                item.save()


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


def open_source(source: SourceSettings) -> Source:
    """Return the source without connecting to it."""
    return source.open(max_bytes=settings.PKB_MAX_FILE_BYTES)


def syncs_of(name: str) -> JobQuerySet:
    """Return the jobs of a source, newest first."""
    return Job.objects.filter(kind=Job.Kind.SOURCE, arguments__source=name)


def list_entries(source: Source) -> dict[str, Entry]:
    """Return the entries by URI.

    Raises:
        SourceUnavailable: The source cannot be listed, or lists URIs that cannot be stored.
    """
    entries: dict[str, Entry] = {}
    for entry in source.list_entries():
        if not 0 < len(entry.uri) <= MAX_URI_CHARS or not is_storable(entry.uri):
            raise SourceUnavailable("The source lists a URL that cannot be stored.")
        entries[entry.uri] = entry
    return entries


class _KnownEntry(NamedTuple):
    """The document of an entry, and the ids of its attachments' documents."""

    document: KnownDocument
    attachment_ids: tuple[str, ...]


def plan_entries(
    source: SourceSettings,
    collection: Collection,
    entries: Mapping[str, Entry],
    *,
    may_be_empty: bool,
) -> list[PlannedEntry]:
    """Return what a sync does with each entry, changed entries before new ones.

    In this order, content that moved from one entry to another is released before it is read.

    Raises:
        SourceUnavailable: The source is empty, but was not before.
    """
    known = _known_entries(source.name, collection)
    if not entries and known and not may_be_empty:
        raise SourceUnavailable(
            f"{source.name} has nothing now, as one has that another account is asked for: its"
            f" documents ({len(known)}) stay. If it was emptied on purpose: manage.py sync_source"
            f" {source.name} --emptied"
        )
    fingerprint = ingest_fingerprint(collection, tags=source.tags)
    missing = _missing_attachments(known.values(), entries)
    planned = []
    for uri, entry in entries.items():
        document, attachment_ids = known.get(uri, (None, ()))
        is_incomplete = not missing.isdisjoint(attachment_ids)
        decision = decide(entry, document, fingerprint=fingerprint, force=is_incomplete)
        planned.append(PlannedEntry(uri, decision))
    return sorted(planned, key=lambda each: each.name not in known)


def find_unlisted_documents(
    name: str, uris: Set[str], *, collection_id: int
) -> list[StaleDocument]:
    """Return a source's documents, also of attachments, whose entry has none of these URIs."""
    rows = documents_of(name, collection_id=collection_id)
    return [
        StaleDocument(pk, uri, uri)
        for pk, uri, metadata in rows.values_list("pk", "source_uri", "metadata")
        if source_ref_of(metadata)["entry"] not in uris
    ]


def _known_entries(name: str, collection: Collection) -> dict[str, _KnownEntry]:
    rows = documents_of(name, collection_id=collection.pk).defer("raw_text", "outline")
    known = {}
    for row in rows.iterator():
        source_ref = source_ref_of(row.metadata)
        if source_ref["entry"] == row.source_uri:
            attachments = row.metadata.get("attachments") or []
            attachment_ids = tuple(
                str(each["document_id"])
                for each in attachments
                if isinstance(each, dict) and "document_id" in each
            )
            document = KnownDocument.of(row, version=source_ref["version"])
            known[row.source_uri] = _KnownEntry(document, attachment_ids)
    return known


def _missing_attachments(known: Iterable[_KnownEntry], entries: Mapping[str, Entry]) -> set[str]:
    """Return the ids of documents of attachments that are deleted, or will be."""
    wanted = {each for before in known for each in before.attachment_ids}
    rows = Document.objects.filter(pk__in=wanted).values_list("pk", "metadata")
    stored = {
        str(pk)
        for pk, metadata in rows
        if not (entry := source_ref_of(metadata)["entry"]) or entry in entries
    }
    return wanted - stored


@transaction.atomic
def _give_up_rest(item: JobItem, reason: str) -> None:
    """Fail the pending items of a job whose source does not answer."""
    job = Job.objects.select_for_update(no_key=True).get(pk=item.job_id)
    rest = job.items.pending().exclude(pk=item.pk)
    count = rest.update(
        status=JobItem.Status.FAILED, outcome=Outcome.FAILED, reason=reason, ended_at=timezone.now()
    )
    Job.objects.filter(pk=job.pk).update(failed=F("failed") + count)


def _open(job: Job) -> _OpenSource:
    """Return the source of a job, which stays open between the job's slices."""
    if job.pk not in _open_sources:
        source = find_source(job.arguments["source"])
        if source is None:
            raise SourceUnavailable(_UNKNOWN)
        while len(_open_sources) >= MAX_OPENED:
            _close(next(iter(_open_sources)))
        _open_sources[job.pk] = _OpenSource(source, open_source(source))
    return _open_sources[job.pk]


def _close(job_id: UUID) -> None:
    opened = _open_sources.pop(job_id, None)
    if opened is not None:
        opened.source.close()
