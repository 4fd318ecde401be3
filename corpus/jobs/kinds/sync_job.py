"""Ingest files and sync folders.

New and changed files become pending items; items of unchanged files have ended when listed.
"""

import stat
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from django.db import transaction
from django.db.models import QuerySet, Value
from django.db.models.functions import MD5

from corpus.errors import CollectionNotFound
from corpus.ingestion.file_scan import is_empty_folder
from corpus.ingestion.folder_mirror import FolderMirror, SyncOptions, find_mode
from corpus.ingestion.mirror import StaleDocument
from corpus.ingestion.outcomes import ItemResult, Outcome
from corpus.jobs.kinds.job_kind import start_job
from corpus.jobs.kinds.mirror_job import MAX_STARTS, MirrorKind
from corpus.models import Collection, Document, Installation, Job, JobItem
from corpus.roots.allowed import is_allowed
from corpus.roots.safe_open import OUTSIDE
from corpus.roots.shown_paths import shown_path

_FORBIDDEN = "Its folder is not allowed any more."


class SyncKind(MirrorKind):
    """An item is a file; if the embedder fails, the next sync tries it again."""

    raised = (CollectionNotFound,)

    def refuse(self, job: Job) -> str:
        """Return why a sync must not start, such as a missing folder, which may be unmounted."""
        options = SyncOptions.from_json(job.arguments)
        if not all(path.is_relative_to(options.root or "/") for path in options.named):
            return OUTSIDE
        for path in options.named:
            mode = find_mode(path, root=options.allowed_root or path.parent)
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

    def mirror(self, job: Job, item: JobItem | None = None) -> FolderMirror:
        options = SyncOptions.from_json(job.arguments)
        on_embedding = item.begin_embedding if item else lambda: None
        return FolderMirror(job.collection, options, on_embedding=on_embedding)

    def run(self, item: JobItem) -> ItemResult:
        if not _may_read(SyncOptions.from_json(item.job.arguments)):
            self.give_up(item, _FORBIDDEN)
            return ItemResult(Outcome.FAILED, reason=_FORBIDDEN)
        return super().run(item)

    def give_up(self, item: JobItem, reason: str) -> None:
        self.mirror(item.job).store_failure(Path(item.path), reason)

    def documents(self, job: Job, items: "QuerySet[JobItem]") -> "QuerySet[Document]":
        return Document.objects.filter(
            collection_id=job.collection_id, file_path__in=items.values("path")
        )

    def find_stale_documents(self, job: Job) -> Iterator[StaleDocument]:
        for stale in super().find_stale_documents(job):
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
    return start_job(Job.Kind.SYNC, collection.pk, asdict(options), background=background)


def _may_read(options: SyncOptions) -> bool:
    root = options.allowed_root
    return root is None or is_allowed(root)
