"""What stands in the folder of an export: the manifest, written last, and the check of it all."""

import gzip
import hashlib
import json
import os
from collections.abc import Iterator
from datetime import datetime
from io import BufferedReader
from pathlib import Path, PurePosixPath

from pydantic import BaseModel, ConfigDict, ValidationError

from corpus.errors import PkbError
from corpus.roots.host_marker import marker_folder
from corpus.roots.safe_open import open_file

FORMAT = 1
MANIFEST = "manifest.json"
UPLOADS = "uploads"
# A line for each file below ``uploads``.
UPLOADS_LIST = "uploads.jsonl.gz"
SECRET_KEY = "secret_key"  # noqa: S105  (a name)
READ_BYTES = 2**20
# Of a line of that list: a path has 4,096 bytes at most, which JSON writes with six each.
MAX_ENTRY_BYTES = 2**15


class BackupError(PkbError):
    """An export, backup or restore cannot be, with the reason."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class StoredFile(_Strict):
    """A file of the folder, by its path in it; ``sha256`` is of its bytes as they lie there."""

    path: str
    bytes: int
    sha256: str


class StoredTable(_Strict):
    """A table: a open_gzip line of JSON for each row, an object of ``columns``."""

    name: str
    columns: list[str]
    rows: int
    file: StoredFile


class Manifest(_Strict):
    """What a folder holds.

    Attributes:
        made_at: When its snapshot was taken.
        migrations: The last migration of each app.
        models: The embedding model of each collection.
        uploads_folder: Where uploads lay, which paths in the rows begin with.
        files: Those that are no table: ``uploads.jsonl.gz``, and the secret key of a backup.
    """

    format: int
    version: str
    made_at: datetime
    migrations: dict[str, str]
    vectors: bool
    secrets: bool
    collection: str | None
    models: dict[str, str]
    uploads_folder: str
    upload_count: int
    upload_bytes: int
    tables: list[StoredTable]
    files: list[StoredFile]

    @property
    def rows(self) -> dict[str, int]:
        return {table.name: table.rows for table in self.tables}

    @property
    def bytes(self) -> int:
        """Of all files but the manifest."""
        own = [*self.files, *(table.file for table in self.tables)]
        return sum(file.bytes for file in own) + self.upload_bytes


def table_path(name: str) -> str:
    """Return where in the folder the rows of a table are."""
    return f"tables/{name}.jsonl.gz"


def open_stored(folder: Path, name: str) -> BufferedReader:
    """Open a file of the folder.

    Raises:
        BackupError: It is not there, not readable, or behind a symbolic link.
    """
    try:
        return os.fdopen(open_file(folder / name, root=folder), "rb")
    except OSError as exc:
        raise BackupError(f"{folder / name} cannot be read: {exc.strerror}.") from exc


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of a folder.

    Raises:
        BackupError: There is none, it is damaged, or of a format that is not known here.
    """
    path = folder / MANIFEST
    try:
        with open_stored(folder, MANIFEST) as file:
            text = file.read()
    except BackupError as exc:
        raise BackupError(f"{folder} is no whole export or backup. {exc}") from exc
    try:
        found = json.loads(text).get("format")
        if found != FORMAT:
            raise BackupError(f"{path} is of format {found}; this pkb reads format {FORMAT}.")
        return Manifest.model_validate_json(text)
    except (ValueError, AttributeError, ValidationError) as exc:
        raise BackupError(f"{path} is damaged.") from exc


def check_files(folder: Path, manifest: Manifest) -> None:
    """Read every file once.

    Raises:
        BackupError: One is lacking or damaged; the message names it.
    """
    for file in [*manifest.files, *(table.file for table in manifest.tables)]:
        _check_file(folder, file)
    for file in listed_uploads(folder):
        _check_file(folder, file)


def listed_uploads(folder: Path) -> Iterator[StoredFile]:
    """Yield the files below ``uploads``.

    Raises:
        BackupError: One lies elsewhere, or in the place of this host's mark.
    """
    with open_stored(folder, UPLOADS_LIST) as file, gzip.open(file) as lines:
        while line := lines.readline(MAX_ENTRY_BYTES + 1):
            if len(line) > MAX_ENTRY_BYTES:
                raise BackupError(
                    f"{UPLOADS_LIST} has a line of more than {MAX_ENTRY_BYTES:,} bytes."
                )
            found = StoredFile.model_validate_json(line)
            parts = PurePosixPath(found.path).parts
            is_below = parts[:1] == (UPLOADS,) and len(parts) > 1 and ".." not in parts
            if not is_below or parts[1] == marker_folder().name:
                raise BackupError(f"{found.path} is no path of a file that was sent.")
            yield found


def _check_file(folder: Path, file: StoredFile) -> None:
    with open_stored(folder, file.path) as stored:
        found = hashlib.file_digest(stored, "sha256").hexdigest()
    if found != file.sha256:
        raise BackupError(
            f"{folder / file.path} is damaged: its SHA-256 is not that of the manifest."
        )


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
