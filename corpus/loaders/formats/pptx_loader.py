"""PowerPoint: slide by slide, titles as headings, with tables, charts, notes and comments."""

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING
from zipfile import ZipFile

from corpus.errors import UnreadableFile
from corpus.loaders.archives import opened, read_xml
from corpus.loaders.blocks import Block, LoadedDocument, office_document
from corpus.loaders.formats.ooxml import (
    COMMENT_PARTS,
    RELATION,
    chart_blocks,
    comment_authors,
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

_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_C = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_MAIN = "ppt/presentation.xml"
_TITLES = frozenset(("title", "ctrTitle"))
# Placeholders with the same text on every slide.
_FURNITURE = frozenset(("sldNum", "dt", "ftr", "hdr", "sldImg"))
_INDENT = "  "
_MAX_DEPTH = 8


def load(content: bytes, *, filename: str) -> LoadedDocument:
    """Read a presentation; a block's page is the number of its slide."""
    with opened(content) as archive:
        root = read_xml(archive, _MAIN)
        if root is None:
            raise UnreadableFile("The PowerPoint file has no presentation part.")
        parts = relations(archive, _MAIN)
        authors = comment_authors(archive, _MAIN)
        blocks: list[Block] = []
        for number, slide in enumerate(root.iter(_P + "sldId"), start=1):
            part = parts.get(slide.get(RELATION, ""))
            if part is not None:
                blocks.extend(_slide_blocks(archive, part[1], number, authors))
        return office_document(blocks, core_properties(archive))


def _slide_blocks(
    archive: ZipFile, name: str, number: int, authors: dict[str, str]
) -> Iterator[Block]:
    root = read_xml(archive, name)
    tree = None if root is None else root.find(f"{_P}cSld/{_P}spTree")
    if tree is None:
        return
    parts = relations(archive, name)
    # The title comes first, wherever it is in the file.
    for shape in sorted(_shapes(tree), key=lambda shape: _placeholder(shape) not in _TITLES):
        kind = _placeholder(shape)
        if kind in _FURNITURE:
            continue
        body = shape.find(_P + "txBody")
        text = "" if body is None else _body_text(body, bulleted=kind in ("body", "obj"))
        if text and kind in _TITLES:
            line = " ".join(text.split())
            yield Block(line, 1, line, number)
        elif text:
            yield Block(text, page=number)
        for table in shape.iter(_A + "tbl"):
            yield from table_blocks(_rows(table), page=number)
        for chart in shape.iter(_C + "chart"):
            part = parts.get(chart.get(RELATION, ""))
            yield from chart_blocks(archive, part[1], page=number) if part else ()
    for kind, part_name in parts.values():
        if kind in COMMENT_PARTS:
            yield from comment_blocks(archive, part_name, authors, page=number)
        notes = read_xml(archive, part_name) if kind == "notesSlide" else None
        for shape in () if notes is None else notes.iter(_P + "sp"):
            body = shape.find(_P + "txBody")
            is_furniture = _placeholder(shape) in _FURNITURE
            if body is not None and not is_furniture and (text := _body_text(body)):
                yield Block(f"Notes: {text}", page=number)


def _shapes(tree: "Element") -> Iterator["Element"]:
    """Yield shapes and frames in order, including groups; one of each alternative."""
    for element in tree:
        if element.tag in (_P + "sp", _P + "graphicFrame", _P + "cxnSp"):
            yield element
        elif element.tag == _P + "grpSp":
            yield from _shapes(element)
        elif element.tag.endswith("}AlternateContent") and len(element):
            yield from _shapes(element[0])


def _placeholder(shape: "Element") -> str | None:
    """Return the placeholder kind of a shape, or None."""
    placeholder = shape.find(f"{_P}nvSpPr/{_P}nvPr/{_P}ph")
    return None if placeholder is None else placeholder.get("type", "body")


def _body_text(body: "Element", *, bulleted: bool = False) -> str:
    """Return the paragraphs of a shape, one a line; items with their bullet or number."""
    lines = []
    counts: Counter[int] = Counter()
    for paragraph in body.iter(_A + "p"):
        text = "".join(text_pieces(paragraph, {_A + "t": "", _A + "br": "\n"})).strip()
        if not text:
            continue
        properties = paragraph.find(_A + "pPr")
        settings = [] if properties is None else [child.tag for child in properties]
        level = None if properties is None else properties.get("lvl")
        depth = bounded_number(level, default=0, maximum=_MAX_DEPTH)
        for deeper in [each for each in counts if each > depth]:
            del counts[deeper]
        mark = "- " if bulleted or _A + "buChar" in settings else ""
        if _A + "buNone" in settings:
            mark = ""
        elif _A + "buAutoNum" in settings:
            counts[depth] += 1
            mark = f"{counts[depth]}. "
        lines.append(_INDENT * depth + mark + text)
    if len(lines) == 1:
        return lines[0].strip().removeprefix("- ")
    return "\n".join(lines)


def _rows(table: "Element") -> Iterator[list[str]]:
    """Return the text of each cell; a spanning cell is repeated in each it spans."""
    above: list[str] = []
    for row in table.iter(_A + "tr"):
        cells: list[str] = []
        for cell in row.findall(_A + "tc"):
            body = cell.find(_A + "txBody")
            text = "" if body is None else _body_text(body)
            if cell.get("vMerge") == "1" and len(cells) < len(above):
                text = above[len(cells)]
            elif cell.get("hMerge") == "1" and cells:
                text = cells[-1]
            cells.append(text)
        above = cells
        yield cells
