"""By what a host is known to have the files of an installation: a mark in its folder of uploads.

Hosts that share that folder have one mark, and are one host as far as files go.
"""

import uuid
from pathlib import Path

from corpus.kept_files import write_once
from corpus.roots.names import uploads_folder


def mark_folder() -> Path:
    """Return where the mark is; no file that was sent is in a folder of that name."""
    return uploads_folder() / "host"


def read_mark() -> str:
    """Return this host's mark; empty where it has none.

    Raises:
        OSError: It cannot be read.
    """
    try:
        return (mark_folder() / "mark").read_text(encoding="ascii")
    except (FileNotFoundError, NotADirectoryError):
        return ""


def make_mark() -> str:
    """Return this host's mark, made if it has none; who starts at the same time makes no other.

    Raises:
        OSError: The folder of uploads cannot be written.
    """
    uploads_folder().mkdir(mode=0o700, parents=True, exist_ok=True)
    write_once(mark_folder() / "mark", _write_mark)
    return read_mark()


def _write_mark(path: Path) -> None:
    path.write_text(uuid.uuid4().hex, encoding="ascii")
