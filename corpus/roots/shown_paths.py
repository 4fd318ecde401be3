"""Show paths to clients relative to their root, without the root's location.

A file of ``/srv/inbox`` is shown as ``inbox/notes/a.md``, an upload by its name, and a file of an
uploaded archive as ``archive.zip/notes/a.md``. Of a file below no
root, which a command ingested, the name and the folder are shown.
"""

import os
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from django.conf import settings
from django.db.models import Case, F, Func, Q, TextField, Value, When
from django.db.models.functions import Concat, Substr

_FILE_URI = "file:///"
_UNNAMED = "root"
_UPLOAD_FOLDER_CHARS = 32
# The name of a file with its folder, in PostgreSQL.
_NAME_IN_FOLDER = r"(?:[^/]+/)?[^/]*\Z"


def uploads_folder() -> Path:
    return Path(settings.DATA_DIR) / "uploads"


def root_names() -> dict[str, Path]:
    """Return the roots that requests may name, by their shown names."""
    return {name: root for root, name in _name(tuple(settings.PKB_INGEST_ROOTS)).items()}


def shown_path(path: str) -> str:
    """Return a path as clients see it; leave URIs of other programs unchanged."""
    return _shorten(path, _prefixes("file_path")) if path.startswith("/") else path


def shown_uri(source_uri: str, *, file_path: str) -> str:
    """Return a document's URI as clients see it; leave URIs that clients gave unchanged."""
    if not (file_path and source_uri.startswith(_FILE_URI)):
        return source_uri
    return _shorten(source_uri, _prefixes("source_uri"))


def short_place(uri: str) -> str:
    """Return a web page with its host, or a file of another program with its folder, for people.

    Other URIs, and paths from a root or an archive on, are returned whole.
    """
    uri = unquote(uri)
    parts = urlsplit(uri)
    steps = [step for step in parts.path.split("/") if step]
    if parts.scheme in {"http", "https"}:
        return "/".join([parts.netloc, *steps[-1:]])
    return "/".join(steps[-2:]) if parts.scheme == "file" else uri


def matching(column: str, lookup: str, value: Any, *, of: str = "") -> Q:
    """Return the lookup condition of a document's column.

    ``file_path`` and ``source_uri`` are compared as shown: otherwise a client could find out the
    hidden part letter by letter.

    Args:
        of: The lookup prefix from a row to its document.
    """
    if column not in {"file_path", "source_uri"}:
        return Q(**{f"{of}{column}__{lookup}": value})
    shown = shown_column(column, of=of)
    compare: Any = shown.get_lookup(lookup)
    return Q(compare(shown, value))


def shown_column(column: str, *, of: str = "") -> Case:
    """Return the SQL expression of ``file_path`` or ``source_uri`` as shown."""
    name = f"{of}{column}"
    is_of_client = Q(**{f"{of}file_path": ""}) | ~Q(**{f"{of}source_uri__startswith": _FILE_URI})
    unchanged = [When(is_of_client, then=F(name))] if column == "source_uri" else []
    below = [
        When(
            **{f"{name}__startswith": prefix},
            then=Concat(Value(f"{shown}/"), Substr(name, len(prefix) + 1))
            if shown
            # Behind the made-up name of an upload's folder.
            else Substr(name, len(prefix) + _UPLOAD_FOLDER_CHARS + 2),
        )
        for prefix, shown in _prefixes(column)
    ]
    last = Func(F(name), Value(_NAME_IN_FOLDER), function="substring")
    return Case(*unchanged, *below, default=last, output_field=TextField())


def _shorten(path: str, prefixes: Iterable[tuple[str, str]]) -> str:
    for prefix, name in prefixes:
        if path and f"{path.rstrip('/')}/" == prefix:
            return name
        if path.startswith(prefix):
            below = path[len(prefix) :]
            return f"{name}/{below}" if name else below.partition("/")[2]
    return "/".join(part for part in path.split("/")[-2:] if part)


@lru_cache(maxsize=8)
def _name(roots: tuple[Path, ...]) -> dict[Path, str]:
    """Name each root by its last part; add a number to duplicates."""
    names: dict[Path, str] = {}
    for root in dict.fromkeys(roots):
        name = stem = root.name.encode(errors="replace").decode() or _UNNAMED
        count = 1
        while name in names.values():
            count += 1
            name = f"{stem}-{count}"
        names[root] = name
    return names


def _prefixes(column: str) -> list[tuple[str, str]]:
    """Return pairs of a root's prefix in ``column`` and its shown name, the deepest root first.

    The folder of uploads has no name: each upload is in a folder with a made-up name below it.
    """
    named = {uploads_folder(): "", **_name(tuple(settings.PKB_INGEST_ROOTS))}
    names = sorted(named.items(), key=lambda each: len(each[0].parts), reverse=True)
    paths = [(f"{str(root).rstrip('/')}/", name) for root, name in names]
    if column == "file_path":
        return paths
    return [(f"file://{quote(os.fsencode(path))}", quote(name)) for path, name in paths]
