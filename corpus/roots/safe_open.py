"""Open what lies below a folder, name by name, and follow no symbolic link.

Each name is looked up in the descriptor of the folder before it. Who may write below the root can
so put a link in place of a folder or a file at any time: it is not followed, and what was checked
is what is read.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
# Who goes through a folder need not be allowed to list it.
_THROUGH = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW
# A pipe would be waited for, and a terminal taken over.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY

OUTSIDE = "It lies outside of the folder that may be read."


class SymlinkFound(OSError):
    """A symbolic link stands where a folder or a file was looked for."""


def open_folder(path: Path, *, root: Path) -> int:
    """Return a descriptor by which the folder can be listed; the caller closes it.

    Args:
        path: ``root`` or below it.
        root: Absolute, with no link in it.

    Raises:
        SymlinkFound: A link is in the way, from ``root`` on.
        OSError: It is not there, no folder, closed to us, or not below ``root``.
    """
    with _folder_of(path, root) as (folder, name):
        return _open(name, _FOLDER, folder)


def open_file(path: Path, *, root: Path) -> int:
    """Return a descriptor of what is there, of whatever type; the caller closes it.

    Raises:
        OSError: As ``open_folder``.
    """
    with _folder_of(path, root) as (folder, name):
        return _open(name, _FILE, folder)


def read_mode(path: Path, *, root: Path) -> int:
    """Return the type and rights of what is there; of a link its own.

    Raises:
        OSError: As ``open_folder``.
    """
    with _folder_of(path, root) as (folder, name):
        return os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode


def is_folder(path: Path, *, root: Path) -> bool:
    """Tell whether a folder can be seen there."""
    try:
        return stat.S_ISDIR(read_mode(path, root=root))
    except OSError:
        return False


@contextmanager
def _folder_of(path: Path, root: Path) -> Iterator[tuple[int, str]]:
    """Hold the folder that the path's last name is looked up in."""
    if not path.is_relative_to(root):
        # Not as if it were gone, for which documents are removed.
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
        if error.errno in {errno.ELOOP, errno.ENOTDIR} and _is_link(name, folder):
            raise SymlinkFound(errno.ELOOP, "Symbolic links are not followed.") from error
        raise


def _is_link(name: str, folder: int | None) -> bool:
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return False
    return stat.S_ISLNK(status.st_mode)
