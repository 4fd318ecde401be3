"""Files that were sent to be taken in by a job: they stay here as long as their document."""

import re
import shutil
import uuid
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from django.core.files.uploadedfile import UploadedFile

from corpus.errors import InvalidInput
from corpus.ingestion.files import SyncOptions
from corpus.jobs.kinds.sync import start_sync
from corpus.models import Collection, Document, Job
from corpus.roots.names import uploads_folder

SOURCE = "upload"
# File systems take names of 255 bytes.
MAX_NAME_BYTES = 200
MAX_ENDING_CHARS = 10
_UNFIT = re.compile(r"[\x00-\x1f\x7f/\\]+")


def start_upload(
    files: Iterable["UploadedFile[Any]"], *, collection: Collection, tags: Sequence[str] = ()
) -> Job:
    """Keep the files and make a job that takes them in.

    Raises:
        InvalidInput: There is no file.
    """
    paths = tuple(str(_keep(file)) for file in files)
    if not paths:
        raise InvalidInput("No file was sent.", field="file")
    options = SyncOptions(paths=paths, root=str(uploads_folder()), source=SOURCE, tags=tuple(tags))
    return start_sync(collection, options)


def drop_upload(file_path: str) -> None:
    """Remove a file that was uploaded; one that is from elsewhere stays."""
    path = Path(file_path)
    if path.is_relative_to(uploads_folder()) and path.parent != uploads_folder():
        shutil.rmtree(path.parent, ignore_errors=True)


def uploads_of(collection: Collection) -> list[str]:
    """Return the paths of all that was uploaded to a collection and is not of another one now."""
    jobs = Job.objects.filter(collection=collection, kind=Job.Kind.SYNC)
    paths = [path for job in jobs.only("arguments") for path in job.arguments["paths"]]
    uploads = {path for path in paths if Path(path).is_relative_to(uploads_folder())}
    moved = Document.objects.exclude(collection=collection).filter(file_path__in=uploads)
    return sorted(uploads.difference(moved.values_list("file_path", flat=True)))


def _keep(file: "UploadedFile[Any]") -> Path:
    """A folder for each: files of one name do not replace each other."""
    path = uploads_folder() / uuid.uuid4().hex / _fit_name(file.name or "")
    uploads_folder().mkdir(mode=0o700, parents=True, exist_ok=True)
    path.parent.mkdir(mode=0o700)
    path.touch(mode=0o600)
    with path.open("wb") as kept:
        for part in file.chunks():
            kept.write(part)
    return path


def _fit_name(name: str) -> str:
    """Return the name as one that any file system takes, its ending kept."""
    fit = _UNFIT.sub("_", name).strip(". ") or "file"
    stem, dot, ending = fit.rpartition(".")
    if not dot or len(ending) > MAX_ENDING_CHARS:
        stem, ending = fit, ""
    room = MAX_NAME_BYTES - len(ending.encode()) - 1
    short = stem.encode(errors="replace")[:room].decode(errors="ignore")
    return f"{short}.{ending}" if ending else short
