"""Recognise a file that was renamed by its content: its document moves along with it."""

import os
from pathlib import Path

from django.conf import settings
from django.db import transaction

from corpus.errors import PkbError
from corpus.ingestion.paths import FileContent, read_file
from corpus.models import Collection, Document


def find_same(file: FileContent, *, collection: Collection) -> list[Document]:
    """Return the documents at other paths that were taken in from the same bytes."""
    same = Document.objects.of_file(file.file_hash, collection_id=collection.pk)
    others = same.exclude(source_uri=file.path.as_uri()).exclude(file_path="")
    return list(others.defer("raw_text", "outline").order_by("created_at", "pk"))


def has_moved(document: Document, *, roots: list[Path]) -> bool:
    """Tell whether the document's file, below one of the folders, is gone or another one now."""
    path = Path(document.file_path)
    return any(path.is_relative_to(root) for root in roots) and not _still_holds(document, path)


def _still_holds(document: Document, path: Path) -> bool:
    try:
        file = read_file(path, max_bytes=settings.PKB_MAX_FILE_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (PkbError, OSError):
        # Not to be read today: that says nothing of where it is.
        return os.path.isdir(path) is False  # noqa: PTH112  (never raises)
    return file.path == path and file.file_hash == document.file_hash


@transaction.atomic
def move_document(document: Document, file: FileContent, *, collection: Collection) -> bool:
    """Put the document at the file's path; what stands there takes its old place.

    Returns:
        False where somebody else moved or removed it meanwhile.
    """
    at_path = {"collection": collection, "source_uri": file.path.as_uri()}
    rows = Document.objects.select_for_update(no_key=True)
    moving = rows.filter(pk=document.pk, source_uri=document.source_uri).only("id")
    if not moving.exists():
        return False
    Document.objects.filter(**at_path, content_sha256="").delete()
    displaced = Document.objects.filter(**at_path).values_list("pk", flat=True).first()
    if displaced is not None:
        Document.objects.filter(pk=displaced).update(source_uri="")
    Document.objects.filter(pk=document.pk).update(
        source_uri=file.path.as_uri(), file_path=str(file.path), last_modified=file.last_modified
    )
    if displaced is not None:
        Document.objects.filter(pk=displaced).update(
            source_uri=document.source_uri, file_path=document.file_path
        )
    return True
