"""Files that were sent: each has a folder of its own, and stays as long as its document.

A file is there before its row, and goes after it. What a process leaves behind that dies between
the two, ``delete_orphaned_uploads`` removes.
"""

import os
import re
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from time import time

from django.db import InterfaceError, OperationalError, transaction
from django.db.models import Q

from corpus.access.principal import SYSTEM, acting_as
from corpus.atomic_files import sync_to_disk
from corpus.models import Collection, Document, DroppedFile, Job
from corpus.models.installations import Installation
from corpus.queue import enqueue_file_deletion
from corpus.roots.shown_paths import uploads_folder

# File systems take names of 255 bytes.
MAX_NAME_BYTES = 200
MAX_ENDING_CHARS = 10
# A file is without its row while that is written, which is minutes at the very most.
ORPHAN_AGE_S = 3_600
# Files of one statement: who is killed looks at so many again.
DROPPED_AT_ONCE = 200
_UNFIT = re.compile(r"[\x00-\x1f\x7f/\\]+")
_PREFIX_CHARS = 8
_IN_FOLDER = r"/[0-9a-f]{32}/[^/]+$"


def save_upload(parts: Iterable[bytes], *, name: str) -> Path:
    """Write a file that was sent, for its owner's eyes only.

    A folder for each: files of one name do not replace each other.

    Raises:
        OSError: There is no room for it; nothing of it is left.
    """
    path = (
        uploads_folder() / f"{_folder_prefix()}{uuid.uuid4().hex[_PREFIX_CHARS:]}" / _fit_name(name)
    )
    uploads_folder().mkdir(mode=0o700, parents=True, exist_ok=True)
    with ExitStack() as undo:
        path.parent.mkdir(mode=0o700)
        undo.callback(delete_upload, path)
        path.touch(mode=0o600)
        with path.open("wb") as kept:
            for part in parts:
                kept.write(part)
            kept.flush()
            os.fsync(kept.fileno())
        for folder in (path.parent, uploads_folder()):
            sync_to_disk(folder)
        undo.pop_all()
    return path


def delete_upload(path: str | Path) -> None:
    """Remove a file that was sent; one that is from elsewhere stays."""
    path = Path(path)
    # A path of a file of ``manage.py load`` may lead out again.
    if path.parent.parent == uploads_folder() and ".." not in path.parts:
        shutil.rmtree(path.parent, ignore_errors=True)


def delete_uploads_on_commit(*paths: str | Path) -> None:
    """Let files that were sent go with the transaction that is open; those from elsewhere stay.

    Where another host keeps them, that they are to go is written in this transaction.
    """
    sent = {Path(path) for path in paths if re.search(_IN_FOLDER, str(path))}
    if sent and Installation.objects.owns_files():
        for path in sent:
            transaction.on_commit(partial(delete_upload, path))
    elif sent:
        noted = [DroppedFile(folder=name) for name in sorted({path.parent.name for path in sent})]
        with acting_as(SYSTEM):
            DroppedFile.objects.bulk_create(noted, ignore_conflicts=True)
        transaction.on_commit(enqueue_file_deletion)


def delete_dropped_files(*, should_stop: Callable[[], bool]) -> bool:
    """Remove the files whose documents other hosts have deleted; whether it came to the end.

    A row goes after its file: of who is killed between them the next finds it. One whose file
    cannot be removed stays, too.
    """
    if not Installation.objects.owns_files():
        # Files were moved to another host, which looks at them.
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
            left = [folder.name for folder in ours if folder.exists()]
            DroppedFile.objects.filter(pk__in=set(folders).difference(left)).delete()
            last = folders[-1]
    return False


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that is to be kept with its document."""

    content: bytes
    name: str

    @property
    def expected_path(self) -> str:
        """What ``Document.kept_file`` will say, but for the name of the folder."""
        return f"{'0' * 32}/{_fit_name(self.name)}"


@contextmanager
def saved_while_stored(sent: Upload) -> Iterator[str]:
    """Keep a file, and remove it again if what is done meanwhile fails.

    Yields:
        What ``Document.kept_file`` is to say.
    """
    with ExitStack() as undo:
        path = save_upload([sent.content], name=sent.name)
        undo.callback(delete_upload, path)
        try:
            yield str(path.relative_to(uploads_folder()))
        except (OperationalError, InterfaceError):
            # Broken off at the commit, nobody knows whether the row is there.
            undo.pop_all()
            raise
        undo.pop_all()


def path_of(kept_file: str) -> Path:
    """Return where a document's ``kept_file`` lies."""
    return uploads_folder() / kept_file


def delete_orphaned_uploads(*, dry_run: bool = False) -> int:
    """Remove files that were sent and that nothing will ever name; return how many."""
    found = list(find_orphaned_uploads())
    for folder in [] if dry_run else found:
        shutil.rmtree(folder, ignore_errors=True)
    return len(found)


def find_orphaned_uploads() -> Iterator[Path]:
    """Yield the folders of files that no document has and no job was made for.

    Only of those that this database was sent.
    """
    settled_before = time() - ORPHAN_AGE_S
    # Before the rows are read: whatever is listed has its row by now, or never will.
    folders = [each for each in _folders() if each.stat().st_mtime < settled_before]
    owned = _owned() if folders else set()
    yield from (folder for folder in folders if folder.name not in owned)


def find_lost_uploads() -> Iterator[str]:
    """Yield the ids of documents whose file is not among those that were sent any more."""
    for key, path, named in _paths_by_document():
        # Deleted or replaced since it was read, its file went with it.
        if not path.is_file() and Document.objects.filter(named, pk=key).exists():
            yield key


def _folders() -> Iterator[Path]:
    if uploads_folder().is_dir():
        own = re.compile(_own_folders())
        entries = uploads_folder().iterdir()
        yield from (each for each in entries if own.fullmatch(each.name) and each.is_dir())


def _own_folders() -> str:
    return f"{_folder_prefix()}[0-9a-f]{{{32 - _PREFIX_CHARS}}}"


def _folder_prefix() -> str:
    """Return how the folders' names begin that this database makes.

    A second one on the same folder, such as that of tests, thus removes nothing of it.
    """
    with acting_as(SYSTEM):
        # The first that was made, and is never deleted: the default one.
        born = Collection.objects.order_by("pk").values_list("created_at", flat=True)[0]
    return sha256(born.isoformat().encode()).hexdigest()[:_PREFIX_CHARS]


def _owned() -> set[str]:
    """Return the folders' names that rows know, wherever ``PKB_DATA_DIR`` was when they came."""
    kept = Document.objects.exclude(kept_file="").values_list("kept_file", flat=True)
    taken_in = Document.objects.filter(file_path__regex=_IN_FOLDER)
    jobs = Job.objects.filter(kind=Job.Kind.SYNC).values_list("arguments__paths", flat=True)
    paths = [
        *kept.iterator(),
        *taken_in.values_list("file_path", flat=True).iterator(),
        *(path for named in jobs.iterator() for path in named or []),
    ]
    return {Path(path).parent.name for path in paths}


def _paths_by_document() -> Iterator[tuple[str, Path, Q]]:
    """Yield documents, where their file lies, and what they say as long as it is that one."""
    kept = Document.objects.exclude(kept_file="").values_list("pk", "kept_file")
    for key, name in kept.iterator():
        yield str(key), path_of(name), Q(kept_file=name)
    below = Document.objects.stored().filter(file_path__startswith=f"{uploads_folder()}/")
    for key, path in below.values_list("pk", "file_path").iterator():
        yield str(key), Path(path), Q(file_path=path)


def _fit_name(name: str) -> str:
    """Return the name as one that any file system takes, its ending kept."""
    fit = _UNFIT.sub("_", name).strip(". ") or "file"
    stem, dot, ending = fit.rpartition(".")
    if not dot or len(ending) > MAX_ENDING_CHARS:
        stem, ending = fit, ""
    room = MAX_NAME_BYTES - len(ending.encode()) - 1
    short = stem.encode(errors="replace")[:room].decode(errors="ignore")
    return f"{short}.{ending}" if ending else short
