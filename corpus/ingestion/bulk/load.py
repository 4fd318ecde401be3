"""Load files and split them into chunks without storing anything."""

from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path

from pydantic import ValidationError

from corpus.embedders import get_embedder
from corpus.errors import EmptyDocument, PkbError, TextTooLong, UnreadableFile
from corpus.ingestion.bulk.chunk_files import DocumentEntry, FailedEntry, first_error
from corpus.ingestion.chunking import cut_chunks
from corpus.ingestion.file_scan import FoundFile, error_reason, printable
from corpus.ingestion.includes import read_with_includes
from corpus.ingestion.ingest import loader_limits
from corpus.ingestion.normal_form import join_blocks
from corpus.ingestion.store import Attributes, Version
from corpus.loaders import load_file
from corpus.models import Collection


def cut_files(
    files: Iterable[FoundFile], *, root: Path, collection: Collection, tags: tuple[str, ...]
) -> Iterator[DocumentEntry | FailedEntry]:
    """Yield the entry of each file below ``root``; a failed file does not stop the rest."""
    for found in files:
        try:
            if found.error is not None:
                raise found.error
            yield cut_file(found.path, root=root, collection=collection, tags=tags)
        except (PkbError, OSError) as exc:
            yield FailedEntry(path=str(printable(found.path)), reason=error_reason(exc))


def cut_file(
    path: Path, *, root: Path, collection: Collection, tags: tuple[str, ...]
) -> DocumentEntry:
    """Load, normalize and chunk one file by the collection's settings.

    Args:
        root: A folder above it; links are not followed below it.

    Raises:
        PkbError: It cannot be ingested, as ``ingest_file``.
        OSError: It cannot be read.
    """
    limits = loader_limits()
    file = read_with_includes(path, root=root, max_bytes=limits.max_file_bytes)
    loaded, media_type = load_file(file.content, filename=file.path.name, limits=limits)
    text, outline = join_blocks(loaded.blocks)
    if not text:
        raise EmptyDocument(f"{file.path.name} holds no text.")
    if len(text) > limits.max_chars:
        raise TextTooLong(f"{len(text):,} characters; at most {limits.max_chars:,} are allowed.")
    attributes = Attributes.of_file(file, tags=tags).filled_from(loaded, media_type=media_type)
    chunks = cut_chunks(
        text,
        title=attributes.title,
        outline=outline,
        collection=collection,
        embedder=get_embedder(collection.embedding_model),
    )
    version = Version(text, outline, sha256(text.encode()).hexdigest(), chunks)
    try:
        return DocumentEntry.of(attributes, version)
    except ValidationError as exc:
        raise UnreadableFile(f"It cannot be stored: {first_error(exc)}") from exc
