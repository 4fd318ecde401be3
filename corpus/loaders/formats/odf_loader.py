"""OpenDocument: texts (ODT), spreadsheets (ODS) and presentations (ODP)."""

from collections.abc import Iterator
from pathlib import PurePath
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

from corpus.errors import UnreadableFile
from corpus.loaders.archives import opened, read_entry, read_xml
from corpus.loaders.blocks import MAX_LEVEL, Block, LoadedDocument
from corpus.loaders.formats.flow import Flow
from corpus.loaders.limits import bounded_number
from corpus.loaders.table_blocks import sheet_blocks, table_blocks

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

PRELOAD = ("defusedxml.ElementTree",)

_NS = "{urn:oasis:names:tc:opendocument:xmlns:"
_OFFICE, _TEXT, _TABLE, _DRAW = (
    f"{_NS}{name}:1.0}}" for name in ("office", "text", "table", "drawing")
)
_STYLE = _NS + "style:1.0}"
_CLASS = _NS + "presentation:1.0}class"
_META = _NS + "meta:1.0}"
_FO = _NS + "xsl-fo-compatible:1.0}"
_DC = "{http://purl.org/dc/elements/1.1/}"
_INDENT = "  "
# Limits of repeated blanks, which are stored as a count.
_MAX_SPACES = 100
# Limits of repeated rows: a sheet may repeat an empty row a million times.
_MAX_REPEATED_ROWS = 100
_MAX_REPEATED_CELLS = 100
# Settings of forms, and deleted text.
_SKIPPED = frozenset((_OFFICE + "forms", _TEXT + "tracked-changes"))
# Elements that are not part of the sentence around them.
_NOT_TEXT = frozenset(
    [_OFFICE + "annotation", _DRAW + "frame", _DRAW + "custom-shape"]
    + [_TEXT + name for name in ("tracked-changes", "note", "sequence-decls")]
)
_PROPERTIES = {
    _DC + "title": "title",
    _DC + "creator": "author",
    _META + "initial-creator": "author",
    _DC + "subject": "subject",
    _DC + "description": "description",
    _DC + "language": "language",
    _META + "creation-date": "created",
    _DC + "date": "modified",
}


def load(content: bytes, *, filename: str) -> LoadedDocument:
    """Read an OpenDocument file."""
    with opened(content) as archive:
        manifest = read_entry(archive, "META-INF/manifest.xml") or b""
        if b"encryption-data" in manifest:
            raise UnreadableFile("The file is protected by a password.")
        root = read_xml(archive, "content.xml")
        body = None if root is None else root.find(_OFFICE + "body")
        if root is None or body is None or not len(body):
            raise UnreadableFile("The OpenDocument file has no content.")
        metadata, tags = _metadata(archive)
    title = metadata.pop("title", "")
    if body[0].tag == _OFFICE + "spreadsheet":
        blocks: list[Block] = []
        for table in body.iter(_TABLE + "table"):
            blocks.extend(sheet_blocks(table.get(_TABLE + "name", ""), _rows(table)))
        title = title or PurePath(filename).stem
    else:
        derived = (
            style.get(_STYLE + "name", "")
            for style in root.iter(_STYLE + "style")
            if style.get(_STYLE + "parent-style-name") == "Title"
        )
        reader = _Reader(title_styles=frozenset(("Title", *derived)))
        reader.walk(body[0])
        blocks = reader.flow.blocks
    return LoadedDocument(tuple(blocks), title=title, metadata=metadata, tags=tags)


class _Reader:
    """Walks a text or a presentation."""

    def __init__(self, title_styles: frozenset[str]) -> None:
        self.flow = Flow()
        self._title_styles = title_styles

    def walk(self, parent: "Element") -> None:
        """Add the blocks inside an element."""
        for element in parent:
            if element.tag == _TEXT + "h":
                level = element.get(_TEXT + "outline-level")
                bounded = bounded_number(level, default=1, maximum=MAX_LEVEL)
                self._paragraph(element, max(bounded, 1))
            elif element.tag == _TEXT + "p":
                is_title = element.get(_TEXT + "style-name", "") in self._title_styles
                self._paragraph(element, 1 if is_title else 0)
            elif element.tag == _TABLE + "table":
                self.flow.add_blocks(table_blocks(_rows(element), page=self.flow.page))
            elif element.tag == _TEXT + "list" and element.find(f".//{_TEXT}h") is None:
                if text := "\n".join(_list_lines(element, 0)):
                    self.flow.add_blocks([Block(text, page=self.flow.page)])
            elif element.tag == _DRAW + "frame" and element.get(_CLASS) == "title":
                if text := _joined_paragraphs(element):
                    self.flow.add_blocks([Block(text, 1, text, self.flow.page)])
            elif element.tag not in _SKIPPED:
                if element.tag == _DRAW + "page":
                    self.flow.page = (self.flow.page or 0) + 1
                self.walk(element)

    def _paragraph(self, paragraph: "Element", level: int) -> None:
        self.flow.add(paragraph_text(paragraph), level=level)
        for beside in _boxes(paragraph):
            self.walk(beside)


def paragraph_text(paragraph: "Element") -> str:
    """Return the text of one paragraph, with its spaces and tabs expanded."""
    return "".join(_pieces(paragraph)).strip()


def _pieces(parent: "Element") -> Iterator[str]:
    yield parent.text or ""
    for element in parent:
        if element.tag == _TEXT + "s":
            yield " " * bounded_number(element.get(_TEXT + "c"), default=1, maximum=_MAX_SPACES)
        elif element.tag == _TEXT + "tab":
            yield "\t"
        elif element.tag == _TEXT + "line-break":
            yield "\n"
        elif element.tag not in _NOT_TEXT:
            yield from _pieces(element)
        yield element.tail or ""


def _boxes(paragraph: "Element") -> Iterator["Element"]:
    """Yield boxes and notes anchored in a paragraph, as text of their own."""
    for element in paragraph:
        if element.tag == _TEXT + "note":
            yield from element.iter(_TEXT + "note-body")
        elif element.tag in (_DRAW + "frame", _DRAW + "custom-shape"):
            yield element
        elif element.tag not in _NOT_TEXT:
            yield from _boxes(element)


def _list_lines(element: "Element", depth: int) -> Iterator[str]:
    for item in element:
        mark = "- "
        for part in item:
            if part.tag == _TEXT + "p" and (text := paragraph_text(part)):
                yield f"{_INDENT * depth}{mark}{text}"
                mark = _INDENT
            elif part.tag == _TEXT + "list":
                yield from _list_lines(part, depth + 1)


def _rows(table: "Element") -> Iterator[list[str]]:
    """Yield the rows of a table, repeated as stated if they contain text."""
    for row in table.iter(_TABLE + "table-row"):
        cells: list[str] = []
        for cell in row:
            if cell.tag in (_TABLE + "table-cell", _TABLE + "covered-table-cell"):
                count = cell.get(_TABLE + "number-columns-repeated")
                cells.extend(
                    [_joined_paragraphs(cell)]
                    * bounded_number(count, default=1, maximum=_MAX_REPEATED_CELLS)
                )
        while cells and not cells[-1]:
            cells.pop()
        count = row.get(_TABLE + "number-rows-repeated") if cells else None
        for _ in range(bounded_number(count, default=1, maximum=_MAX_REPEATED_ROWS)):
            yield [*cells]


def _joined_paragraphs(parent: "Element") -> str:
    return " ".join(text for p in parent.iter(_TEXT + "p") if (text := paragraph_text(p)))


def _metadata(archive: ZipFile) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the properties of a document, and its keywords."""
    metadata: dict[str, Any] = {"language": ""}
    tags: list[str] = []
    styles = read_xml(archive, "styles.xml")
    for style in () if styles is None else styles.iter(_STYLE + "default-style"):
        if style.get(_STYLE + "family") == "paragraph":
            properties = style.find(_STYLE + "text-properties")
            if properties is not None:
                metadata["language"] = properties.get(_FO + "language", "")
            break
    root = read_xml(archive, "meta.xml")
    for element in () if root is None else root.iter():
        text = (element.text or "").strip()
        if text and element.tag in _PROPERTIES:
            metadata[_PROPERTIES[element.tag]] = text
        elif text and element.tag == _META + "keyword":
            tags.append(text)
    return metadata, tuple(tags)
