"""By what a host is known to have the files of an installation: a mark in its folder of uploads.

Hosts that share that folder have one mark, and are one host as far as files go.
"""

import uuid
from pathlib import Path

from corpus.atomic_files import write_once
from corpus.roots.shown_paths import uploads_folder


def marker_folder() -> Path:
    """Return where the mark is; no file that was sent is in a folder of that name."""
    return uploads_folder() / "host"


def read_marker() -> str:
    """Return this host's mark; empty where it has none.

    Raises:
        OSError: It cannot be read.
    """
    try:
        return (marker_folder() / "mark").read_text(encoding="ascii")
    except (FileNotFoundError, NotADirectoryError):
        return ""


def ensure_marker() -> str:
    """Return this host's mark, made if it has none; who starts at the same time makes no other.

    Raises:
        OSError: The folder of uploads cannot be written.
    """
    uploads_folder().mkdir(mode=0o700, parents=True, exist_ok=True)
    write_once(marker_folder() / "mark", _write_marker)
    return read_marker()


def _write_marker(path: Path) -> None:
    path.write_text(uuid.uuid4().hex, encoding="ascii")
