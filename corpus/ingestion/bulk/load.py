"""Load files and cut them into chunks without storing anything."""

from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path

from django.conf import settings
from pydantic import ValidationError

from corpus.embedders import get_embedder
from corpus.errors import EmptyDocument, PkbError, TextTooLong, UnreadableFile
from corpus.ingestion.bulk.chunk_files import (
    ChunkEntry,
    DocumentEntry,
    FailedEntry,
    OutlineEntry,
    first_error,
)
from corpus.ingestion.chunks import NewChunk, cut_chunks
from corpus.ingestion.disk import FileContent, read_file
from corpus.ingestion.files import reason_of
from corpus.ingestion.normal_form import Outline, join_blocks
from corpus.loaders import LoaderLimits, load_file
from corpus.loaders.base import LoadedDocument
from corpus.models import Collection
from corpus.tags import normalize_tags


def prepare_files(
    paths: Iterable[Path], *, collection: Collection, tags: tuple[str, ...]
) -> Iterator[DocumentEntry | FailedEntry]:
    """Yield what became of each file; a failed one does not stop the rest."""
    for path in paths:
        try:
            yield prepare_file(path, collection=collection, tags=tags)
        except (PkbError, OSError) as exc:
            yield FailedEntry(path=_printable(path), reason=reason_of(exc))


def prepare_file(path: Path, *, collection: Collection, tags: tuple[str, ...]) -> DocumentEntry:
    """Load, normalize and cut one file by the collection's settings.

    Raises:
        PkbError: It cannot be taken in, as ``ingest_file``.
        OSError: It cannot be read.
    """
    limits = LoaderLimits(
        max_file_bytes=settings.PKB_MAX_FILE_BYTES, max_chars=settings.PKB_MAX_FILE_CHARS
    )
    file = read_file(path, max_bytes=limits.max_file_bytes)
    if _printable(file.path) != str(file.path):
        raise UnreadableFile("Its name is not UTF-8.")
    loaded, media_type = load_file(file.content, filename=file.path.name, limits=limits)
    text, outline = join_blocks(loaded.blocks)
    if not text:
        raise EmptyDocument(f"{file.path.name} holds no text.")
    if len(text) > limits.max_chars:
        raise TextTooLong(f"{len(text):,} characters; at most {limits.max_chars:,} are taken.")
    chunks = cut_chunks(
        text,
        title=loaded.title,
        outline=outline,
        collection=collection,
        embedder=get_embedder(collection.embedding_model),
    )
    try:
        return _entry(file, loaded, media_type, text, outline, chunks, tags)
    except ValidationError as exc:
        raise UnreadableFile(f"It cannot be stored: {first_error(exc)}") from exc


def _entry(
    file: FileContent,
    loaded: LoadedDocument,
    media_type: str,
    text: str,
    outline: Outline,
    chunks: list[NewChunk],
    tags: tuple[str, ...],
) -> DocumentEntry:
    return DocumentEntry(
        source_uri=file.path.as_uri(),
        file_path=str(file.path),
        file_hash=file.file_hash,
        last_modified=file.last_modified,
        title=loaded.title,
        media_type=media_type,
        chapter=loaded.chapter,
        section=loaded.section,
        tags=normalize_tags((*tags, *loaded.tags)),
        metadata=dict(loaded.metadata),
        text=text,
        outline=OutlineEntry(
            headings=tuple((h.start, h.end, h.level, h.text) for h in outline.headings),
            pages=outline.pages,
        ),
        content_sha256=sha256(text.encode()).hexdigest(),
        chunks=tuple(ChunkEntry.of(chunk, ordinal=place) for place, chunk in enumerate(chunks)),
    )


def _printable(path: Path) -> str:
    return str(path.absolute()).encode(errors="replace").decode()
