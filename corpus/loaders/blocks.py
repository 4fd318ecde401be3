"""Blocks of text, and the interface of the loaders that return them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    from numpy import ndarray


# Markdown and HTML know six levels of headings; deeper ones are of the sixth.
MAX_LEVEL = 6


class OcrBox(NamedTuple):
    """The position of a run of a block's text on the image of its page, as OCR read it.

    Lengths are whole ten-thousandths of the page's width, from its upper left corner.

    Attributes:
        letter_count: Letters and digits of the run, folded (``corpus.characters.fold_text``); the
            runs of a block follow each other as they do in its text.
        confidence: Confidence of OCR, in [0, 1].
        x1, y1, x2, y2: Start and end of the line, at half its height.
        height: Height of the line.
    """

    letter_count: int
    confidence: float
    x1: int
    y1: int
    x2: int
    y2: int
    height: int


@dataclass(frozen=True, slots=True)
class Block:
    """One block of a document's text: a heading, a paragraph, a list, a table or a code listing.

    One empty line joins blocks; the text of a block only gets normalized.

    Attributes:
        text: As a reader sees it; a Markdown heading keeps its ``#`` signs.
        heading_level: 1 to ``MAX_LEVEL`` for a heading, else None.
        heading_text: The text of a heading without its markup.
        page: Page number from 1, if the source has pages.
        labels: Names of this block besides headings, outermost first: the term it
            defines, its caption, the header of its table. The block with these words has them too.
        ocr_boxes: Positions of its runs if OCR read it, else empty.
        page_starts: For each further page of the block, the offset in ``text`` where the page
            begins, and its number.
    """

    text: str
    heading_level: int | None = None
    heading_text: str = ""
    page: int | None = None
    labels: tuple[str, ...] = ()
    ocr_boxes: tuple[OcrBox, ...] = ()
    page_starts: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class LoadedDocument:
    """The content of a file.

    Attributes:
        blocks: In reading order.
        title: From the source (front matter, title element, properties), or empty.
        metadata: JSON values from the source.
        scans: Numbers, from 1, of pages without text that OCR has to read. ``blocks`` may then be
            empty.
    """

    blocks: tuple[Block, ...]
    title: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    chapter: str = ""
    section: str = ""
    scans: tuple[int, ...] = ()


def office_document(
    blocks: Iterable[Block], properties: Mapping[str, str], *, title: str = ""
) -> LoadedDocument:
    """Return the content of an office file.

    Args:
        properties: Its ``title``, its ``keywords`` with commas, which become tags, and metadata.
        title: The title if the properties have none.
    """
    metadata = dict(properties)
    words = metadata.pop("keywords", "").split(",")
    return LoadedDocument(
        blocks=tuple(blocks),
        title=metadata.pop("title", "") or title,
        metadata=metadata,
        tags=tuple(word.strip() for word in words if word.strip()),
    )


class Scan(NamedTuple):
    """The result of OCR for one page image of ``width`` by ``height`` pixels.

    Attributes:
        lines: Lines recognized as text.
        confidence: Mean over all lines found, weighted by length, unreadable ones included; None if
            there are none.
    """

    width: int
    height: int
    lines: "tuple[ScannedLine, ...]"
    confidence: float | None


class ScannedLine(NamedTuple):
    """A run of text on a page image.

    Attributes:
        confidence: Mean confidence of its letters, in [0, 1].
        x1, y1, x2, y2: Start and end of the line at half its height, in pixels from the upper left
            corner.
        height: Height of the line, in pixels.
    """

    text: str
    confidence: float
    x1: float
    y1: float
    x2: float
    y2: float
    height: float


class Loader(Protocol):
    """Reads the media types that it is registered for."""

    def load(self, content: bytes, *, filename: str) -> LoadedDocument:
        """Read a whole file.

        Args:
            content: The file's bytes.
            filename: Its name, the title of last resort; may be empty.

        Raises:
            UnreadableFile: It is broken, encrypted, or not what it claims to be.
            EmptyDocument: It contains no text.
        """
        ...


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file in a message."""

    filename: str
    media_type: str
    content: bytes


@runtime_checkable
class HasAttachments(Protocol):
    """A loader of files with attachments."""

    def attachments(self, content: bytes) -> list[Attachment]: ...


@runtime_checkable
class ScanLoader(Protocol):
    """A loader of files that may have scanned pages."""

    def load_scanned(
        self, content: bytes, *, filename: str, scans: Mapping[int, Scan]
    ) -> LoadedDocument:
        """Read a file like ``load``, with the OCR results of its pages, by number from 1.

        Raises:
            EmptyDocument: It contains no text, and OCR found none.
        """
        ...

    def picture_of(self, content: bytes, *, number: int) -> "ndarray[Any, Any]":
        """Return the pixels of a page for OCR: blue, green and red bytes, by row and column.

        Raises:
            UnreadableFile: The page cannot be drawn.
        """
        ...
