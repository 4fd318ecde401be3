"""Files that were sent to be taken in by a job: they stay here as long as their document."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from django.core.files.uploadedfile import UploadedFile

from corpus.errors import InvalidInput
from corpus.ingestion.files import SyncOptions
from corpus.ingestion.sent_files import keep_file
from corpus.jobs.kinds.sync import start_sync
from corpus.models import Collection, Document, Job
from corpus.roots.names import uploads_folder

SOURCE = "upload"


def start_upload(
    files: Iterable["UploadedFile[Any]"], *, collection: Collection, tags: Sequence[str] = ()
) -> Job:
    """Keep the files and make a job that takes them in.

    Raises:
        InvalidInput: There is no file.
    """
    paths = tuple(str(keep_file(file.chunks(), name=file.name or "")) for file in files)
    if not paths:
        raise InvalidInput("No file was sent.", field="file")
    options = SyncOptions(
        paths=paths, root=str(uploads_folder()), source=SOURCE, tags=tuple(tags), place=True
    )
    return start_sync(collection, options)


def uploads_of(collection: Collection) -> list[str]:
    """Return the paths of all that was uploaded to a collection and is not of another one now."""
    jobs = Job.objects.filter(collection=collection, kind=Job.Kind.SYNC)
    paths = [path for job in jobs.only("arguments") for path in job.arguments["paths"]]
    uploads = {path for path in paths if Path(path).is_relative_to(uploads_folder())}
    moved = Document.objects.exclude(collection=collection).filter(file_path__in=uploads)
    return sorted(uploads.difference(moved.values_list("file_path", flat=True)))
