"""The port through which files become text with structure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol


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
    """

    text: str
    heading_level: int | None = None
    heading_text: str = ""
    page: int | None = None
    under: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LoadedDocument:
    """What a loader made of a file.

    Attributes:
        blocks: In reading order.
        title: As the source states it (front matter, title element, properties), or empty.
        metadata: JSON values that the source states about itself.
        chapter: Where the source states it, or empty.
        section: Where the source states it, or empty.
    """

    blocks: tuple[Block, ...]
    title: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    chapter: str = ""
    section: str = ""


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
