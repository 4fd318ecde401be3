"""Layout of an export folder: the manifest, which is written last, and checks of all files."""

import gzip
import hashlib
import json
import os
from collections.abc import Iterator
from datetime import datetime
from io import BufferedReader
from itertools import chain
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
# Maximum line of that list: a path has up to 4,096 bytes, JSON escapes take six each.
MAX_ENTRY_BYTES = 2**15


class BackupError(PkbError):
    """An export, backup or restore failed."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class StoredFile(_Strict):
    """A file in the folder: relative path, size, and hash of the stored bytes."""

    path: str
    bytes: int
    sha256: str


class StoredTable(_Strict):
    """A table, stored as gzipped JSON Lines: one object of ``columns`` per row."""

    name: str
    columns: list[str]
    rows: int
    file: StoredFile


class Manifest(_Strict):
    """Contents of a folder.

    Attributes:
        made_at: Time of the snapshot.
        migrations: Last migration of each app.
        models: Embedding model of each collection.
        uploads_folder: Original upload folder, the prefix of paths in the rows.
        files: Files other than tables: ``uploads.jsonl.gz``, and the secret key of a backup.
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
        """Size of all files except the manifest."""
        own = [*self.files, *(table.file for table in self.tables)]
        return sum(file.bytes for file in own) + self.upload_bytes


def table_path(name: str) -> str:
    """Return the relative path of the rows of a table."""
    return f"tables/{name}.jsonl.gz"


def open_stored(folder: Path, name: str) -> BufferedReader:
    """Open a file of the folder.

    Raises:
        BackupError: The file is missing, not readable, or behind a symbolic link.
    """
    try:
        return os.fdopen(open_file(folder / name, root=folder), "rb")
    except OSError as exc:
        raise BackupError(f"{folder / name} cannot be read: {exc.strerror}.") from exc


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of a folder.

    Raises:
        BackupError: The manifest is missing, damaged, or of an unknown format.
    """
    path = folder / MANIFEST
    try:
        with open_stored(folder, MANIFEST) as file:
            text = file.read()
    except BackupError as exc:
        raise BackupError(f"{folder} is not a complete export or backup. {exc}") from exc
    try:
        version = json.loads(text).get("format")
        if version != FORMAT:
            raise BackupError(
                f"{path} has format {version}; this version of pkb reads format {FORMAT}."
            )
        return Manifest.model_validate_json(text)
    except (ValueError, AttributeError, ValidationError) as exc:
        raise BackupError(f"{path} is damaged.") from exc


def check_files(folder: Path, manifest: Manifest) -> None:
    """Check the hash of every file.

    Raises:
        BackupError: A file is missing or damaged; the message names it.
    """
    files = [*manifest.files, *(table.file for table in manifest.tables)]
    for file in chain(files, listed_uploads(folder)):
        with open_stored(folder, file.path) as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()
        if digest != file.sha256:
            raise BackupError(
                f"{folder / file.path} is damaged: its SHA-256 differs from the manifest."
            )


def listed_uploads(folder: Path) -> Iterator[StoredFile]:
    """Yield the files below ``uploads``.

    Raises:
        BackupError: A path is outside of the folder, or that of the host marker.
    """
    with open_stored(folder, UPLOADS_LIST) as stored, gzip.open(stored) as lines:
        while line := lines.readline(MAX_ENTRY_BYTES + 1):
            if len(line) > MAX_ENTRY_BYTES:
                raise BackupError(
                    f"{UPLOADS_LIST} has a line of more than {MAX_ENTRY_BYTES:,} bytes."
                )
            file = StoredFile.model_validate_json(line)
            parts = PurePosixPath(file.path).parts
            is_below = parts[:1] == (UPLOADS,) and len(parts) > 1 and ".." not in parts
            if not is_below or parts[1] == marker_folder().name:
                raise BackupError(f"{file.path} is not a valid path of an upload.")
            yield file


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
