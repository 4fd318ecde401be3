"""Jobs that ingest uploaded files."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile

from corpus.errors import InvalidInput, UnreadableFile
from corpus.ingestion.folder_mirror import SyncOptions
from corpus.ingestion.packed_files import NESTED, PackedFiles, is_packed
from corpus.ingestion.uploaded_files import delete_upload, save_upload
from corpus.jobs.kinds.sync_job import start_sync
from corpus.models import Collection, Document, Installation, Job
from corpus.roots.shown_paths import uploads_folder
from corpus.user_quotas import check_upload_quota

SOURCE = "upload"


def start_upload(
    files: Iterable["UploadedFile[Any]"],
    *,
    collection: Collection,
    tags: Sequence[str] = (),
    source: str = SOURCE,
) -> Job:
    """Save the files and create a job that ingests them.

    An archive becomes its files, an mbox a file for each thread and attachment.

    Raises:
        InvalidInput: There is no file.
        PathIngestionOff: Another host stores the files.
        NoRoomLeft: The collection's owner has reached a quota.
        TooManyJobs: The user has too many unfinished jobs; no file is saved.
        OSError: The disk is full; no file is saved.
    """
    Installation.objects.require_files_here()
    check_upload_quota(collection)
    paths: list[str] = []
    refused: list[tuple[str, str]] = []
    with ExitStack() as undo:
        for name, parts in _unpack(files, refused):
            path = save_upload(parts, name=name)
            undo.callback(delete_upload, path)
            paths.append(str(path))
        if not paths and not refused:
            raise InvalidInput("No file was sent. Choose at least one.", field="file")
        options = SyncOptions(
            paths=tuple(paths),
            root=str(uploads_folder()),
            source=source,
            tags=tuple(tags),
            apply_routing=True,
            refused=tuple(refused),
        )
        job = start_sync(collection, options)
        undo.pop_all()
    return job


def _unpack(
    files: Iterable["UploadedFile[Any]"], refused: list[tuple[str, str]]
) -> Iterator[tuple[str, Iterable[bytes]]]:
    """Yield name and content of each file; of an archive or mailbox, those of its files.

    Args:
        refused: Gets names and reasons of what an archive holds and cannot be read.
    """
    for file in files:
        name, max_bytes = file.name or "", settings.PKB_MAX_FILE_BYTES
        if not is_packed(name) or (file.size or 0) > max_bytes:
            yield name, file.chunks()
            continue
        content = file.read()
        if not is_packed(name, content):
            yield name, [content]
            continue
        try:
            packed = PackedFiles(content, name=name, max_bytes=max_bytes)
        except UnreadableFile:  # reading it as a document says why
            yield name, [content]
            continue
        if not packed.members:
            refused.append((name, "There is no file in it."))
        for member in packed.members:
            path = f"{name}/{member.name}" if member.name else name
            reason = member.refusal or NESTED * is_packed(member.name)
            try:
                content = b"" if reason else packed.read(member.name)
            except UnreadableFile as error:
                reason = str(error)
            if reason:
                refused.append((path, reason))
            else:
                yield path, [content]


def uploads_of(collection: Collection) -> list[str]:
    """Return the paths of uploads to a collection, except those of documents in others."""
    jobs = Job.objects.filter(collection=collection, kind=Job.Kind.SYNC)
    paths = [path for job in jobs.only("arguments") for path in job.arguments["paths"]]
    uploads = {path for path in paths if Path(path).is_relative_to(uploads_folder())}
    moved = Document.objects.exclude(collection=collection).filter(file_path__in=uploads)
    return sorted(uploads.difference(moved.values_list("file_path", flat=True)))
