"""Uploaded files: each has its own folder, and is stored as long as its document.

A file is written before its row, and deleted after it. ``delete_orphaned_uploads`` removes the
files of processes that died in between.
"""

import os
import re
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path
from time import time

from django.db import InterfaceError, OperationalError, transaction
from django.db.models import Q

from corpus.access.principal import SYSTEM, acting_as
from corpus.atomic_files import sync_to_disk
from corpus.models import Collection, Document, DroppedFile, Installation, Job
from corpus.queue import enqueue_file_deletion
from corpus.roots.shown_paths import uploads_folder

# File systems take names of 255 bytes.
MAX_NAME_BYTES = 200
MAX_ENDING_CHARS = 10
# Age of a file without a row: writing the row takes minutes at most.
ORPHAN_AGE_S = 3_600
# Files of one statement; after a kill, so many are checked again.
DROPPED_AT_ONCE = 200
_UNFIT = re.compile(r"[\x00-\x1f\x7f/\\]+")
_PREFIX_CHARS = 8
# The name of an upload's folder, below which a file of an archive has further folders.
_IN_FOLDER = r"/uploads/([0-9a-f]{32})/."


def save_upload(parts: Iterable[bytes], *, name: str) -> Path:
    """Save an uploaded file, readable only by the owner of the process.

    Each file gets its own folder, so that files of the same name do not replace each other. The
    name of a file of an archive has folders.
    Its size is limited by admission before, and by ``read_file`` when a worker reads it.

    Raises:
        OSError: The disk is full; nothing is left of the file.
    """
    own_folder = uploads_folder() / f"{_folder_prefix()}{uuid.uuid4().hex[_PREFIX_CHARS:]}"
    path = own_folder.joinpath(*map(fit_name, name.split("/")))
    uploads_folder().mkdir(mode=0o700, parents=True, exist_ok=True)
    with ExitStack() as undo:
        own_folder.mkdir(mode=0o700)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        undo.callback(delete_upload, path)
        path.touch(mode=0o600)
        with path.open("wb") as file:
            for part in parts:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
        for folder in (path.parent, own_folder, uploads_folder()):
            sync_to_disk(folder)
        undo.pop_all()
    return path


def delete_upload(path: str | Path) -> None:
    """Delete an uploaded file; other files stay."""
    path = Path(path)
    # A path in a file of ``manage.py load`` may contain "..".
    if path.is_relative_to(uploads_folder()) and ".." not in path.parts:
        folder, *names = path.relative_to(uploads_folder()).parts
        if names:
            shutil.rmtree(uploads_folder() / folder, ignore_errors=True)


def folder_of(path: str | Path) -> str:
    """Return the name of the folder of an upload or a ``kept_file``; empty for other files."""
    found = re.search(_IN_FOLDER, f"/uploads/{path}") or re.search(_IN_FOLDER, str(path))
    return found[1] if found else ""


def delete_uploads_on_commit(*paths: str | Path) -> None:
    """Delete uploaded files when the open transaction commits; other files stay.

    If another host stores them, add rows for that host in this transaction.
    """
    uploads = {Path(path) for path in paths if re.search(_IN_FOLDER, str(path))}
    if uploads and Installation.objects.owns_files():
        for path in uploads:
            transaction.on_commit(partial(delete_upload, path))
    elif uploads:
        names = sorted({folder_of(path) for path in uploads})
        with acting_as(SYSTEM):
            DroppedFile.objects.bulk_create(
                [DroppedFile(folder=name) for name in names], ignore_conflicts=True
            )
        transaction.on_commit(enqueue_file_deletion)


def delete_dropped_files(*, should_stop: Callable[[], bool]) -> bool:
    """Delete the files whose documents other hosts have deleted; return whether all are done.

    A row is deleted after its file, so that nothing is lost after a kill; the row of a file that
    cannot be deleted stays.
    """
    if not Installation.objects.owns_files():
        # Another host stores the files by now.
        return True
    own, last = re.compile(_own_folders()), ""
    with acting_as(SYSTEM):
        while not should_stop():
            rows = DroppedFile.objects.filter(folder__gt=last).order_by("folder")
            folders = list(rows.values_list("folder", flat=True)[:DROPPED_AT_ONCE])
            if not folders:
                return True
            ours = [uploads_folder() / folder for folder in folders if own.fullmatch(folder)]
            for folder in ours:
                shutil.rmtree(folder, ignore_errors=True)
            remaining = [folder.name for folder in ours if folder.exists()]
            DroppedFile.objects.filter(pk__in=set(folders).difference(remaining)).delete()
            last = folders[-1]
    return False


@contextmanager
def saved_while_stored(content: bytes, *, name: str) -> Iterator[str]:
    """Save an uploaded file; delete it if the block fails.

    Yields:
        The value of ``Document.kept_file``.
    """
    with ExitStack() as undo:
        path = save_upload([content], name=name)
        undo.callback(delete_upload, path)
        try:
            yield str(path.relative_to(uploads_folder()))
        except (OperationalError, InterfaceError):
            # If the commit was interrupted, the row may exist.
            undo.pop_all()
            raise
        undo.pop_all()


def path_of(kept_file: str) -> Path:
    """Return the path of a document's ``kept_file``."""
    return uploads_folder() / kept_file


def delete_orphaned_uploads(*, dry_run: bool = False) -> int:
    """Delete uploaded files without a document or job; return their number."""
    orphans = list(find_orphaned_uploads())
    for folder in [] if dry_run else orphans:
        shutil.rmtree(folder, ignore_errors=True)
    return len(orphans)


def find_orphaned_uploads() -> Iterator[Path]:
    """Yield the folders of this database's uploads that no document and no job has."""
    if not uploads_folder().is_dir():
        return
    # Listed before the rows are read: these folders have their row by now, or never will.
    written_before = time() - ORPHAN_AGE_S
    own = re.compile(_own_folders())
    folders = [
        each
        for each in uploads_folder().iterdir()
        if own.fullmatch(each.name) and each.is_dir() and each.stat().st_mtime < written_before
    ]
    if not folders:
        return
    # The folders that rows refer to, whatever ``PKB_DATA_DIR`` was.
    uploaded = Document.objects.exclude(kept_file="").values_list("kept_file", flat=True)
    synced = Document.objects.filter(file_path__regex=_IN_FOLDER)
    jobs = Job.objects.filter(kind=Job.Kind.SYNC).values_list("arguments__paths", flat=True)
    paths = [
        *uploaded.iterator(),
        *synced.values_list("file_path", flat=True).iterator(),
        *(path for listed in jobs.iterator() for path in listed or []),
    ]
    owned = set(map(folder_of, paths))
    yield from (folder for folder in folders if folder.name not in owned)


def find_lost_uploads() -> Iterator[str]:
    """Yield the ids of documents whose uploaded file is missing."""
    uploaded = ~Q(kept_file="") | Q(file_path__startswith=f"{uploads_folder()}/")
    rows = Document.objects.stored().filter(uploaded)
    for key, kept_file, file_path in rows.values_list("pk", "kept_file", "file_path").iterator():
        path = path_of(kept_file) if kept_file else Path(file_path)
        # The document may have been deleted or replaced, with its file, since it was read.
        same = Document.objects.filter(pk=key, kept_file=kept_file, file_path=file_path)
        if not path.is_file() and same.exists():
            yield str(key)


def _own_folders() -> str:
    return f"{_folder_prefix()}[0-9a-f]{{{32 - _PREFIX_CHARS}}}"


def _folder_prefix() -> str:
    """Return the prefix of the names of this database's folders.

    Another database with the same uploads folder, as in tests, deletes none of them.
    """
    with acting_as(SYSTEM):
        # The default collection is the first and is never deleted.
        created_at = Collection.objects.order_by("pk").values_list("created_at", flat=True)[0]
    return sha256(created_at.isoformat().encode()).hexdigest()[:_PREFIX_CHARS]


def fit_name(name: str) -> str:
    """Return the name with characters and a length that every file system allows."""
    allowed = _UNFIT.sub("_", name).strip(". ") or "file"
    stem, dot, ending = allowed.rpartition(".")
    if not dot or len(ending) > MAX_ENDING_CHARS:
        stem, ending = allowed, ""
    room = MAX_NAME_BYTES - len(ending.encode()) - 1
    short = stem.encode(errors="replace")[:room].decode(errors="ignore")
    return f"{short}.{ending}" if ending else short
