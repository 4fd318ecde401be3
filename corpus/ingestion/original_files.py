"""Original files of documents, if they are unchanged."""

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

# Types that a browser may show, since they contain no code to run; others are only downloaded.
_TEXTS = (
    registry.PLAIN, registry.MARKDOWN, registry.RESTRUCTUREDTEXT, registry.ASCIIDOC, registry.CSV,
    registry.TSV, registry.JSON, registry.JSON_LINES, registry.SUBTITLES, registry.CODE,
)  # fmt: skip
DOWNLOADED = "application/octet-stream"
_UNFIT = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|]+')


def read_original(document: Document) -> bytes:
    """Return the bytes that the document was read from.

    The file at its path is returned only if its bytes are the same: another file was never
    ingested, and may be private.

    Raises:
        OriginalNotFound: It was sent as text, or its file is missing or not readable.
        OriginalChanged: The file has changed.
    """
    if not has_original(document):
        raise OriginalNotFound("The document has no stored file; it was probably added as text.")
    path = _path_of(document)
    try:
        file = read_file(path, root=Path(path.anchor), max_bytes=settings.PKB_MAX_FILE_BYTES)
    except SymlinkFound as exc:
        raise OriginalChanged("The file was replaced by a link. Sync it again.") from exc
    except (PkbError, OSError) as exc:
        raise OriginalNotFound("The document's file is missing or cannot be read.") from exc
    if file.path != path or not _is_same(file, document):
        raise OriginalChanged("The file has changed since it was added. Sync it again.")
    return file.content


def _is_same(file: FileContent, document: Document) -> bool:
    """Return whether a file, with its includes, is that of the document."""
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
    """Return whether the document was read from a file, even if that is missing now."""
    return bool((document.file_path or document.kept_file) and document.file_hash)


def has_pages(document: Document) -> bool:
    """Return whether pages of its file can be rendered."""
    return has_original(document) and document.media_type in (registry.PDF, *registry.IMAGES)


def shown_type(document: Document, content: bytes) -> str:
    """Return the media type to serve the file with; ``DOWNLOADED`` if it must not be shown."""
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
    """Return the file's name with characters that every file system allows."""
    return _UNFIT.sub("_", _path_of(document).name).strip(". ") or "document"


def _path_of(document: Document) -> Path:
    return path_of(document.kept_file) if document.kept_file else Path(document.file_path)
