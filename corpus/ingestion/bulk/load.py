"""Load files and split them into chunks without storing anything."""

from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path

from django.conf import settings
from pydantic import ValidationError

from corpus.errors import PkbError, UnreadableFile
from corpus.ingestion.bulk.chunk_files import DocumentEntry, FailedEntry, first_error
from corpus.ingestion.chunking import cut_chunks
from corpus.ingestion.document_writer import Version
from corpus.ingestion.file_scan import FoundFile, error_reason, printable
from corpus.ingestion.includes import read_with_includes
from corpus.ingestion.ingest import load
from corpus.ingestion.submission import Attributes, Submission, SubmittedFile
from corpus.models import Collection


def cut_files(
    files: Iterable[FoundFile], *, root: Path, collection: Collection, tags: tuple[str, ...]
) -> Iterator[DocumentEntry | FailedEntry]:
    """Yield the entry of each file below ``root``; a failed file does not stop the rest."""
    for file in files:
        try:
            if file.error is not None:
                raise file.error
            yield cut_file(file.path, root=root, collection=collection, tags=tags)
        except (PkbError, OSError) as exc:
            yield FailedEntry(path=str(printable(file.path)), reason=error_reason(exc))


def cut_file(
    path: Path, *, root: Path, collection: Collection, tags: tuple[str, ...]
) -> DocumentEntry:
    """Load, normalize and chunk one file by the collection's settings.

    Args:
        root: A folder above it; links are not followed below it.

    Raises:
        PkbError: It cannot be ingested, as ``ingest_submission``.
        OSError: It cannot be read.
    """
    file = read_with_includes(path, root=root, max_bytes=settings.PKB_MAX_FILE_BYTES)
    submission = Submission(
        SubmittedFile(file.content, file.path.name), Attributes.of_file(file, tags=tags)
    )
    text, outline, attributes = load(submission)
    chunks = cut_chunks(text, title=attributes.title, outline=outline, collection=collection)
    version = Version(text, outline, sha256(text.encode()).hexdigest(), chunks)
    try:
        return DocumentEntry.of(attributes, version)
    except ValidationError as exc:
        raise UnreadableFile(f"It cannot be stored: {first_error(exc)}") from exc
