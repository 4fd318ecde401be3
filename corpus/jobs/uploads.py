"""Jobs that ingest uploaded files."""

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from django.core.files.uploadedfile import UploadedFile

from corpus.errors import InvalidInput
from corpus.ingestion.folder_mirror import SyncOptions
from corpus.ingestion.uploaded_files import delete_upload, save_upload
from corpus.jobs.kinds.sync_job import start_sync
from corpus.models import Collection, Document, Installation, Job
from corpus.roots.shown_paths import uploads_folder
from corpus.user_quotas import check_upload_quota

SOURCE = "upload"


def start_upload(
    files: Iterable["UploadedFile[Any]"], *, collection: Collection, tags: Sequence[str] = ()
) -> Job:
    """Save the files and create a job that ingests them.

    Raises:
        InvalidInput: There is no file.
        PathIngestionOff: Another host stores the files.
        NoRoomLeft: The collection's owner has reached a quota.
        TooManyJobs: The user has too many unfinished jobs; no file is saved.
        OSError: The disk is full; no file is saved.
    """
    Installation.objects.require_files_here()
    check_upload_quota(collection)
    paths = []
    with ExitStack() as undo:
        for file in files:
            path = save_upload(file.chunks(), name=file.name or "")
            undo.callback(delete_upload, path)
            paths.append(str(path))
        if not paths:
            raise InvalidInput("No file was sent. Choose at least one.", field="file")
        options = SyncOptions(
            paths=tuple(paths),
            root=str(uploads_folder()),
            source=SOURCE,
            tags=tuple(tags),
            apply_routing=True,
        )
        job = start_sync(collection, options)
        undo.pop_all()
    return job


def uploads_of(collection: Collection) -> list[str]:
    """Return the paths of uploads to a collection, except those of documents in others."""
    jobs = Job.objects.filter(collection=collection, kind=Job.Kind.SYNC)
    paths = [path for job in jobs.only("arguments") for path in job.arguments["paths"]]
    uploads = {path for path in paths if Path(path).is_relative_to(uploads_folder())}
    moved = Document.objects.exclude(collection=collection).filter(file_path__in=uploads)
    return sorted(uploads.difference(moved.values_list("file_path", flat=True)))
