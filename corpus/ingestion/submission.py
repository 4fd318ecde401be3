"""Submissions: a text or file with its attributes, and how to ingest it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from typing import Any, Self

from corpus.ingestion.file_scan import FileContent
from corpus.ingestion.normal_form import clean_json, clean_line
from corpus.loaders.blocks import LoadedDocument
from corpus.loaders.metadata import earliest_datetime, words_of_path
from corpus.models import Document
from corpus.tags import MAX_TAG_CHARS, MAX_TAGS, normalize_tags
from corpus.times import is_storable_time


@dataclass(frozen=True, slots=True)
class Attributes:
    """Attributes of a document: its tags, and columns of the same names."""

    source_uri: str = ""
    source: str = ""
    title: str = ""
    file_words: str = ""
    media_type: str = "text/plain"
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    chapter: str = ""
    section: str = ""
    user_created_at: datetime | None = None
    file_path: str = ""
    file_hash: str = ""
    kept_file: str = ""
    last_modified: datetime | None = None
    settings_sha256: str = ""
    size_bytes: int = 0
    page_count: int = 0

    @classmethod
    def of(cls, document: Document) -> Self:
        """Return the attributes of a stored document."""
        columns = {name: getattr(document, name) for name in ATTRIBUTE_NAMES - {"tags"}}
        return cls(**columns, tags=tuple(document.tags.values_list("name", flat=True)))

    @classmethod
    def of_file(cls, file: FileContent, **others: Any) -> Self:
        """Return the path, hash, time, size and includes of a file, with other attributes."""
        return cls(
            source_uri=file.path.as_uri(),
            file_path=str(file.path),
            file_hash=file.file_hash,
            last_modified=file.last_modified,
            size_bytes=len(file.content),
            metadata={"includes": list(file.includes)} if file.includes else {},
            **others,
        )

    def filled_from(
        self, loaded: LoadedDocument, *, name: str, media_type: str, size_bytes: int
    ) -> Self:
        """Return the attributes, with empty ones filled from a file's name and metadata."""
        page_count = loaded.metadata.get("page_count", 0)
        title = self.title or clean_attribute(loaded.title, "title")
        created_at = earliest_datetime(str(loaded.metadata.get("created", "")))
        if created_at is not None and created_at.tzinfo is None:
            created_at = created_at.replace(tzinfo=UTC)
        if created_at is not None and not is_storable_time(created_at):
            created_at = None
        return replace(
            self,
            media_type=media_type,
            size_bytes=size_bytes,
            page_count=page_count if isinstance(page_count, int) else 0,
            title=title,
            file_words=words_of_path(name, title=title),
            chapter=self.chapter or clean_attribute(loaded.chapter, "chapter"),
            user_created_at=self.user_created_at or created_at,
            section=self.section or clean_attribute(loaded.section, "section"),
            tags=normalize_tags((*self.tags, *valid_tags(loaded.tags))),
            metadata={**clean_json(dict(loaded.metadata)), **self.metadata},
        )


ATTRIBUTE_NAMES = frozenset(each.name for each in fields(Attributes))


def clean_attribute(value: str, column: str) -> str:
    """Return a text of a file's metadata, normalized and cut to the length of the column."""
    max_chars = Document._meta.get_field(column).max_length  # type: ignore[union-attr]
    return clean_line(value)[:max_chars].rstrip()


def valid_tags(names: Iterable[str]) -> list[str]:
    """Return the names that are short enough for a tag, normalized, at most ``MAX_TAGS``."""
    cleaned = map(clean_line, names)
    return [name for name in cleaned if len(name) <= MAX_TAG_CHARS][:MAX_TAGS]


@dataclass(frozen=True, slots=True)
class SubmittedFile:
    """The bytes of a file; loaders choose its type by content, name and stated type.

    Attributes:
        name: With the folders below the one that is ingested, whose words passages are found by.
    """

    content: bytes
    name: str
    media_type: str = ""


@dataclass(frozen=True, slots=True)
class IngestOptions:
    """Options of ingesting a submission.

    Attributes:
        max_chars: Maximum length of a file's text, by default ``PKB_MAX_FILE_CHARS``.
        keep_file: Store the bytes of a file as an upload, as long as this version exists.
        apply_routing: Rules choose the collection of a new document of the default collection.
        apply_rules: Add the tags of matching rules.
        is_awaited: A request waits: reject files with more than ``AWAITED_SCANS`` scanned pages.
        replacing: The document to replace, even with the same content; it may be in another
            collection. None: the one with the same ``source_uri``, if any.
        on_embedding: Called before the chunks are embedded.
    """

    max_chars: int | None = None
    keep_file: bool = False
    apply_routing: bool = False
    apply_rules: bool = True
    is_awaited: bool = False
    replacing: Document | None = None
    on_embedding: Callable[[], None] = lambda: None


@dataclass(frozen=True, slots=True)
class Submission:
    """A text, a file, or the stored text of a document, to ingest with these attributes.

    The metadata of a file fills its empty attributes.
    """

    content: str | SubmittedFile | Document
    attributes: Attributes = Attributes()
    options: IngestOptions = IngestOptions()

    @property
    def upload(self) -> SubmittedFile | None:
        """Return the file to store with the document, if any."""
        if isinstance(self.content, SubmittedFile) and self.options.keep_file:
            return self.content
        return None
