"""Jobs that ingest uploaded files."""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile

from corpus.errors import InvalidInput, TooLarge, UnreadableFile
from corpus.ingestion.folder_mirror import SyncOptions
from corpus.ingestion.uploaded_files import delete_upload, save_upload
from corpus.jobs.kinds.sync_job import start_sync
from corpus.models import Collection, Document, Installation, Job
from corpus.roots.shown_paths import uploads_folder
from corpus.sources.mail.folder import MailSource
from corpus.sources.mail.mbox import MBOX_BEGIN, Mbox
from corpus.user_quotas import check_upload_quota

SOURCE = "upload"
# Each is a file of its own. A larger mailbox is better a source, which is read again as it grows.
MAX_MBOX_FILES = 2_000


def start_upload(
    files: Iterable["UploadedFile[Any]"], *, collection: Collection, tags: Sequence[str] = ()
) -> Job:
    """Save the files and create a job that ingests them; an mbox becomes a file for each thread.

    Raises:
        InvalidInput: There is no file, or too many threads and attachments are in an mbox.
        PathIngestionOff: Another host stores the files.
        NoRoomLeft: The collection's owner has reached a quota.
        TooManyJobs: The user has too many unfinished jobs; no file is saved.
        OSError: The disk is full; no file is saved.
    """
    Installation.objects.require_files_here()
    check_upload_quota(collection)
    paths = []
    with ExitStack() as undo:
        for name, parts in _split_mailboxes(files):
            path = save_upload(parts, name=name)
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


def _split_mailboxes(
    files: Iterable["UploadedFile[Any]"],
) -> Iterator[tuple[str, Iterable[bytes]]]:
    """Yield name and content of each file; of an mbox, those of its threads and attachments."""
    for file in files:
        name = file.name or ""
        begin = file.read(len(MBOX_BEGIN))
        file.seek(0)
        if not name.lower().endswith(".mbox") or begin != MBOX_BEGIN:
            yield name, file.chunks()
            continue
        with TemporaryDirectory() as folder:
            path = Path(folder) / "upload.mbox"
            with path.open("wb") as copy:
                copy.writelines(file.chunks())
            # A mailbox that changed just now would count as still being written.
            os.utime(path, (0, 0))
            yield from _read_mbox(path)


def _read_mbox(path: Path) -> Iterator[tuple[str, list[bytes]]]:
    """Yield the threads and attachments of an mbox, as a mail source reads them.

    Messages that are damaged or too large are left out.
    """
    source = MailSource(Mbox("upload", path), max_bytes=settings.PKB_MAX_FILE_BYTES)
    count = 0
    for entry in list(source.list_entries()):
        with suppress(UnreadableFile, TooLarge):
            thread = source.read(entry.uri)
            files = [(f"{thread.part.title or 'Mail'}.eml", thread.part.content)]
            files += [(each.filename, each.content) for each in thread.attached_files.values()]
            count += len(files)
            if count > MAX_MBOX_FILES:
                raise InvalidInput(
                    f"{MAX_MBOX_FILES:,} threads and attachments of an mbox are allowed."
                    " Add a larger one as a source.",
                    field="file",
                )
            for name, content in files:
                yield name, [content]


def uploads_of(collection: Collection) -> list[str]:
    """Return the paths of uploads to a collection, except those of documents in others."""
    jobs = Job.objects.filter(collection=collection, kind=Job.Kind.SYNC)
    paths = [path for job in jobs.only("arguments") for path in job.arguments["paths"]]
    uploads = {path for path in paths if Path(path).is_relative_to(uploads_folder())}
    moved = Document.objects.exclude(collection=collection).filter(file_path__in=uploads)
    return sorted(uploads.difference(moved.values_list("file_path", flat=True)))
