"""A marker file in the uploads folder, which identifies the host that stores the files.

Hosts that share the folder share the marker and count as one host.
"""

import uuid
from pathlib import Path

from corpus.atomic_files import write_once
from corpus.roots.shown_paths import uploads_folder


def marker_folder() -> Path:
    """Return the folder of the marker; no uploaded file has a folder of this name."""
    return uploads_folder() / "host"


def read_marker() -> str:
    """Return this host's marker; empty if it has none.

    Raises:
        OSError: It cannot be read.
    """
    try:
        return (marker_folder() / "mark").read_text(encoding="ascii")
    except (FileNotFoundError, NotADirectoryError):
        return ""


def ensure_marker() -> str:
    """Return this host's marker; create it once if it has none.

    Raises:
        OSError: The uploads folder cannot be written.
    """
    uploads_folder().mkdir(mode=0o700, parents=True, exist_ok=True)
    write_once(
        marker_folder() / "mark", lambda path: path.write_text(uuid.uuid4().hex, encoding="ascii")
    )
    return read_marker()
