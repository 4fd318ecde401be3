"""Parse ``PKB_WATCH``: folders and the collections that they are synced to."""

import re
from pathlib import Path

_DEFAULT_COLLECTION = "default"
# As in corpus.models, which cannot be imported before the settings.
_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_-]{0,99}")


def parse_watched_folders(value: str) -> list[tuple[Path, str]]:
    """Parse a value such as ``/srv/notes:/srv/manuals=manuals``.

    The text after the last ``=`` of a part is its collection; without ``=`` it is ``default``.

    Raises:
        ValueError: A path is relative or named twice, or a collection name is invalid.
    """
    read = [_read_part(part) for part in value.split(":") if part.strip()]
    twice = [str(folder) for index, (folder, _) in enumerate(read) if read[index] in read[:index]]
    if twice:
        raise ValueError(f"{twice[0]} is named twice")
    return read


def _read_part(part: str) -> tuple[Path, str]:
    path, sign, collection = part.strip().rpartition("=")
    if not sign:
        path, collection = collection, _DEFAULT_COLLECTION
    if not Path(path).is_absolute():
        raise ValueError(f"{part!r} is not an absolute path, such as /srv/notes=default")
    if not _NAME.fullmatch(collection):
        raise ValueError(f"{collection!r} is not a collection name, as in /srv/notes=default")
    return Path(path).resolve(), collection
