"""Placeholder documents of entries without a stored version: pending, processing or failed."""

from pathlib import Path
from typing import Any

from corpus.models import Document

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


def store_failure(placeholder: Document, reason: str, **columns: Any) -> None:
    """Mark the document with the placeholder's URI as failed; if none is stored, save it as one.

    An old version stays.

    Args:
        columns: Other values to set. ``file_hash`` and ``settings_sha256`` name the bytes and
            settings that would fail again; without them, the failure may be temporary.
    """
    columns = {"file_hash": "", "settings_sha256": "", **columns}
    columns |= {"status": Status.FAILED, "error": reason}
    same_uri = Document.objects.filter(
        collection_id=placeholder.collection_id, source_uri=placeholder.source_uri
    )
    if not same_uri.update(**columns):
        for name, value in columns.items():
            setattr(placeholder, name, value)
        Document.objects.bulk_create([placeholder], ignore_conflicts=True)
