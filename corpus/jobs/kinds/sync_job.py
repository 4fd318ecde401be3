"""Ingest files and sync folders.

New and changed files become pending items; items of unchanged files have ended when listed.
"""

import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet, Value
from django.db.models.functions import MD5

from corpus.errors import CollectionNotFound, PkbError
from corpus.ingestion.file_scan import (
    FileStillChanging,
    FoundFile,
    find_files,
    is_empty_folder,
    printable,
    rejection_reason,
)
from corpus.ingestion.file_selection import count_kinds
from corpus.ingestion.file_sync import (
    GONE,
    SyncOptions,
    failed_result,
    ingest_fingerprint,
    known_result,
    sync_file,
)
from corpus.ingestion.includes import read_with_includes
from corpus.ingestion.outcomes import ItemResult, Outcome
from corpus.ingestion.placeholders import mark_failed, new_placeholder
from corpus.jobs.kinds.items import count_listed, new_item, remove_document
from corpus.jobs.kinds.job_kind import JobKind
from corpus.models import Collection, Document, Installation, Job, JobItem
from corpus.queue import enqueue_job
from corpus.roots.allowed import is_allowed
from corpus.roots.file_systems import filter_unmounted
from corpus.roots.safe_open import OUTSIDE, is_folder, read_mode
from corpus.roots.shown_paths import shown_path
from corpus.user_quotas import check_job_quota

# The kind of waiting files in the counts of skipped files.
BEING_WRITTEN = "being written"
# Attempts to list the files.
MAX_STARTS = 5


class SyncKind(JobKind):
    """An item is a file."""

    stage = Job.Stage.INGESTING

    def refuse(self, job: Job) -> str:
        """Return why a sync must not start, such as a missing folder, which may be unmounted."""
        options = SyncOptions.from_json(job.arguments)
        if not all(path.is_relative_to(options.root or "/") for path in options.named):
            return OUTSIDE
        missing = [path for path in options.named if not _is_there(path, options)]
        if missing:
            return f"There is no {shown_path(str(missing[0]))}."
        if job.start_count > MAX_STARTS:
            return "Listing the files was broken off again and again."
        return _reason_to_keep_all(options, collection_id=job.collection_id)

    def list_items(self, job: Job, *, should_stop: Callable[[], bool]) -> None:
        plan_sync(job, should_stop=should_stop)

    def run(self, item: JobItem) -> ItemResult:
        options = SyncOptions.from_json(item.job.arguments)
        if not _may_read(options):
            self.give_up(item, _FORBIDDEN)
            return ItemResult(Outcome.FAILED, reason=_FORBIDDEN)
        try:
            return sync_file(
                Path(item.path),
                collection=item.job.collection,
                options=options,
                on_embedding=lambda: JobItem.objects.reached(item.pk, JobItem.Stage.EMBEDDING),
            )
        except CollectionNotFound:
            raise
        except (PkbError, OSError) as exc:
            return failed_result(exc)

    def give_up(self, item: JobItem, reason: str) -> None:
        mark_failed(
            Path(item.path),
            collection_id=item.job.collection_id,
            source=item.job.arguments.get("source", ""),
            reason=reason,
        )

    def documents(self, job: Job, items: "QuerySet[JobItem]") -> "QuerySet[Document]":
        return Document.objects.filter(
            collection_id=job.collection_id, file_path__in=items.values("path")
        )

    def finish(self, job: Job) -> None:
        delete_vanished(job)


@transaction.atomic
def start_sync(collection: Collection, options: SyncOptions, *, background: bool = True) -> Job:
    """Create a job that ingests files; workers run it if ``background`` is set.

    Raises:
        PathIngestionOff: Another host stores the files that workers read.
        TooManyJobs: The user has too many unfinished background jobs.
    """
    if background:
        Installation.objects.require_files_here()
        check_job_quota()
    job = Job.objects.create(
        kind=Job.Kind.SYNC,
        collection=collection,
        arguments=options.to_json(),
        is_background=background,
    )
    if background:
        enqueue_job(job.pk)
    return job


_FORBIDDEN = "Its folder is not allowed any more."


def _may_read(options: SyncOptions) -> bool:
    root = options.allowed_root
    return root is None or is_allowed(root)


def _is_there(path: Path, options: SyncOptions) -> bool:
    if not _may_read(options):
        return False
    try:
        mode = read_mode(path, root=options.allowed_root or path.parent)
    except GONE:
        return False
    except OSError:
        # Not permitted.
        return True
    return not stat.S_ISLNK(mode)


def _reason_to_keep_all(options: SyncOptions, *, collection_id: int) -> str:
    """Return why documents of missing files stay; empty if they are deleted."""
    for folder in _protected_folders(options):
        below = Document.objects.filter(collection_id=collection_id).below(folder.as_uri())
        if (count := below.exclude(file_path="").count()) and _is_empty(folder, options):
            return (
                f"{shown_path(str(folder))} is empty, as a folder is that is not mounted: its"
                f" documents ({count}) stay. If it was emptied on purpose, sync it once by hand."
            )
    return ""


def _protected_folders(options: SyncOptions) -> list[Path]:
    return options.named if options.mirror and options.quiet_s else []


def _is_empty(folder: Path, options: SyncOptions) -> bool:
    return is_empty_folder(folder, root=options.allowed_root or folder)


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file with its hash, or a file or folder that cannot be read.

    Attributes:
        has_document: Whether its failure is stored as a document.
        is_written: It is still being written and waits for the next sync.
    """

    path: Path
    file_hash: str = ""
    size_bytes: int = 0
    failure: ItemResult | None = None
    has_document: bool = True
    is_written: bool = False


def plan_sync(job: Job, *, should_stop: Callable[[], bool]) -> None:
    """Create an item for every file, and a pending document for every new one.

    May be interrupted and started again.
    """
    options = SyncOptions.from_json(job.arguments)
    skipped: Counter[str] = Counter()
    written = 0
    files = find_files(
        options.named, root=options.allowed_root, selection=options.selection, skipped=skipped
    )
    while not should_stop():
        batch = [inspect_file(found, options) for found in islice(files, options.batch_size)]
        _plan_batch(job, options, [listed for listed in batch if not listed.is_written])
        written += sum(listed.is_written for listed in batch)
        if len(batch) < options.batch_size:
            break
    else:
        return
    waiting = {BEING_WRITTEN: written} if written else {}
    Job.objects.filter(pk=job.pk).update(
        is_listed=True, skipped={**count_kinds(skipped), **waiting}
    )


def inspect_file(found: FoundFile, options: SyncOptions) -> ListedFile:
    """Read and hash a file."""
    path = printable(found.path)
    if found.error is not None:
        return ListedFile(path, failure=failed_result(found.error), has_document=False)
    try:
        # Only the hash is returned: the bytes of a batch could fill the memory.
        file = read_with_includes(
            found.path,
            root=options.root_of(found.path),
            max_bytes=settings.PKB_MAX_FILE_BYTES,
            quiet_s=options.quiet_s,
        )
    except FileStillChanging:
        return ListedFile(path, is_written=True)
    except (PkbError, OSError) as exc:
        has_document = not isinstance(exc, GONE) and not rejection_reason(found.path)
        return ListedFile(path, failure=failed_result(exc), has_document=has_document)
    return ListedFile(file.path, file.file_hash, len(file.content))


@transaction.atomic
def _plan_batch(job: Job, options: SyncOptions, batch: list[ListedFile]) -> None:
    locked = Job.objects.select_for_update(no_key=True).get(pk=job.pk)
    by_path = {str(listed.path): listed for listed in batch}
    # Already listed before an interruption.
    for path in locked.items.filter(path__in=by_path).values_list("path", flat=True):
        del by_path[path]
    fresh = list(by_path.values())
    known = known_documents(job.collection_id, fresh)
    fingerprint = ingest_fingerprint(job.collection, tags=options.tags)
    items = [
        _item(job, listed, None if options.force else known.get(listed.path.as_uri()), fingerprint)
        for listed in fresh
    ]
    if not job.is_background:
        _copy_attempts(job, items)
    JobItem.objects.bulk_create(items)
    _show_new(job, options, [listed for listed in fresh if listed.path.as_uri() not in known])
    for listed in fresh:
        if listed.failure and listed.has_document:
            mark_failed(
                listed.path,
                collection_id=job.collection_id,
                source=options.source,
                reason=listed.failure.reason,
            )
    count_listed(locked, items)


def known_documents(collection_id: int, batch: Iterable[ListedFile]) -> dict[str, Document]:
    """Return the documents of the files, by URI."""
    rows = Document.objects.filter(
        collection_id=collection_id, source_uri__in=[listed.path.as_uri() for listed in batch]
    )
    shown = rows.only(
        "source_uri",
        "file_hash",
        "settings_sha256",
        "status",
        "error",
        "chunk_count",
        "content_sha256",
    )
    return {row.source_uri: row for row in shown}


def _item(job: Job, listed: ListedFile, known: Document | None, fingerprint: str) -> JobItem:
    result = listed.failure or known_result(listed.file_hash, known, fingerprint)
    return new_item(str(listed.path), result, job=job, document_id=known.pk if known else None)


def _copy_attempts(job: Job, items: list[JobItem]) -> None:
    """Copy attempts from the last cancelled command, so that killer files are quarantined."""
    again = Job.objects.filter(
        collection_id=job.collection_id,
        arguments=job.arguments,
        is_background=False,
        status=Job.Status.CANCELLED,
    )
    before = again.order_by("-created_at").first()
    if before is None:
        return
    begun = before.items.pending().filter(path__in=[item.path for item in items], attempts__gt=0)
    attempts = dict(begun.values_list("path", "attempts"))
    for item in items:
        item.attempts = attempts.get(item.path, 0)


def _show_new(job: Job, options: SyncOptions, new: list[ListedFile]) -> None:
    """Create pending documents, except for files whose content another document has."""
    hashes = [listed.file_hash for listed in new]
    same = Document.objects.of_file(*hashes, collection_id=job.collection_id)
    there = set(same.values_list("file_hash", flat=True))
    pending = [
        new_placeholder(
            listed.path,
            collection_id=job.collection_id,
            source=options.source,
            size_bytes=listed.size_bytes,
        )
        for listed in new
        if not listed.failure and listed.file_hash not in there
    ]
    Document.objects.bulk_create(pending, ignore_conflicts=True)


def delete_vanished(job: Job) -> None:
    """Delete the documents of files that are missing in the synced folder."""
    options = SyncOptions.from_json(job.arguments)
    for pk, path in find_deleted_files(options, collection_id=job.collection_id):
        _remove(job, pk, path)


def find_deleted_files(options: SyncOptions, *, collection_id: int) -> Iterator[tuple[UUID, str]]:
    """Yield documents, with their paths, whose files are missing in the synced folder."""
    for folder in options.named if options.mirror else []:
        root = options.allowed_root or folder
        below = Document.objects.filter(collection_id=collection_id).below(folder.as_uri())
        for pk, path in list(below.exclude(file_path="").values_list("pk", "file_path")):
            # Each file is checked again now: an unreadable file is not missing.
            if not is_folder(folder, root=root) or not _is_gone(Path(path), root=root):
                continue
            # Emptied or unmounted since the files were listed.
            if folder in _protected_folders(options) and _is_empty(folder, options):
                return
            if not any(
                Path(path).is_relative_to(each) for each in filter_unmounted(options.mounts)
            ):
                yield pk, path


def _is_gone(path: Path, *, root: Path) -> bool:
    try:
        read_mode(path, root=root)
    except GONE:
        return True
    except OSError:
        return False
    return False


@transaction.atomic
def _remove(job: Job, document_id: UUID, path: str) -> None:
    # It vanished during the listing, perhaps by a rename: the next sync handles it.
    if _has_seen(job, Path(path)):
        return
    remove_document(job, document_id, path, file_path=path)


def _has_seen(job: Job, path: Path) -> bool:
    """Return whether the job listed the file, or failed to list a folder above it."""
    keys = [MD5(Value(str(each))) for each in (path, *path.parents)]
    return job.items.alias(hashed=MD5("key")).filter(hashed__in=keys).exists()
