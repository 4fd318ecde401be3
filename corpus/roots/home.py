"""By what a host is known to have the files of an installation: a mark in its folder of uploads.

Hosts that share that folder have one mark, and are one host as far as files go.
"""

import os
import uuid
from contextlib import suppress
from pathlib import Path

from corpus.roots.names import uploads_folder


def mark_file() -> Path:
    """Return where the mark is; no file that was sent, each of which has a folder of its own."""
    return uploads_folder() / "host"


def read_mark() -> str:
    """Return this host's mark; empty where it has none."""
    try:
        return mark_file().read_text(encoding="ascii")
    except (FileNotFoundError, NotADirectoryError):
        return ""


def make_mark() -> str:
    """Return this host's mark, made if it has none; who starts at the same time makes no other.

    Raises:
        OSError: The folder of uploads cannot be written.
    """
    path = mark_file()
    if not path.exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = path.with_name(f"{path.name}.{os.getpid()}")
        draft.write_text(uuid.uuid4().hex, encoding="ascii")
        with suppress(FileExistsError):
            path.hardlink_to(draft)
        draft.unlink()
    return read_mark()
