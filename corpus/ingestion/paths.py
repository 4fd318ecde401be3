"""Bring files and folders into a collection, one by one, a failure stopping none but itself."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import sha256
from pathlib import Path

from corpus.errors import DuplicateDocument, PkbError, UnreadableFile
from corpus.ingestion.pipeline import ingest_file
from corpus.ingestion.storing import Attributes
from corpus.loaders import supported_extensions
from corpus.models import Collection


class Outcome(StrEnum):
    """What became of a file."""

    ADDED = "added"
    REPLACED = "replaced"
    UNCHANGED = "unchanged"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class FileResult:
    """What became of one file; ``reason`` says why, where it failed."""

    path: Path
    outcome: Outcome
    document_id: str = ""
    chunk_count: int = 0
    reason: str = ""


def find_files(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield the files named, and those in the folders named that some loader reads.

    Hidden files and folders, and symbolic links inside folders, are passed over.
    """
    known = set(supported_extensions())
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        for found in sorted(path.rglob("*")):
            inside = found.relative_to(path)
            hidden = any(part.startswith(".") for part in inside.parts)
            linked = any((path / parent).is_symlink() for parent in (inside, *inside.parents))
            if (
                found.is_file()
                and not hidden
                and not linked
                and found.suffix.lower().lstrip(".") in known
            ):
                yield found


def ingest_path(path: Path, *, collection: Collection, attributes: Attributes) -> FileResult:
    """Bring one file in under its absolute path as ``source_uri``."""
    try:
        content = path.read_bytes()
        stored = ingest_file(
            content,
            filename=path.name,
            collection=collection,
            attributes=_of_file(path, content, attributes),
        )
    except DuplicateDocument as exc:
        return FileResult(path, Outcome.UNCHANGED, document_id=exc.document_id)
    except PkbError as exc:
        return FileResult(path, Outcome.FAILED, reason=str(exc) or exc.title)
    except OSError as exc:
        return FileResult(path, Outcome.FAILED, reason=exc.strerror or UnreadableFile.code)
    outcome = Outcome.ADDED if stored.is_new else Outcome.REPLACED
    return FileResult(path, outcome, stored.document_id, stored.chunk_count)


def _of_file(path: Path, content: bytes, attributes: Attributes) -> Attributes:
    absolute = path.resolve()
    return replace(
        attributes,
        source_uri=absolute.as_uri(),
        file_path=str(absolute),
        file_hash=sha256(content).hexdigest(),
        last_modified=datetime.fromtimestamp(absolute.stat().st_mtime, tz=UTC),
    )
