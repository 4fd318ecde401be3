"""Word documents: headings by outline level, lists, tables, equations, footnotes."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from corpus.errors import UnreadableFile
from corpus.loaders.archives import opened, read_xml
from corpus.loaders.blocks import Block, LoadedDocument
from corpus.loaders.formats.docx_styles import Numbering, Styles, W
from corpus.loaders.formats.office_math import to_tex
from corpus.loaders.formats.ooxml import (
    COMMENT_PARTS,
    chart_blocks,
    comment_blocks,
    core_properties,
    relations,
)
from corpus.loaders.limits import bounded_number
from corpus.loaders.table_blocks import table_blocks

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

PRELOAD = ("defusedxml.ElementTree",)

_MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_COMPATIBLE = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_INDENT = "  "
# Files may state any number of columns that a cell spans.
_MAX_SPAN = 100
# Deleted or moved text, field codes, and text that is not in the line (boxes, notes).
_SKIPPED = {
    W + name
    for name in ("del", "moveFrom", "instrText", "delText", "pPr", "rPr", "txbxContent", "pict")
}
# Content controls and insertions, whose content is part of the text.
_WRAPPERS = frozenset((W + "sdt", W + "sdtContent", W + "customXml", W + "ins"))
_BREAKS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "ptab": "\t"}
_CHARACTERS = {W + name: character for name, character in _BREAKS.items()}
_NOTES = ("footnotes", "endnotes")
# The separator lines above notes, which Word stores among them.
_SEPARATORS = frozenset(("separator", "continuationSeparator", "continuationNotice"))


def load(content: bytes, *, filename: str) -> LoadedDocument:
    """Read the body of a Word file, then its footnotes and endnotes."""
    with opened(content) as archive:
        main_parts = (n for kind, n in relations(archive, "").values() if kind == "officeDocument")
        main = next(main_parts, "word/document.xml")
        root = read_xml(archive, main)
        body = None if root is None else root.find(W + "body")
        if body is None:
            raise UnreadableFile("The Word file has no document body.")
        metadata = core_properties(archive)
        styles = Styles(archive)
        reader = _Reader(styles, Numbering(archive))
        reader.walk(body)
        reader.end_list()
        blocks = reader.blocks
        for kind, name in relations(archive, main).values():
            if kind in _NOTES:
                notes = read_xml(archive, name)
                for note in () if notes is None else notes:
                    text = _joined_paragraphs(note, "\n")
                    if text and note.get(W + "type") not in _SEPARATORS:
                        blocks.append(Block(text))
            elif kind in COMMENT_PARTS:
                blocks.extend(comment_blocks(archive, name, {}))
            elif kind == "chart":
                blocks.extend(chart_blocks(archive, name))
    keywords = metadata.pop("keywords", "")
    return LoadedDocument(
        blocks=tuple(blocks),
        title=metadata.pop("title", "") or reader.title,
        tags=tuple(word.strip() for word in keywords.split(",") if word.strip()),
        metadata={"language": styles.language, **metadata},
    )


class _Reader:
    """Walks the body; consecutive list items become one block."""

    def __init__(self, styles: Styles, numbering: Numbering) -> None:
        self.title = ""
        self._styles = styles
        self._numbering = numbering
        self.blocks: list[Block] = []
        self._items: list[str] = []

    def walk(self, parent: "Element") -> None:
        """Add the paragraphs, lists and tables inside an element."""
        for element in parent:
            if element.tag == W + "p":
                self._paragraph(element)
            elif element.tag == W + "tbl":
                self.end_list()
                self.blocks.extend(table_blocks(_rows(element)))
            elif element.tag in _WRAPPERS:
                self.walk(element)

    def _paragraph(self, paragraph: "Element") -> None:
        text = paragraph_text(paragraph)
        level, is_title, item = self._styles.of(paragraph)
        if text and level:
            self.end_list()
            line = " ".join(text.split())
            self.blocks.append(Block(line, level, line))
            if is_title and not self.title:
                self.title = line
        elif text and item is not None:
            number, depth = item
            self._items.append(f"{_INDENT * depth}{self._numbering.mark(number, depth)} {text}")
        elif text:
            self.end_list()
            self.blocks.append(Block(text))
        # Text boxes follow the paragraph, so that they do not interrupt a sentence. Each is stored
        # in two formats.
        boxes: dict[str, Element] = {}
        for box in paragraph.iter(W + "txbxContent"):
            boxes.setdefault("".join(box.itertext()), box)
        for box_text, box in boxes.items():
            if box_text.strip():
                self.walk(box)

    def end_list(self) -> None:
        if self._items:
            self.blocks.append(Block("\n".join(self._items)))
            self._items = []


def paragraph_text(paragraph: "Element") -> str:
    """Return the text of one paragraph as printed."""
    return "".join(_pieces(paragraph)).strip()


def _pieces(parent: "Element") -> Iterator[str]:
    for element in parent:
        if element.tag == W + "t":
            yield element.text or ""
        elif element.tag in _CHARACTERS:
            yield _CHARACTERS[element.tag]
        elif element.tag == _MATH + "oMath":
            yield f"${to_tex(element).strip()}$"
        elif element.tag == _COMPATIBLE + "AlternateContent":
            # The first of several renderings of the same content.
            yield from _pieces(element[0] if len(element) else element)
        elif element.tag not in _SKIPPED:
            yield from _pieces(element)


def _rows(table: "Element") -> Iterator[list[str]]:
    """Yield the cells' text; a cell that spans columns or rows is repeated in each of them."""
    above: list[str] = []
    for row in _inside(table, W + "tr"):
        cells = [""] * _setting(row, f"{W}trPr/{W}gridBefore", default=0)
        for cell in _inside(row, W + "tc"):
            merged = cell.find(f"{W}tcPr/{W}vMerge")
            # A merged cell begins with "restart" and goes on without a value.
            continues = merged is not None and merged.get(W + "val") != "restart"
            is_merged = continues and len(cells) < len(above)
            text = above[len(cells)] if is_merged else _joined_paragraphs(cell, " ")
            cells.extend([text] * max(_setting(cell, f"{W}tcPr/{W}gridSpan", default=1), 1))
        above = cells
        yield cells


def _joined_paragraphs(parent: "Element", separator: str) -> str:
    return separator.join(text for p in parent.iter(W + "p") if (text := paragraph_text(p)))


def _setting(element: "Element", path: str, *, default: int) -> int:
    setting = element.find(path)
    value = None if setting is None else setting.get(W + "val")
    return bounded_number(value, default=default, maximum=_MAX_SPAN)


def _inside(parent: "Element", tag: str) -> Iterator["Element"]:
    """Yield children of a kind, including those in content controls."""
    for element in parent:
        if element.tag == tag:
            yield element
        elif element.tag in _WRAPPERS:
            yield from _inside(element, tag)
