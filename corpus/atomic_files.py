"""Files that are made once from others, and kept: whole or not at all, whoever is killed."""

import fcntl
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path


def digest_files(paths: Iterable[Path], *, version: int) -> str:
    """Name the content of files, and the version of what makes something of them.

    Raises:
        OSError: A file cannot be read.
    """
    digest = hashlib.sha256(f"{version}".encode())
    for path in paths:
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:16]


def write_once(path: Path, write: Callable[[Path], None]) -> None:
    """Have ``write`` make the file if it is not there; whoever comes second waits for the first.

    The file's folder is its own: it holds the lock, and what is being written.

    Raises:
        OSError: The folder cannot be written to.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with _locked(path.with_name("lock")):
        if path.is_file():
            return
        # The lock is ours, so what lies here was left by a writer that was killed.
        for leftover in path.parent.glob("*.tmp"):
            leftover.unlink()
        unfinished = path.with_name(f"{os.getpid()}.tmp")
        write(unfinished)
        sync_to_disk(unfinished)
        unfinished.replace(path)
        sync_to_disk(path.parent)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock that the kernel gives up when its holder dies."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def sync_to_disk(path: Path) -> None:
    """Bring a file, or a folder's list of files, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
