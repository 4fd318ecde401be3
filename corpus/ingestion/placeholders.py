"""Placeholder documents of files without a stored version: pending, processing or failed."""

from pathlib import Path
from typing import Any

from corpus.ingestion.file_scan import FileContent
from corpus.models import Collection, Document

Status = Document.Status


def new_placeholder(path: Path, *, collection_id: int, source: str, **columns: Any) -> Document:
    """Return an unsaved document without a version, so that lists can show the file."""
    return Document(
        collection_id=collection_id,
        source_uri=path.as_uri(),
        file_path=str(path),
        source=source,
        **{"status": Status.PENDING, **columns},
    )


def mark_processing(file: FileContent, *, collection: Collection, source: str) -> None:
    """Set the status of the file's document to processing."""
    same_uri = Document.objects.filter(collection=collection, source_uri=file.path.as_uri())
    if not same_uri.update(status=Status.PROCESSING, error=""):
        placeholder = new_placeholder(
            file.path, collection_id=collection.pk, source=source, status=Status.PROCESSING
        )
        Document.objects.bulk_create([placeholder], ignore_conflicts=True)


def mark_failed(
    path: Path,
    *,
    collection_id: int,
    source: str,
    reason: str,
    file_hash: str = "",
    settings_sha256: str = "",
) -> None:
    """Set the status of the file's document to failed, with the reason; an old version stays.

    Args:
        file_hash: Hash of the bytes, if they would fail again; they are then not tried again.
            Empty if the failure may be temporary.
    """
    placeholder = new_placeholder(path, collection_id=collection_id, source=source)
    store_failure(placeholder, error=reason, file_hash=file_hash, settings_sha256=settings_sha256)


def store_failure(placeholder: Document, **columns: Any) -> None:
    """Mark the document with the placeholder's URI as failed; if none is stored, save it as one.

    Args:
        columns: Values to set, among them ``error``.
    """
    same_uri = Document.objects.filter(
        collection_id=placeholder.collection_id, source_uri=placeholder.source_uri
    )
    if not same_uri.update(status=Status.FAILED, **columns):
        placeholder.status = Status.FAILED
        for name, value in columns.items():
            setattr(placeholder, name, value)
        Document.objects.bulk_create([placeholder], ignore_conflicts=True)


def mark_unavailable(path: Path, *, collection_id: int, reason: str) -> None:
    """Delete the placeholder of a file that is missing or still being written.

    A stored version stays, so that a renamed file can be matched by its hash; if it was pending or
    processing, its status becomes failed, with the reason.
    """
    same_uri = Document.objects.filter(collection_id=collection_id, source_uri=path.as_uri())
    same_uri.filter(content_sha256="").delete()
    unfinished = same_uri.filter(status__in=[Status.PENDING, Status.PROCESSING])
    unfinished.update(status=Status.FAILED, error=reason)


def drop_placeholder(path: Path, *, collection: Collection) -> None:
    """Delete the file's document if it has no version."""
    same_uri = Document.objects.filter(collection=collection, source_uri=path.as_uri())
    same_uri.filter(content_sha256="").delete()
