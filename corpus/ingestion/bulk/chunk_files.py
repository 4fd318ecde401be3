"""Chunk files: JSON that ``manage.py load`` writes and ``embed`` reads."""

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeInt,
    ValidationError,
)

from corpus.errors import BinaryText, UnreadableFile
from corpus.ingestion.chunkers.sections import Span
from corpus.ingestion.chunking import NewChunk
from corpus.ingestion.document_writer import Version
from corpus.ingestion.normal_form import Outline, normalize_text
from corpus.ingestion.submission import ATTRIBUTE_NAMES, Attributes
from corpus.loaders.metadata import MAX_FILE_WORDS_CHARS
from corpus.times import EARLIEST, LATEST

VERSION: Literal[1] = 1

Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Level = Annotated[int, Field(ge=1, le=6)]
Moment = Annotated[
    AwareDatetime,
    Field(ge=EARLIEST, le=LATEST),
    AfterValidator(lambda moment: moment.astimezone(UTC)),
]


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class ChunkEntry(_Entry):
    """The slice ``text[start_char:end_char]`` of a document, as ``corpus.models.Chunk`` has it."""

    ordinal: NonNegativeInt
    start_char: NonNegativeInt
    end_char: NonNegativeInt
    text: str
    context: str
    heading_path: tuple[str, ...]
    heading_level: Level | None
    page: NonNegativeInt | None
    token_count: NonNegativeInt

    @classmethod
    def of(cls, chunk: NewChunk, *, ordinal: int) -> "ChunkEntry":
        return cls(
            ordinal=ordinal,
            start_char=chunk.span.start,
            end_char=chunk.span.end,
            text=chunk.text,
            context=chunk.context,
            heading_path=chunk.span.heading_path,
            heading_level=chunk.span.heading_level,
            page=chunk.span.page,
            token_count=chunk.token_count,
        )


class OutlineEntry(_Entry):
    """An outline: ``[start, end, level, words]`` of headings, ``[start, number]`` of pages.

    Labels are ``[start, end, words]``; ``scanned`` contains the packed runs that OCR read.
    """

    headings: tuple[tuple[NonNegativeInt, NonNegativeInt, Level, str], ...] = ()
    pages: tuple[tuple[NonNegativeInt, int], ...] = ()
    labels: tuple[tuple[NonNegativeInt, NonNegativeInt, str], ...] = ()
    scanned: str = ""


class DocumentEntry(_Entry):
    """A loaded and chunked file, with the bounds of ``corpus.models.Document``.

    The fields before ``text`` are the ``Attributes`` that come from the file itself.
    """

    source_uri: str = Field(min_length=1, max_length=2048)
    file_path: str = Field(min_length=1, max_length=4096)
    file_hash: Sha256
    last_modified: Moment
    title: str = Field(max_length=512)
    file_words: str = Field(default="", max_length=MAX_FILE_WORDS_CHARS)
    media_type: str = Field(max_length=150)
    chapter: str = Field(max_length=512)
    section: str = Field(max_length=512)
    size_bytes: int = Field(default=0, ge=0)
    page_count: int = Field(default=0, ge=0)
    tags: tuple[str, ...]
    metadata: dict[str, Any]
    text: str = Field(min_length=1)
    outline: OutlineEntry
    content_sha256: Sha256
    chunks: tuple[ChunkEntry, ...]

    @classmethod
    def of(cls, attributes: Attributes, version: Version) -> "DocumentEntry":
        shared = cls.model_fields.keys() & ATTRIBUTE_NAMES
        return cls(
            **{name: getattr(attributes, name) for name in shared},
            text=version.text,
            outline=OutlineEntry.model_validate(version.outline.to_json(), strict=False),
            content_sha256=version.content_sha256,
            chunks=tuple(
                ChunkEntry.of(c, ordinal=ordinal) for ordinal, c in enumerate(version.chunks)
            ),
        )

    def to_attributes(self, *, source: str, settings_sha256: str) -> Attributes:
        """Return its attributes, with ``source`` and ``settings_sha256``."""
        shared = type(self).model_fields.keys() & ATTRIBUTE_NAMES
        values: dict[str, Any] = {name: getattr(self, name) for name in shared}
        return Attributes(**values, source=source, settings_sha256=settings_sha256)

    def to_version(self) -> Version:
        chunks = []
        for entry in self.chunks:
            span = Span(
                entry.start_char,
                entry.end_char,
                heading_path=entry.heading_path,
                heading_level=entry.heading_level,
                page=entry.page,
            )
            chunks.append(NewChunk(span, entry.text, entry.context, entry.token_count))
        outline = Outline.from_json(self.outline.model_dump())
        return Version(self.text, outline, self.content_sha256, tuple(chunks))


class FailedEntry(_Entry):
    """A file that could not be loaded, with the reason."""

    path: str = Field(min_length=1, max_length=4096)
    reason: str


class Header(_Entry):
    """The settings that the chunks were made with.

    Attributes:
        tags: Additional tags of every document.
        settings_sha256: Of the collection's settings and ``tags``; see ``ingest_fingerprint``.
    """

    version: Literal[1]
    collection: str
    embedding_model: str
    tags: tuple[str, ...]
    settings_sha256: Sha256


class ChunkFile(Header):
    documents: tuple[DocumentEntry, ...]
    failed: tuple[FailedEntry, ...]


def write_chunk_file(
    path: Path, *, header: Header, entries: Iterable[DocumentEntry | FailedEntry]
) -> Iterator[DocumentEntry | FailedEntry]:
    """Write entries, one document in each line, and yield each after it is written.

    The file gets its name when all are written; an older file stays until then.
    """
    partial = path.with_name(f"{path.name}.part")
    failed: list[FailedEntry] = []
    try:
        with partial.open("w", encoding="utf-8") as file:
            file.write(f"{header.model_dump_json(indent=1)[:-2]},\n")
            file.write(' "documents": [')
            separator = "\n  "
            for entry in entries:
                if isinstance(entry, FailedEntry):
                    failed.append(entry)
                else:
                    file.write(f"{separator}{entry.model_dump_json()}")
                    separator = ",\n  "
                yield entry
            failures = [entry.model_dump() for entry in failed]
            file.write(f'\n ],\n "failed": {json.dumps(failures, ensure_ascii=False)}\n}}\n')
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def read_chunk_file(path: Path) -> ChunkFile:
    """Read a file and check that every chunk matches its span of the text.

    Raises:
        UnreadableFile: It is not a chunk file, or it was altered; the message says where.
        OSError: It is missing or not readable.
    """
    try:
        chunk_file = ChunkFile.model_validate_json(path.read_bytes())
    except ValidationError as exc:
        raise UnreadableFile(f"{path} is no file of chunks: {first_error(exc)}") from exc
    for names in (
        [entry.source_uri for entry in chunk_file.documents],
        [entry.file_path for entry in chunk_file.documents],
    ):
        for name, count in Counter(names).items():
            if count > 1:
                raise UnreadableFile(f"{path} was altered: {name} is there twice.")
    for entry in chunk_file.documents:
        for mismatch in _mismatches(entry):
            raise UnreadableFile(f"{path} was altered: {entry.source_uri}: {mismatch}")
    return chunk_file


def first_error(error: ValidationError) -> str:
    """Return the first validation error in one line, with its location."""
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"{where}: {first['msg']}" if where else first["msg"]


def _mismatches(entry: DocumentEntry) -> Iterator[str]:
    """Yield how a document differs from its hashes and spans."""
    if sha256(entry.text.encode()).hexdigest() != entry.content_sha256:
        yield "content_sha256 is not that of its text."
    try:
        is_normal = normalize_text(entry.text) == entry.text
    except BinaryText:
        is_normal = False
    if not is_normal:
        yield "its text is not normalized."
    covered = 0
    for ordinal, chunk in enumerate(entry.chunks):
        span = entry.text[chunk.start_char : chunk.end_char]
        if chunk.ordinal != ordinal:
            yield f"chunk {ordinal} has the ordinal {chunk.ordinal}."
        if not chunk.text or span != chunk.text:
            yield f"chunk {ordinal} is not the text from {chunk.start_char} to {chunk.end_char}."
        if entry.text[covered : chunk.start_char].strip():
            yield f"text before chunk {ordinal} is in no chunk."
        covered = max(covered, chunk.end_char)
    if entry.text[covered:].strip():
        yield "the end of its text is in no chunk."
