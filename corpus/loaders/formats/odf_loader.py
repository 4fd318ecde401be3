"""OpenDocument: texts (ODT), spreadsheets (ODS) and presentations (ODP)."""

from collections.abc import Iterator
from pathlib import PurePath
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

from corpus.errors import UnreadableFile
from corpus.loaders.archives import opened, read_entry, read_xml
from corpus.loaders.blocks import Block, LoadedDocument
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
_PRESENTATION = _NS + "presentation:1.0}"
_META = _NS + "meta:1.0}"
_FO = _NS + "xsl-fo-compatible:1.0}"
_DC = "{http://purl.org/dc/elements/1.1/}"
_INDENT = "  "
_MAX_LEVEL = 6
# Limits of repeated blanks, which are stored as a count.
_MAX_SPACES = 100
# Limits of repeated rows: a sheet may repeat an empty row a million times.
_MAX_REPEATED_ROWS = 100
_MAX_REPEATED_CELLS = 100
# Elements that are not part of the sentence around them.
_NOT_TEXT = frozenset(
    (
        _OFFICE + "annotation",
        _TEXT + "tracked-changes",
        _TEXT + "note",
        _DRAW + "frame",
        _DRAW + "custom-shape",
        _TEXT + "sequence-decls",
    )
)
_STATED = {
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
    """Read an OpenDocument file.

    Raises:
        UnreadableFile: It is damaged or encrypted.
    """
    with opened(content) as archive:
        manifest = read_entry(archive, "META-INF/manifest.xml") or b""
        if b"encryption-data" in manifest:
            raise UnreadableFile("The file is protected by a password.")
        root = read_xml(archive, "content.xml")
        body = None if root is None else root.find(_OFFICE + "body")
        if root is None or body is None or not len(body):
            raise UnreadableFile("The OpenDocument file has no content.")
        titles = _title_styles(root)
        stated, tags = _stated(archive)
    title = stated.pop("title", "")
    if body[0].tag == _OFFICE + "spreadsheet":
        blocks = [block for table in body.iter(_TABLE + "table") for block in _sheet(table)]
        title = title or PurePath(filename).stem
    else:
        blocks = _Reader(titles).blocks(body[0])
    return LoadedDocument(tuple(blocks), title=title, metadata=stated, tags=tags)


class _Reader:
    """Walks a text or a presentation."""

    def __init__(self, titles: frozenset[str]) -> None:
        self._titles = titles
        self._blocks: list[Block] = []
        self._page: int | None = None
        self._visitors = {
            _TEXT + "h": self._heading,
            _TEXT + "p": self._paragraph,
            _TEXT + "list": self._list,
            _TABLE + "table": self._table,
            _DRAW + "page": self._slide,
            _DRAW + "frame": self._frame,
            _OFFICE + "forms": self._nothing,
            _TEXT + "tracked-changes": self._nothing,
        }

    def blocks(self, body: "Element") -> list[Block]:
        self._walk(body)
        return self._blocks

    def _walk(self, parent: "Element") -> None:
        for element in parent:
            visit = self._visitors.get(element.tag, self._walk)
            visit(element)

    def _heading(self, element: "Element") -> None:
        stated = element.get(_TEXT + "outline-level")
        self._add(element, bounded_number(stated, default=1, most=_MAX_LEVEL))

    def _paragraph(self, element: "Element") -> None:
        is_title = element.get(_TEXT + "style-name", "") in self._titles
        self._add(element, 1 if is_title else None)

    def _table(self, element: "Element") -> None:
        self._blocks.extend(table_blocks(_rows(element, _MAX_REPEATED_CELLS), page=self._page))

    def _slide(self, element: "Element") -> None:
        self._page = (self._page or 0) + 1
        self._walk(element)

    def _nothing(self, element: "Element") -> None:
        """Skip settings of forms, and deleted text."""

    def _frame(self, frame: "Element") -> None:
        """Add the text of a box; a picture has several renderings, none of which is text."""
        if frame.get(_PRESENTATION + "class") == "title":
            text = " ".join(t for p in frame.iter(_TEXT + "p") if (t := paragraph_text(p)))
            if text:
                self._blocks.append(Block(text, 1, text, self._page))
        else:
            self._walk(frame)

    def _add(self, paragraph: "Element", level: int | None) -> None:
        text = paragraph_text(paragraph)
        if text and level is not None:
            line = " ".join(text.split())
            self._blocks.append(Block(line, max(level, 1), line, self._page))
        elif text:
            self._blocks.append(Block(text, page=self._page))
        for beside in _boxes(paragraph):
            self._walk(beside)

    def _list(self, element: "Element") -> None:
        heading = element.find(f".//{_TEXT}h")
        if heading is not None:  # numbered headings are list items
            for item in element:
                self._walk(item)
            return
        text = "\n".join(_list_lines(element, 0))
        if text:
            self._blocks.append(Block(text, page=self._page))


def paragraph_text(paragraph: "Element") -> str:
    """Return the text of one paragraph, with its spaces and tabs expanded."""
    return "".join(_pieces(paragraph)).strip()


def _pieces(parent: "Element") -> Iterator[str]:
    yield parent.text or ""
    for element in parent:
        if element.tag == _TEXT + "s":
            yield " " * bounded_number(element.get(_TEXT + "c"), default=1, most=_MAX_SPACES)
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


def _sheet(table: "Element") -> Iterator[Block]:
    return sheet_blocks(table.get(_TABLE + "name", ""), _rows(table, _MAX_REPEATED_CELLS))


def _rows(table: "Element", most: int) -> Iterator[list[str]]:
    """Yield the rows of a table, repeated as stated if they contain text."""
    for row in table.iter(_TABLE + "table-row"):
        cells: list[str] = []
        for cell in row:
            if cell.tag not in (_TABLE + "table-cell", _TABLE + "covered-table-cell"):
                continue
            text = " ".join(t for p in cell.iter(_TEXT + "p") if (t := paragraph_text(p)))
            cells.extend([text] * _repeated(cell, "number-columns-repeated", most))
        while cells and not cells[-1]:
            cells.pop()
        count = _repeated(row, "number-rows-repeated", _MAX_REPEATED_ROWS) if cells else 1
        yield from ([*cells] for _ in range(count))


def _repeated(element: "Element", name: str, most: int) -> int:
    return bounded_number(element.get(_TABLE + name), default=1, most=most)


def _title_styles(root: "Element") -> frozenset[str]:
    """Return the names of paragraph styles that mark the document's title."""
    derived = (
        style.get(_STYLE + "name", "")
        for style in root.iter(_STYLE + "style")
        if style.get(_STYLE + "parent-style-name") == "Title"
    )
    return frozenset(("Title", *derived))


def _stated(archive: ZipFile) -> tuple[dict[str, Any], tuple[str, ...]]:
    root = read_xml(archive, "meta.xml")
    stated: dict[str, Any] = {}
    tags: list[str] = []
    for element in () if root is None else root.iter():
        text = (element.text or "").strip()
        if text and element.tag in _STATED:
            stated[_STATED[element.tag]] = text
        elif text and element.tag == _META + "keyword":
            tags.append(text)
    return {"language": _language(archive), **stated}, tuple(tags)


def _language(archive: ZipFile) -> str:
    """Return the default language of paragraphs."""
    root = read_xml(archive, "styles.xml")
    for style in () if root is None else root.iter(_STYLE + "default-style"):
        if style.get(_STYLE + "family") == "paragraph":
            properties = style.find(_STYLE + "text-properties")
            return "" if properties is None else properties.get(_FO + "language", "")
    return ""
