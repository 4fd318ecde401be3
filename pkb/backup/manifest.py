"""What stands in the folder of an export: the manifest, written last, and the check of it all."""

import gzip
import hashlib
import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path, PurePosixPath

from pydantic import BaseModel, ConfigDict, ValidationError

from corpus.errors import PkbError

FORMAT = 1
MANIFEST = "manifest.json"
UPLOADS = "uploads"
# A line for each file below ``uploads``.
UPLOADS_LIST = "uploads.jsonl.gz"
SECRET_KEY = "secret_key"  # noqa: S105  (a name)
READ_BYTES = 2**20


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
    """A table: a gzipped line of JSON for each row, an object of ``columns``."""

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


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of a folder.

    Raises:
        BackupError: There is none, it is damaged, or of a format that is not known here.
    """
    path = folder / MANIFEST
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as exc:
        raise BackupError(f"{folder} is no whole export or backup: no {MANIFEST}.") from exc
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
        BackupError: One is lacking, damaged, or outside of the folder; the message names it.
    """
    for file in [*manifest.files, *(table.file for table in manifest.tables)]:
        _check_file(folder, file)
    for file in listed_uploads(folder):
        _check_file(folder, file, below=UPLOADS)


def listed_uploads(folder: Path) -> Iterator[StoredFile]:
    """Yield the files below ``uploads``, of paths that lie in the folder."""
    with gzip.open(folder / UPLOADS_LIST, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield StoredFile.model_validate_json(line)


def _check_file(folder: Path, file: StoredFile, *, below: str = "") -> None:
    parts = PurePosixPath(file.path)
    is_inside = parts.is_relative_to(below) and not parts.is_absolute()
    if not is_inside or ".." in parts.parts:
        raise BackupError(f"{file.path} lies outside of {folder}.")
    try:
        found = hash_file(folder / parts)
    except OSError as exc:
        raise BackupError(f"{folder / parts} cannot be read: {exc.strerror}.") from exc
    if found != file.sha256:
        raise BackupError(f"{folder / parts} is damaged: its SHA-256 is not that of the manifest.")


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
