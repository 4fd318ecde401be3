"""What of a path clients see: its name from its root on, never where that root is.

A file of ``/srv/inbox`` is shown as ``inbox/notes/a.md``, an upload as ``uploads/...``. Of one
below no root, which somebody took in at the terminal, only its own name is shown.
"""

import os
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from django.conf import settings
from django.db.models import Case, F, Func, Q, TextField, Value, When
from django.db.models.functions import Concat, Substr

_FILE_URI = "file:///"
_UNNAMED = "root"


def uploads_folder() -> Path:
    """Return the folder that uploaded files are kept in."""
    return Path(settings.DATA_DIR) / "uploads"


def root_names() -> dict[str, Path]:
    """Return the roots that may be named over HTTP, by the names they are shown under."""
    return {name: root for root, name in _named().items() if root in settings.PKB_INGEST_ROOTS}


def shown_path(path: str) -> str:
    """Return a path as clients see it; an address in another program is none, and stays."""
    return _shorten(path, _paths()) if path.startswith("/") else path


def shown_uri(source_uri: str, *, file_path: str) -> str:
    """Return a document's address as clients see it; one that they gave it is as they gave it."""
    if not (file_path and source_uri.startswith(_FILE_URI)):
        return source_uri
    return _shorten(source_uri, _addresses())


def matching(column: str, lookup: str, value: Any, *, of: str = "") -> Q:
    """Return the condition that a column of a document compares so with a value.

    What is shown of ``file_path`` and ``source_uri`` is what is compared: else one could ask for
    the rest of them, letter by letter.

    Args:
        of: What leads from a row to its document.
    """
    if column not in {"file_path", "source_uri"}:
        return Q(**{f"{of}{column}__{lookup}": value})
    shown = shown_column(column, of=of)
    compare: Any = shown.get_lookup(lookup)
    return Q(compare(shown, value))


def shown_column(column: str, *, of: str = "") -> Case:
    """What is shown of ``file_path`` or ``source_uri``, in SQL."""
    name = f"{of}{column}"
    is_given = Q(**{f"{of}file_path": ""}) | ~Q(**{f"{of}source_uri__startswith": _FILE_URI})
    kept = [When(is_given, then=F(name))] if column == "source_uri" else []
    below = [
        When(
            **{f"{name}__startswith": prefix},
            then=Concat(Value(f"{shown}/"), Substr(name, len(prefix) + 1)),
        )
        for prefix, shown in (_paths() if column == "file_path" else _addresses())
    ]
    last = Func(F(name), Value("/"), Value(-1), function="split_part")
    return Case(*kept, *below, default=last, output_field=TextField())


def _shorten(path: str, prefixes: Iterable[tuple[str, str]]) -> str:
    for prefix, name in prefixes:
        if path and f"{path.rstrip('/')}/" == prefix:
            return name
        if path.startswith(prefix):
            return f"{name}/{path[len(prefix) :]}"
    return path.rpartition("/")[2]


def _named() -> dict[Path, str]:
    return _name((*settings.PKB_INGEST_ROOTS, uploads_folder()))


@lru_cache(maxsize=8)
def _name(roots: tuple[Path, ...]) -> dict[Path, str]:
    """Name each by its last part; the second of a name gets a number."""
    names: dict[Path, str] = {}
    for root in dict.fromkeys(roots):
        name = stem = root.name.encode(errors="replace").decode() or _UNNAMED
        count = 1
        while name in names.values():
            count += 1
            name = f"{stem}-{count}"
        names[root] = name
    return names


def _paths() -> list[tuple[str, str]]:
    """What to take off a path and put before the rest, the deepest root first."""
    named = sorted(_named().items(), key=lambda each: len(each[0].parts), reverse=True)
    return [(f"{str(root).rstrip('/')}/", name) for root, name in named]


def _addresses() -> list[tuple[str, str]]:
    """The same for addresses of files."""
    return [(f"file://{quote(os.fsencode(path))}", quote(name)) for path, name in _paths()]
