"""Ingest files and sync folders.

New and changed files become pending items; items of unchanged files have ended when listed.
"""

import stat
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet, Value
from django.db.models.functions import MD5

from corpus.errors import CollectionNotFound, PkbError
from corpus.ingestion.decisions import Action, KnownDocument, decide, failed_result
from corpus.ingestion.file_scan import (
    FileStillChanging,
    FoundFile,
    find_files,
    is_empty_folder,
    printable,
    rejection_reason,
)
from corpus.ingestion.file_selection import count_kinds
from corpus.ingestion.file_sync import GONE, FileSync, SyncOptions, ingest_fingerprint
from corpus.ingestion.includes import read_with_includes
from corpus.ingestion.outcomes import ItemResult, Outcome
from corpus.ingestion.placeholders import mark_failed, new_placeholder
from corpus.jobs.kinds.job_kind import start_job
from corpus.jobs.kinds.mirror_job import MAX_STARTS, MirrorKind, PlannedEntry, StaleDocument
from corpus.models import Collection, Document, Installation, Job, JobItem
from corpus.roots.allowed import is_allowed
from corpus.roots.file_systems import filter_unmounted
from corpus.roots.safe_open import OUTSIDE, is_folder, read_mode
from corpus.roots.shown_paths import shown_path
from corpus.sources.source import Entry

# The kind of waiting files in the counts of skipped files.
BEING_WRITTEN = "being written"
_FORBIDDEN = "Its folder is not allowed any more."


class SyncKind(MirrorKind):
    """An item is a file."""

    def refuse(self, job: Job) -> str:
        """Return why a sync must not start, such as a missing folder, which may be unmounted."""
        options = SyncOptions.from_json(job.arguments)
        if not all(path.is_relative_to(options.root or "/") for path in options.named):
            return OUTSIDE
        for path in options.named:
            mode = _mode(path, root=options.allowed_root or path.parent)
            if not _may_read(options) or mode is None or stat.S_ISLNK(mode):
                return f"There is no {shown_path(str(path))}."
        if job.start_count > MAX_STARTS:
            return "Listing the files was broken off again and again."
        for folder in options.guarded_folders:
            below = Document.objects.filter(collection_id=job.collection_id).below(folder.as_uri())
            count = below.exclude(file_path="").count()
            if count and is_empty_folder(folder, root=options.allowed_root or folder):
                return (
                    f"{shown_path(str(folder))} is empty, as a folder is that is not mounted: its"
                    f" documents ({count}) stay. If it was emptied on purpose, sync it once by"
                    " hand."
                )
        return ""

    def plan(self, job: Job) -> Iterator[list[PlannedEntry]]:
        options = SyncOptions.from_json(job.arguments)
        skipped: Counter[str] = Counter()
        written = 0
        files = find_files(
            options.named, root=options.allowed_root, selection=options.selection, skipped=skipped
        )
        while batch := [inspect_file(each, options) for each in islice(files, options.batch_size)]:
            yield _plan_batch(job, options, [each for each in batch if not each.is_written])
            written += sum(each.is_written for each in batch)
        counts = {**count_kinds(skipped), **({BEING_WRITTEN: written} if written else {})}
        Job.objects.filter(pk=job.pk).update(skipped=counts)

    def run(self, item: JobItem) -> ItemResult:
        options = SyncOptions.from_json(item.job.arguments)
        if not _may_read(options):
            self.give_up(item, _FORBIDDEN)
            return ItemResult(Outcome.FAILED, reason=_FORBIDDEN)
        sync = FileSync(
            item.job.collection,
            options,
            on_embedding=lambda: JobItem.objects.reached(item.pk, JobItem.Stage.EMBEDDING),
        )
        try:
            return sync.sync(Path(item.path))
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

    def find_stale_documents(self, job: Job) -> Iterator[StaleDocument]:
        options = SyncOptions.from_json(job.arguments)
        for stale in find_deleted_files(options, collection_id=job.collection_id):
            path = Path(stale.name)
            # If the job listed it, or failed to list a folder above it, it went meanwhile,
            # perhaps by a rename: the next sync handles it.
            keys = [MD5(Value(str(each))) for each in (path, *path.parents)]
            if not job.items.alias(hashed=MD5("key")).filter(hashed__in=keys).exists():
                yield stale


@transaction.atomic
def start_sync(collection: Collection, options: SyncOptions, *, background: bool = True) -> Job:
    """Create a job that ingests files; workers run it if ``background`` is set.

    Raises:
        PathIngestionOff: Another host stores the files that workers read.
        TooManyJobs: The user has too many unfinished background jobs.
    """
    if background:
        Installation.objects.require_files_here()
    return start_job(Job.Kind.SYNC, collection.pk, options.to_json(), background=background)


def _may_read(options: SyncOptions) -> bool:
    root = options.allowed_root
    return root is None or is_allowed(root)


def _mode(path: Path, *, root: Path) -> int | None:
    """Return the mode of a file: None if it is missing, 0 if that cannot be read."""
    try:
        return read_mode(path, root=root)
    except GONE:
        return None
    except OSError:
        return 0


@dataclass(frozen=True, slots=True)
class ListedFile(Entry):
    """A file with its hash as version, or a file or folder that cannot be read.

    Attributes:
        has_document: Whether its failure is stored as a document.
        is_written: It is still being written and waits for the next sync.
    """

    path: Path = Path()
    size_bytes: int = 0
    has_document: bool = True
    is_written: bool = False


def inspect_file(file: FoundFile, options: SyncOptions) -> ListedFile:
    """Read and hash a file."""
    path = printable(file.path)
    uri = path.as_uri()
    if file.error is not None:
        return ListedFile(uri, "", file.error, path, has_document=False)
    try:
        # Only the hash is returned: the bytes of a batch could fill the memory.
        content = read_with_includes(
            file.path,
            root=options.root_of(file.path),
            max_bytes=settings.PKB_MAX_FILE_BYTES,
            quiet_s=options.quiet_s,
        )
    except FileStillChanging:
        return ListedFile(uri, "", None, path, is_written=True)
    except (PkbError, OSError) as exc:
        has_document = not isinstance(exc, GONE) and not rejection_reason(file.path)
        return ListedFile(uri, "", exc, path, has_document=has_document)
    return ListedFile(uri, content.file_hash, None, path, len(content.content))


def _plan_batch(job: Job, options: SyncOptions, batch: list[ListedFile]) -> list[PlannedEntry]:
    known = known_documents(job.collection_id, batch)
    new_hashes = [listed.version for listed in batch if listed.uri not in known]
    twins = Document.objects.of_file(*new_hashes, collection_id=job.collection_id)
    stored_hashes = set(twins.values_list("file_hash", flat=True))
    fingerprint = ingest_fingerprint(job.collection, tags=options.tags)
    planned = []
    for listed in batch:
        decision = decide(
            listed, known.get(listed.uri), fingerprint=fingerprint, force=options.force
        )
        placeholder = new_placeholder(
            listed.path, collection_id=job.collection_id, source=options.source
        )
        is_shown = listed.uri not in known and listed.version not in stored_hashes
        if decision.action == Action.FAIL:
            is_shown = listed.has_document
            placeholder.status, placeholder.error = Document.Status.FAILED, decision.result.reason
        placeholder.size_bytes = listed.size_bytes
        planned.append(PlannedEntry(str(listed.path), decision, placeholder if is_shown else None))
    return planned


def known_documents(collection_id: int, batch: Iterable[ListedFile]) -> dict[str, KnownDocument]:
    """Return what is known of the files, by URI."""
    rows = Document.objects.filter(
        collection_id=collection_id, source_uri__in=[listed.uri for listed in batch]
    )
    columns = (
        "source_uri", "file_hash", "settings_sha256", "status", "error", "chunk_count",
        "content_sha256",
    )  # fmt: skip
    return {row.source_uri: KnownDocument.of(row) for row in rows.only(*columns)}


def find_deleted_files(options: SyncOptions, *, collection_id: int) -> Iterator[StaleDocument]:
    """Yield the documents whose files are missing in the synced folder, with their paths."""
    for folder in options.named if options.mirror else []:
        root = options.allowed_root or folder
        below = Document.objects.filter(collection_id=collection_id).below(folder.as_uri())
        rows = below.exclude(file_path="").values_list("pk", "source_uri", "file_path")
        for document_id, uri, file_path in list(rows):
            path = Path(file_path)
            # Each file is checked again now: an unreadable file is not missing.
            if not is_folder(folder, root=root) or _mode(path, root=root) is not None:
                continue
            # Emptied or unmounted since the files were listed.
            if folder in options.guarded_folders and is_empty_folder(folder, root=root):
                return
            if not any(path.is_relative_to(each) for each in filter_unmounted(options.mounts)):
                yield StaleDocument(document_id, uri, file_path)
