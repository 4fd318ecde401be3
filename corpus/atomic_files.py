"""Create files atomically, even if the process is killed."""

import fcntl
import hashlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path


def digest_files(paths: Iterable[Path], *, version: int) -> str:
    """Return a hash of the content of files and of a version.

    Raises:
        OSError: A file cannot be read.
    """
    digest = hashlib.sha256(f"{version}".encode())
    for path in paths:
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:16]


def write_once(path: Path, write: Callable[[Path], object]) -> None:
    """Create the file by ``write`` unless it exists; concurrent callers wait.

    The file needs its own folder, for the lock and the temporary file.

    Raises:
        OSError: The folder cannot be written to.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name("lock").open("w") as lock:
        # The kernel releases the lock when the process ends.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if path.is_file():
            return
        # This process has the lock, so these files are from a killed writer.
        for leftover in path.parent.glob("*.tmp"):
            leftover.unlink()
        unfinished = path.with_name(f"{os.getpid()}.tmp")
        write(unfinished)
        sync_to_disk(unfinished)
        unfinished.replace(path)
        sync_to_disk(path.parent)


def sync_to_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
