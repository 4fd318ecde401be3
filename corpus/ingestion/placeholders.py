"""Documents of files before, and in place of, a version: pending, processing, failed."""

from pathlib import Path
from typing import Any

from corpus.ingestion.file_scan import FileContent
from corpus.models import Collection, Document

Status = Document.Status


def new_placeholder(path: Path, *, collection_id: int, source: str, **known: Any) -> Document:
    """Return an unsaved document without a version; it stands for the file in lists."""
    return Document(
        collection_id=collection_id,
        source_uri=path.as_uri(),
        file_path=str(path),
        source=source,
        **{"status": Status.PENDING, **known},
    )


def mark_processing(file: FileContent, *, collection: Collection, source: str) -> None:
    """Show that the file is at work."""
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
    """Show that the file failed, and why; a version from before stays.

    Args:
        file_hash: Where given, the same bytes would fail again, and are not tried again.
    """
    placeholder = new_placeholder(path, collection_id=collection_id, source=source)
    known = {"error": reason, "file_hash": file_hash, "settings_sha256": settings_sha256}
    show_failure(placeholder, **known)


def show_failure(placeholder: Document, **known: Any) -> None:
    """Show that what has the placeholder's address failed: its document, else the placeholder.

    Args:
        known: Columns to be set; ``error`` is one of them.
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
    """Let go of a file that was listed and is not there to be read: it may have been renamed.

    A version from before stays what it is, and is found again by its bytes.
    """
    at_path = Document.objects.filter(collection_id=collection_id, source_uri=path.as_uri())
    at_path.filter(content_sha256="").delete()
    waiting = at_path.filter(status__in=[Status.PENDING, Status.PROCESSING])
    waiting.update(status=Status.FAILED, error=reason)


def drop_placeholder(path: Path, *, collection: Collection) -> None:
    """Remove the file's document if it never got a version."""
    at_path = Document.objects.filter(collection=collection, source_uri=path.as_uri())
    at_path.filter(content_sha256="").delete()
