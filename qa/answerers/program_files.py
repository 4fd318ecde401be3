"""Compiled programs in files, by name and version; to roll back, select an older version."""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from django.core.exceptions import ImproperlyConfigured

# In a program's file, beside what DSPy writes.
PROVENANCE = "provenance"
# The reply format that a program was compiled for; programs for other formats are useless.
REPLY_FORM = "statements"

_WANTED = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9_.-]*)(?:@(?P<version>[1-9]\d{0,5}))?")
# No "-3" at the end of a name: it would read as a version.
_NEW_NAME = re.compile(r"\A(?!.*-\d+$)[A-Za-z0-9][A-Za-z0-9_.-]{0,59}")
_FILE = re.compile(r"\A(?P<name>.+)-(?P<version>[1-9]\d{0,5})\.json")


@dataclass(frozen=True, slots=True)
class StoredProgram:
    """A version of a program.

    Attributes:
        provenance: What it was compiled from, when, and its scores.
    """

    name: str
    version: int
    path: Path
    provenance: Mapping[str, Any]

    @property
    def reference(self) -> str:
        """Return the reference that selects it: ``NAME@VERSION``."""
        return f"{self.name}@{self.version}"


def is_program_name(name: str) -> bool:
    return _NEW_NAME.fullmatch(name) is not None


def find_program(wanted: str, *, folder: Path) -> Path:
    """Return the file of ``NAME`` (latest version), ``NAME@VERSION`` or ``/PATH/FILE.json``.

    Raises:
        ImproperlyConfigured: There is no such program, or it has another reply format.
    """
    if wanted.endswith(".json") and Path(wanted).is_absolute():
        path = Path(wanted)
    elif match := _WANTED.fullmatch(wanted):
        version = match["version"] or _latest_version(match["name"], folder)
        path = folder / (f"{match['name']}-{version}.json" if version else f"{wanted}.json")
    else:
        path = None
    if path is None or not path.is_file():
        raise ImproperlyConfigured(f"PKB_LM_PROGRAM: there is no program {wanted!r}.")
    _check_reply_form(path)
    return path


def _check_reply_form(path: Path) -> None:
    """Reject a program with another reply format; invalid files fail when loaded."""
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return
    metadata = state.get("metadata") if isinstance(state, dict) else None
    if isinstance(metadata, dict) and metadata.get("reply_form") != REPLY_FORM:
        raise ImproperlyConfigured(
            f"PKB_LM_PROGRAM: {path.name} was compiled by an older version of pkb, for answers"
            " without sources. Compile it again with manage.py optimize_answerer."
        )


def list_programs(folder: Path) -> list[StoredProgram]:
    """Return all versions by name, latest first; skip unreadable files."""
    found = []
    for path in folder.glob("*.json"):
        match = _FILE.fullmatch(path.name)
        provenance = _read_provenance(path)
        if match and provenance is not None:
            found.append(StoredProgram(match["name"], int(match["version"]), path, provenance))
    return sorted(found, key=lambda program: (program.name, -program.version))


def store_program(
    state: Mapping[str, Any], *, name: str, provenance: Mapping[str, Any], folder: Path
) -> StoredProgram:
    """Write the next version of a program; versions are never overwritten.

    Args:
        state: The program's state as DSPy saves it.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    content = json.dumps({**state, PROVENANCE: provenance}, indent=2, ensure_ascii=False)
    with NamedTemporaryFile("w", dir=folder, suffix=".part", encoding="utf-8") as part:
        part.write(content + "\n")
        part.flush()
        version = _latest_version(name, folder)
        while True:
            version += 1
            path = folder / f"{name}-{version}.json"
            try:
                os.link(part.name, path)
            except FileExistsError:  # another process was first
                continue
            return StoredProgram(name, version, path, provenance)


def _latest_version(name: str, folder: Path) -> int:
    """Return the latest version number, or 0."""
    matches = (_FILE.fullmatch(path.name) for path in folder.glob(f"{name}-*.json"))
    return max((int(m["version"]) for m in matches if m and m["name"] == name), default=0)


def _read_provenance(path: Path) -> Mapping[str, Any] | None:
    try:
        provenance = json.loads(path.read_text(encoding="utf-8"))[PROVENANCE]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return provenance if isinstance(provenance, dict) else None
