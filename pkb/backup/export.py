"""Write a backup or export into a folder, from one database snapshot, while pkb runs."""

import fcntl
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from django.conf import settings
from django.db import connection, transaction
from django.db.migrations.executor import MigrationExecutor

from corpus.atomic_files import sync_to_disk
from corpus.ingestion.uploaded_files import path_of
from corpus.jobs.uploads import uploads_of
from corpus.models import Collection, Document
from corpus.models.installation import FILES_ON_OTHER_HOST, Installation
from corpus.roots.host_marker import marker_folder
from corpus.roots.shown_paths import uploads_folder
from pkb.backup.manifest import (
    FORMAT,
    MANIFEST,
    READ_BYTES,
    SECRET_KEY,
    UPLOADS,
    UPLOADS_LIST,
    BackupError,
    Manifest,
    StoredFile,
    StoredTable,
    table_path,
)
from pkb.backup.rows import HashedFile, open_gzip, write_rows
from pkb.backup.table_selection import Selection, exported_tables

# Without synchronized scans, rows come in physical order, so mostly in order of insertion.
_SNAPSHOT = """
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY;
SET LOCAL synchronize_seqscans = off;
SET LOCAL statement_timeout = 0;
"""


def export_to(
    folder: Path,
    *,
    vectors: bool,
    secrets: bool = False,
    collection: Collection | None = None,
    partial: Path | None = None,
) -> Manifest:
    """Write an export; the folder gets its name when it is complete.

    Args:
        secrets: Include hashes of passwords and keys, and the secret key, as backups do.
        partial: Folder name until then; an existing folder of this name is emptied.

    Raises:
        BackupError: The folder is not empty, another process writes it, the database is not
            migrated, another host has the files, or there is not enough space.
        OSError: Writing failed; the partial folder is removed.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BackupError(f"{folder} exists and is not empty.")
    if not Installation.objects.owns_files():
        raise BackupError(FILES_ON_OTHER_HOST)
    selection = Selection(vectors, secrets, collection.pk if collection else None)
    with _partial_folder(partial or folder.with_name(f".{folder.name}.partial")) as written:
        with transaction.atomic(durable=True), connection.cursor() as cursor:
            cursor.execute(_SNAPSHOT)
            manifest = _write(written, selection, collection)
        with HashedFile(written / MANIFEST) as file:
            file.write(manifest.model_dump_json(indent=1).encode() + b"\n")
        sync_to_disk(written)
        written.rename(folder)
        sync_to_disk(folder.parent)
    return manifest


@contextmanager
def _partial_folder(partial: Path) -> Iterator[Path]:
    """Create and lock the partial folder, and remove remains of a killed process."""
    partial.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    partial.mkdir(mode=0o700, exist_ok=True)
    descriptor = os.open(partial, os.O_RDONLY)
    try:
        # The kernel releases the lock when this process ends.
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for path in partial.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
        try:
            yield partial
        finally:
            if partial.exists():
                shutil.rmtree(partial)
    except BlockingIOError as exc:
        raise BackupError(f"Another process is writing {partial}.") from exc
    finally:
        os.close(descriptor)


def _write(folder: Path, selection: Selection, collection: Collection | None) -> Manifest:
    executor = MigrationExecutor(connection)
    migrations = executor.loader.graph.leaf_nodes()
    if executor.migration_plan(migrations):
        raise BackupError("The database is not migrated. Run manage.py migrate.")
    uploads = _uploads(collection)
    # Compressed rows take less space than the database.
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        needed = cursor.fetchone()[0]
    for path in uploads:
        with suppress(FileNotFoundError):
            needed += path.stat().st_size
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise BackupError(
            f"{folder.parent} has {free:,} bytes left; up to {needed:,} may be needed."
        )
    tables = []
    for table in exported_tables(selection):
        with HashedFile(folder / table_path(table.name)) as file, open_gzip(file) as lines:
            count = write_rows(table.query, lines)
        tables.append(
            StoredTable(
                name=table.name,
                columns=table.columns,
                rows=count,
                file=file.to_stored_file(folder),
            )
        )
    uploads_list, upload_count, upload_bytes = _copy_uploads(folder, uploads)
    files = [uploads_list]
    secret_key = settings.DATA_DIR / SECRET_KEY
    # Hashes of deleted texts depend on the secret key, if it is a file.
    if selection.secrets and (key := _copy(secret_key, folder / SECRET_KEY, folder)):
        files.append(key)
    with connection.cursor() as cursor:
        cursor.execute("SELECT transaction_timestamp()")
        snapshot_time: datetime = cursor.fetchone()[0]
    collections = Collection.objects.filter(pk=collection.pk) if collection else Collection.objects
    return Manifest(
        format=FORMAT,
        version=settings.VERSION,
        made_at=snapshot_time.astimezone(UTC),
        migrations=dict(migrations),
        vectors=selection.vectors,
        secrets=selection.secrets,
        collection=collection.name if collection else None,
        models=dict(collections.values_list("name", "embedding_model")),
        uploads_folder=str(uploads_folder()),
        upload_count=upload_count,
        upload_bytes=upload_bytes,
        tables=tables,
        files=files,
    )


def _uploads(collection: Collection | None) -> list[Path]:
    top = uploads_folder()
    if collection is None:
        files = (path for path in top.rglob("*") if path.is_file() and not path.is_symlink())
        return sorted(path for path in files if path.parent != marker_folder())
    documents = Document.objects.filter(collection=collection)
    below = documents.filter(file_path__startswith=f"{top}/").values_list("file_path", flat=True)
    originals = documents.exclude(kept_file="").values_list("kept_file", flat=True)
    return sorted({*map(Path, {*uploads_of(collection), *below}), *map(path_of, originals)})


def _copy_uploads(folder: Path, uploads: Iterable[Path]) -> tuple[StoredFile, int, int]:
    """Copy files and list them; skip files that were deleted since the snapshot."""
    count = size = 0
    top = uploads_folder()
    with HashedFile(folder / UPLOADS_LIST) as file, open_gzip(file) as lines:
        for path in uploads:
            upload = _copy(path, folder / UPLOADS / path.relative_to(top), folder)
            if upload is None:
                continue
            lines.write(upload.model_dump_json().encode() + b"\n")
            count += 1
            size += upload.bytes
    return file.to_stored_file(folder), count, size


def _copy(source: Path, target: Path, folder: Path) -> StoredFile | None:
    """Copy a file; return None if there is none."""
    try:
        original = source.open("rb")
    except FileNotFoundError:
        return None
    with original, HashedFile(target) as file:
        while part := original.read(READ_BYTES):
            file.write(part)
    return file.to_stored_file(folder)
