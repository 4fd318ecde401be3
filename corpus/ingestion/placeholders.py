"""Placeholder documents of files without a stored version: pending, processing or failed."""

from pathlib import Path
from typing import Any

from corpus.ingestion.file_scan import FileContent
from corpus.models import Collection, Document

Status = Document.Status


def new_placeholder(path: Path, *, collection_id: int, source: str, **known: Any) -> Document:
    """Return an unsaved document without a version, for lists."""
    return Document(
        collection_id=collection_id,
        source_uri=path.as_uri(),
        file_path=str(path),
        source=source,
        **{"status": Status.PENDING, **known},
    )


def mark_processing(file: FileContent, *, collection: Collection, source: str) -> None:
    """Set the status of the file's document to processing."""
    at_path = Document.objects.filter(collection=collection, source_uri=file.path.as_uri())
    if not at_path.update(status=Status.PROCESSING, error=""):
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
        file_hash: Given if the same bytes would fail again; they are then not tried again.
    """
    placeholder = new_placeholder(path, collection_id=collection_id, source=source)
    known = {"error": reason, "file_hash": file_hash, "settings_sha256": settings_sha256}
    store_failure(placeholder, **known)


def store_failure(placeholder: Document, **known: Any) -> None:
    """Mark the document with the placeholder's URI as failed; without one, save the placeholder.

    Args:
        known: Columns to set, among them ``error``.
    """
    at_address = Document.objects.filter(
        collection_id=placeholder.collection_id, source_uri=placeholder.source_uri
    )
    if not at_address.update(status=Status.FAILED, **known):
        placeholder.status = Status.FAILED
        for name, value in known.items():
            setattr(placeholder, name, value)
        Document.objects.bulk_create([placeholder], ignore_conflicts=True)


def mark_gone(path: Path, *, collection_id: int, reason: str) -> None:
    """Delete the placeholder of a listed file that is missing; it may have been renamed.

    A stored version stays, so that the renamed file can be matched by its hash.
    """
    at_path = Document.objects.filter(collection_id=collection_id, source_uri=path.as_uri())
    at_path.filter(content_sha256="").delete()
    waiting = at_path.filter(status__in=[Status.PENDING, Status.PROCESSING])
    waiting.update(status=Status.FAILED, error=reason)


def drop_placeholder(path: Path, *, collection: Collection) -> None:
    """Delete the file's document if it has no version."""
    at_path = Document.objects.filter(collection=collection, source_uri=path.as_uri())
    at_path.filter(content_sha256="").delete()
