"""Load files and split them into chunks without storing anything."""

from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path

from django.conf import settings
from pydantic import ValidationError

from corpus.errors import PkbError
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
    """Load, normalize and chunk files by the collection's settings, and yield their entries.

    A failed file does not stop the rest.

    Args:
        root: A folder above the files; links are not followed below it.
    """
    for found in files:
        try:
            if found.error is not None:
                raise found.error
            file = read_with_includes(found.path, root=root, max_bytes=settings.PKB_MAX_FILE_BYTES)
            content = SubmittedFile(file.content, str(file.path.relative_to(root)))
            submission = Submission(content, Attributes.of_file(file, tags=tags))
            text, outline, attributes = load(submission)
            chunks = cut_chunks(
                text,
                title=attributes.title,
                file_words=attributes.file_words,
                outline=outline,
                collection=collection,
            )
            version = Version(text, outline, sha256(text.encode()).hexdigest(), chunks)
            yield DocumentEntry.of(attributes, version)
        except ValidationError as exc:
            reason = f"It cannot be stored: {first_error(exc)}"
            yield FailedEntry(path=str(printable(found.path)), reason=reason)
        except (PkbError, OSError) as exc:
            yield FailedEntry(path=str(printable(found.path)), reason=error_reason(exc))
