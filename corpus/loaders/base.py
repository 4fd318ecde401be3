"""The port through which files become text with structure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    from numpy import ndarray


class OcrBox(NamedTuple):
    """Where a run of a block's text stands on the picture of its page, as OCR read it.

    Lengths are whole ten-thousandths of the page's width, from its upper left corner.

    Attributes:
        letter_count: Letters and digits of the run, folded (``corpus.characters.fold_text``); the
            runs of a block follow each other as they do in its text.
        confidence: That OCR has of it, in [0, 1].
        x1, y1, x2, y2: The middle of the line's height where reading begins, and where it ends.
        height: Of the line.
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
    """A piece of a document's text: a heading, a paragraph, a list, a table, a code listing.

    Blocks are joined by one empty line; what is inside a block stays as it is, but for
    normalization.

    Attributes:
        text: As a reader sees it; a Markdown heading keeps its ``#`` signs.
        heading_level: 1 to 6 where the block is a heading, else None.
        heading_text: The heading without its mark-up, where the block is one.
        page: The page it stands on, from 1, where the source has pages.
        under: What the source calls this block and its neighbours besides headings, outermost
            first: the term it defines, its caption, the header of its table. The block that says
            these words is under them too.
        places: Of its runs, where it was read from a picture; else none.
        page_starts: Where it goes on over the ends of pages: the character of ``text`` that each
            further page begins with, and its number.
    """

    text: str
    heading_level: int | None = None
    heading_text: str = ""
    page: int | None = None
    under: tuple[str, ...] = ()
    places: tuple[OcrBox, ...] = ()
    page_starts: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class LoadedDocument:
    """What a loader made of a file.

    Attributes:
        blocks: In reading order.
        title: As the source states it (front matter, title element, properties), or empty.
        metadata: JSON values that the source states about itself.
        chapter: Where the source states it, or empty.
        section: Where the source states it, or empty.
        scans: Pages, from 1, that show something and have no text: OCR is to read them. ``blocks``
            may then be empty.
    """

    blocks: tuple[Block, ...]
    title: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    chapter: str = ""
    section: str = ""
    scans: tuple[int, ...] = ()


class Scan(NamedTuple):
    """What OCR made of the picture of a page, of ``width`` by ``height`` pixels.

    Attributes:
        lines: That are text, as far as OCR can tell.
        confidence: The mean of all that it found, by their length, what it could not read
            included; None where it found nothing.
    """

    width: int
    height: int
    lines: "tuple[ScannedLine, ...]"
    confidence: float | None


class ScannedLine(NamedTuple):
    """A run of text as it stands in a picture.

    Attributes:
        confidence: The mean of those of its letters, in [0, 1].
        x1, y1, x2, y2: Pixels, from the upper left corner: the middle of the line's height where
            reading begins, and where it ends.
        height: Of the line, in pixels.
    """

    text: str
    confidence: float
    x1: float
    y1: float
    x2: float
    y2: float
    height: float


class Loader(Protocol):
    """Reads the media types it is registered for; one module of ``corpus.loaders`` each."""

    def load(self, content: bytes, *, filename: str) -> LoadedDocument:
        """Read a whole file.

        Args:
            content: The file's bytes.
            filename: Its name, for a title of last resort; may be empty.

        Raises:
            UnreadableFile: It is broken, encrypted, or not what it claims to be.
            EmptyDocument: It holds no text.
        """
        ...


@runtime_checkable
class ScanLoader(Protocol):
    """A loader module of files that may have scanned pages."""

    def load_scanned(
        self, content: bytes, *, filename: str, scans: Mapping[int, Scan]
    ) -> LoadedDocument:
        """Read a file as ``load``, with what OCR made of its pages, by number from 1.

        Raises:
            EmptyDocument: Also where OCR found no text.
        """
        ...

    def picture_of(self, content: bytes, *, number: int) -> "ndarray[Any, Any]":
        """Return a page for OCR: bytes of blue, green and red, by row and column."""
        ...
