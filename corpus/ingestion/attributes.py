"""What is known of a document besides its text."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from typing import Any, Self

from corpus.ingestion.disk import FileContent
from corpus.ingestion.normal_form import clean_json, clean_line
from corpus.loaders.base import LoadedDocument
from corpus.loaders.stated import first_moment
from corpus.models import Document
from corpus.tags import MAX_TAG_CHARS, normalize_tags
from corpus.times import can_be_stored

# As many as a request may name.
MAX_STATED_TAGS = 100


@dataclass(frozen=True, slots=True)
class Attributes:
    """All but ``tags`` are columns of a document, of the same names."""

    source_uri: str = ""
    source: str = ""
    title: str = ""
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
        """Read those of a stored document."""
        columns = {name: getattr(document, name) for name in ATTRIBUTE_NAMES - {"tags"}}
        return cls(**columns, tags=tuple(document.tags.values_list("name", flat=True)))

    @classmethod
    def of_file(cls, file: FileContent, **given: Any) -> Self:
        """Say where the file is and what it holds, besides what is given."""
        stated = {"includes": list(file.includes)} if file.includes else {}
        return cls(
            source_uri=file.path.as_uri(),
            file_path=str(file.path),
            file_hash=file.file_hash,
            last_modified=file.last_modified,
            size_bytes=len(file.content),
            metadata={**stated, **given.pop("metadata", {})},
            **given,
        )

    def filled_by(self, loaded: LoadedDocument, *, media_type: str, size_bytes: int = 0) -> Self:
        """Fill what was not given with what a file says of itself."""
        return replace(
            self,
            media_type=media_type,
            size_bytes=size_bytes or self.size_bytes,
            page_count=_page_count(loaded),
            title=self.title or line_of(loaded.title, "title"),
            chapter=self.chapter or line_of(loaded.chapter, "chapter"),
            user_created_at=self.user_created_at or _created_at(loaded),
            section=self.section or line_of(loaded.section, "section"),
            tags=normalize_tags((*self.tags, *fitting_tags(loaded.tags))),
            metadata={**clean_json(dict(loaded.metadata)), **self.metadata},
        )

    def write_to(self, document: Document) -> None:
        """Set the columns, unsaved; tags are rows of their own."""
        for name in ATTRIBUTE_NAMES - {"tags"}:
            setattr(document, name, getattr(self, name))
        document.metadata = dict(self.metadata)


ATTRIBUTE_NAMES = frozenset(each.name for each in fields(Attributes))


def _page_count(loaded: LoadedDocument) -> int:
    stated = loaded.metadata.get("page_count", 0)
    return stated if isinstance(stated, int) else 0


def _created_at(loaded: LoadedDocument) -> datetime | None:
    """When the source says it was made: the first moment of that, in UTC if it names no zone."""
    moment = first_moment(str(loaded.metadata.get("created", "")))
    if moment is None:
        return None
    known = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return known if can_be_stored(known) else None


def line_of(stated: str, column: str) -> str:
    """What a file says of itself, cleaned like its text and cut to what the column holds."""
    most = Document._meta.get_field(column).max_length  # type: ignore[union-attr]
    return clean_line(stated)[:most].rstrip()


def fitting_tags(stated: Iterable[str]) -> list[str]:
    """The tags that can be tags: whole sentences are left out, and all but the first hundred."""
    cleaned = map(clean_line, stated)
    return [name for name in cleaned if len(name) <= MAX_TAG_CHARS][:MAX_STATED_TAGS]
