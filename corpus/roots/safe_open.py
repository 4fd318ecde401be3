"""Open files below a root, name by name, without following symbolic links.

Each name is opened relative to the descriptor of its folder. A link that somebody swaps in at any
time is therefore not followed, and the file that was checked is the file that is read.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
# Passing through a folder does not need permission to list it.
_THROUGH = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW
# Opening must not wait for a pipe, nor acquire a terminal.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY

OUTSIDE = "It lies outside of the folder that may be read."


class SymlinkFound(OSError):
    """The path, or a folder above it, is a symbolic link."""


def open_folder(path: Path, *, root: Path) -> int:
    """Return a descriptor to list the folder; the caller closes it.

    Args:
        path: ``root`` or below it.
        root: Absolute, without symbolic links.

    Raises:
        SymlinkFound: A part of the path from ``root`` on is a link.
        OSError: It is missing, not a folder, not permitted, or not below ``root``.
    """
    with _folder_of(path, root) as (folder, name):
        return _open(name, _FOLDER, folder)


def open_file(path: Path, *, root: Path) -> int:
    """Return a descriptor of a file of any type; the caller closes it.

    Raises:
        OSError: As ``open_folder``.
    """
    with _folder_of(path, root) as (folder, name):
        return _open(name, _FILE, folder)


def read_mode(path: Path, *, root: Path) -> int:
    """Return the mode (type and permissions) of a file, or of a link itself.

    Raises:
        OSError: As ``open_folder``.
    """
    with _folder_of(path, root) as (folder, name):
        return os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode


def is_folder(path: Path, *, root: Path) -> bool:
    try:
        return stat.S_ISDIR(read_mode(path, root=root))
    except OSError:
        return False


@contextmanager
def _folder_of(path: Path, root: Path) -> Iterator[tuple[int, str]]:
    """Open the parent folder; yield its descriptor and the last name of the path."""
    if not path.is_relative_to(root):
        # Not FileNotFoundError, for which a sync deletes documents.
        raise PermissionError(errno.EACCES, OUTSIDE)
    *folders, name = path.relative_to(root).parts or (".",)
    if ".." in (*folders, name):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    here = _open(str(root), _THROUGH, None)
    try:
        for folder in folders:
            above, here = here, _open(folder, _THROUGH, here)
            os.close(above)
        yield here, name
    finally:
        os.close(here)


def _open(name: str, flags: int, folder: int | None) -> int:
    try:
        return os.open(name, flags, dir_fd=folder)
    except OSError as error:
        mode = 0
        if error.errno in {errno.ELOOP, errno.ENOTDIR}:
            with suppress(OSError):
                mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        if stat.S_ISLNK(mode):
            raise SymlinkFound(errno.ELOOP, "Symbolic links are not followed.") from error
        raise
