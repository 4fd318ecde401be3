"""Word documents: headings by outline level, lists, tables, equations, footnotes."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from corpus.errors import UnreadableFile
from corpus.loaders.archives import opened, read_xml
from corpus.loaders.blocks import Block, LoadedDocument, office_document
from corpus.loaders.formats.docx_styles import Numbering, Styles, W
from corpus.loaders.formats.flow import Flow
from corpus.loaders.formats.ooxml import (
    COMMENT_PARTS,
    chart_blocks,
    comment_blocks,
    core_properties,
    relations,
    text_pieces,
)
from corpus.loaders.limits import bounded_number
from corpus.loaders.table_blocks import table_blocks

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

PRELOAD = ("defusedxml.ElementTree",)

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
_CHARACTERS = {W + name: character for name, character in {**_BREAKS, "t": ""}.items()}
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
        styles = Styles(archive)
        reader = _Reader(styles, Numbering(archive))
        reader.walk(body)
        reader.flow.end_run()
        blocks = reader.flow.blocks
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
        properties = {"language": styles.language, **core_properties(archive)}
    return office_document(blocks, properties, title=reader.title)


class _Reader:
    """Walks the body."""

    def __init__(self, styles: Styles, numbering: Numbering) -> None:
        self.title = ""
        self.flow = Flow()
        self._styles = styles
        self._numbering = numbering

    def walk(self, parent: "Element") -> None:
        """Add the paragraphs, lists and tables inside an element."""
        for element in parent:
            if element.tag == W + "p":
                text = paragraph_text(element)
                level, is_title, item = self._styles.of(element)
                if text and level and is_title and not self.title:
                    self.title = " ".join(text.split())
                if text and item is not None and not level:
                    number, depth = item
                    text = f"{_INDENT * depth}{self._numbering.mark(number, depth)} {text}"
                self.flow.add(text, level=level, is_item=item is not None)
                # Text boxes follow the paragraph, so that they do not interrupt a sentence. Each is
                # stored in two formats.
                boxes: dict[str, Element] = {}
                for box in element.iter(W + "txbxContent"):
                    boxes.setdefault("".join(box.itertext()), box)
                for box_text, box in boxes.items():
                    if box_text.strip():
                        self.walk(box)
            elif element.tag == W + "tbl":
                self.flow.add_blocks(table_blocks(_rows(element)))
            elif element.tag in _WRAPPERS:
                self.walk(element)


def paragraph_text(paragraph: "Element") -> str:
    """Return the text of one paragraph as printed."""
    return "".join(text_pieces(paragraph, _CHARACTERS, skipped=_SKIPPED)).strip()


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
