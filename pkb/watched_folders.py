"""Which folders ``PKB_WATCH`` names, each with the collection that mirrors it."""

import re
from pathlib import Path

_DEFAULT_COLLECTION = "default"
# As corpus.models has it, which needs the settings first.
_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_-]{0,99}")


def parse_watched_folders(given: str) -> list[tuple[Path, str]]:
    """Read ``/srv/notes:/srv/manuals=manuals``.

    What follows the last ``=`` of a part is its collection: without one it is the default.

    Raises:
        ValueError: A path is not absolute or is named twice, or a collection is none.
    """
    read = [_read_part(part) for part in given.split(":") if part.strip()]
    twice = [str(folder) for place, (folder, _) in enumerate(read) if read[place] in read[:place]]
    if twice:
        raise ValueError(f"{twice[0]} is named twice")
    return read


def _read_part(part: str) -> tuple[Path, str]:
    path, sign, collection = part.strip().rpartition("=")
    if not sign:
        path, collection = collection, _DEFAULT_COLLECTION
    if not Path(path).is_absolute():
        raise ValueError(f"{part!r} is no absolute path, such as /srv/notes=default")
    if not _NAME.fullmatch(collection):
        raise ValueError(f"{collection!r} is no name of a collection, as in /srv/notes=default")
    return Path(path).resolve(), collection
