"""The files that documents were made from, as long as they are what they were."""

import os
import re
from dataclasses import replace
from pathlib import Path

from django.conf import settings

from corpus.errors import OriginalChanged, OriginalNotFound, PkbError
from corpus.ingestion.file_scan import FileContent, read_file
from corpus.ingestion.uploaded_files import path_of
from corpus.loaders import registry
from corpus.models import Document
from corpus.roots.safe_open import SymlinkFound

# Shown by a browser as what they are; whatever else is only downloaded. None can run anything.
_TEXTS = (
    registry.PLAIN, registry.MARKDOWN, registry.RESTRUCTUREDTEXT, registry.ASCIIDOC, registry.CSV,
    registry.TSV, registry.JSON, registry.JSON_LINES, registry.SUBTITLES, registry.CODE,
)  # fmt: skip
DOWNLOADED = "application/octet-stream"
_UNFIT = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|]+')


def read_original(document: Document) -> bytes:
    """Return the bytes that the document was taken in from.

    What stands at its path today is told only if it is the same, byte by byte: another file there
    was never taken in, and may not be for everyone.

    Raises:
        OriginalNotFound: It came as text, or its file is gone or closed to us.
        OriginalChanged: The file is another one now.
    """
    if not has_original(document):
        raise OriginalNotFound("No file is kept of the document; most such came as text.")
    path = _path_of(document)
    try:
        file = read_file(path, root=Path(path.anchor), max_bytes=settings.PKB_MAX_FILE_BYTES)
    except SymlinkFound as exc:
        raise OriginalChanged("A link stands where the file was; sync it again.") from exc
    except (PkbError, OSError) as exc:
        raise OriginalNotFound("The document's file is gone, or cannot be read.") from exc
    if file.path != path or not _is_same(file, document):
        raise OriginalChanged("The file has changed since it was taken in; sync it again.")
    return file.content


def _is_same(file: FileContent, document: Document) -> bool:
    """Tell whether a file is the one of the document, and what it includes is what it was."""
    if file.file_hash == document.file_hash:
        return True
    names = document.metadata.get("includes")
    hashes = {}
    for name in names if isinstance(names, list) else ():
        path = Path(os.path.normpath(file.path.parent / str(name)))
        try:
            included = read_file(
                path, root=Path(path.anchor), max_bytes=settings.PKB_MAX_FILE_BYTES
            )
        except (PkbError, OSError):
            return False
        hashes[name] = included.file_hash
    whole = replace(file, includes=hashes, own_sha256=file.file_hash)
    return whole.file_hash == document.file_hash


def has_original(document: Document) -> bool:
    """Tell whether the document came from a file, be that there or not."""
    return bool((document.file_path or document.kept_file) and document.file_hash)


def has_pages(document: Document) -> bool:
    """Tell whether pages of its file can be drawn."""
    drawn = (registry.PDF, *registry.IMAGES)
    return has_original(document) and document.media_type in drawn


def shown_type(document: Document, content: bytes) -> str:
    """Return as which type a browser may show the file; ``DOWNLOADED`` if it may not."""
    if document.media_type == registry.PDF and b"%PDF-" in content[:1024]:
        return registry.PDF
    if document.media_type not in _TEXTS:
        return DOWNLOADED
    try:
        content.decode()
    except UnicodeDecodeError:
        return "text/plain"
    return "text/plain; charset=utf-8"


def original_name(document: Document) -> str:
    """Return the file's name, fit for any file system."""
    return _UNFIT.sub("_", _path_of(document).name).strip(". ") or "document"


def _path_of(document: Document) -> Path:
    return path_of(document.kept_file) if document.kept_file else Path(document.file_path)
