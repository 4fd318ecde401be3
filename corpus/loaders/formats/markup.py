"""HTML elements to blocks, for every format that carries HTML: pages, books, messages."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from corpus.errors import UnreadableFile
from corpus.loaders.base import Block
from corpus.loaders.bounds import stated_number
from corpus.loaders.tables import table_blocks

if TYPE_CHECKING:
    from lxml.html import HtmlElement

# What no reader sees as text, or is chosen from rather than read.
_SKIPPED_TAGS = (
    "script style template noscript head title svg iframe object embed canvas audio video "
    "datalist select option textarea map"
)
_SKIPPED = frozenset(_SKIPPED_TAGS.split())
# What begins and ends a block, as browsers lay pages out.
_BLOCK_TAGS = (
    "address article aside blockquote body caption center dd details dialog div dl dt fieldset "
    "figcaption figure footer form header hgroup html legend main menu nav p section summary "
    "tbody td tfoot th thead tr table li ul ol hr button label"
)
_BLOCKS = frozenset(_BLOCK_TAGS.split())
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_SPACE = re.compile(r"[ \t\n\r\f]+")
_AROUND_BREAK = re.compile(r" *\n *")
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.I)
_INDENT = "  "
# Pages with unclosed lists nest them by hundreds.
_MAX_INDENT = 10
# Pages may state any number: where a list begins, how many columns a cell spans.
_MAX_START = 1_000_000
_MAX_SPAN = 100
_MAX_SPANNED_CELLS = 20_000


@dataclass(frozen=True, slots=True)
class LinkedBlock:
    """A block, and the share of its letters that are links: menus are nothing else."""

    block: Block
    link_share: float


def parse_html(text: str) -> "HtmlElement | None":
    """The root element of any HTML, however broken; None where there is no element at all.

    Raises:
        UnreadableFile: It is nested over 2,000 deep, where the parser gives up.
    """
    from lxml import etree, html  # noqa: PLC0415 - only in the child process

    # Without huge_tree, what is nested 256 deep ends the text without a word.
    parser = html.HTMLParser(
        encoding="utf-8", remove_comments=True, remove_pis=True, huge_tree=True
    )
    try:
        root = html.document_fromstring(text.encode("utf-8", "replace"), parser=parser)
    except etree.ParserError:  # "Document is empty"
        return None
    if any(error.type_name == "ERR_RESOURCE_LIMIT" for error in parser.error_log):
        raise UnreadableFile("The page is nested too deeply.")
    return root


def html_blocks(root: "HtmlElement") -> list[Block]:
    """The blocks below an element, in document order: headings, paragraphs, lists, tables."""
    return [piece.block for piece in html_pieces(root)]


def html_pieces(root: "HtmlElement") -> list[LinkedBlock]:
    """As ``html_blocks``, with what tells menus from text."""
    return _Walk().over(root)


def inline_text(element: "HtmlElement") -> str:
    """An element's text on one line."""
    return " ".join("".join(_pieces(element)).split())


class _Walk:
    """Collects inline text and turns it into a block at each border of a block element."""

    def __init__(self) -> None:
        self._pieces: list[LinkedBlock] = []
        self._inline: list[str] = []
        self._linked_chars = 0
        self._in_link = 0

    def over(self, root: "HtmlElement") -> list[LinkedBlock]:
        self._enter(root)
        self._flush()
        return self._pieces

    def _enter(self, element: "HtmlElement") -> None:
        tag = element.tag
        if tag in _HEADINGS:
            text = inline_text(element)
            self._add(element, Block(text, _HEADINGS[tag], text))
        elif tag == "pre":
            self._add(element, Block(preformatted(element)))
        elif tag in ("ul", "ol", "menu") and not _has_rich_items(element):
            self._add(element, Block("\n".join(_list_lines(element, 0))))
        elif tag == "table" and is_data_table(element):
            self._add(element, *table_blocks(table_rows(element)))
        elif tag in _BLOCKS:
            self._flush()
            self._children(element)
            self._flush()
        else:
            self._inline_element(element)

    def _inline_element(self, element: "HtmlElement") -> None:
        if element.tag == "br":
            self._inline.append("\n")
        elif element.tag == "math":
            self._inline.append(_math(element))
        elif element.tag == "a":
            self._in_link += 1
            self._children(element)
            self._in_link -= 1
        else:
            self._children(element)

    def _children(self, element: "HtmlElement") -> None:
        self._text(element.text)
        for child in element:
            if is_shown(child):
                self._enter(child)
            self._text(child.tail)

    def _text(self, text: str | None) -> None:
        if text:
            spaced = _SPACE.sub(" ", text)
            self._inline.append(spaced)
            if self._in_link:
                self._linked_chars += len(spaced.strip())

    def _add(self, element: "HtmlElement", *blocks: Block) -> None:
        self._flush()
        linked = sum(len(inline_text(link)) for link in element.iter("a"))
        chars = sum(len(block.text) for block in blocks)
        share = min(linked / chars, 1.0) if chars else 0.0
        self._pieces.extend(LinkedBlock(block, share) for block in blocks if block.text.strip())

    def _flush(self) -> None:
        text = tidied("".join(self._inline))
        if text:
            self._pieces.append(LinkedBlock(Block(text), min(self._linked_chars / len(text), 1.0)))
        self._inline.clear()
        self._linked_chars = 0


def is_shown(element: "HtmlElement") -> bool:
    """Whether a browser would show the element at all."""
    if not isinstance(element.tag, str) or element.tag in _SKIPPED:
        return False
    return element.get("hidden") is None and not _HIDDEN.search(element.get("style") or "")


def tidied(text: str) -> str:
    """Inline text with single spaces; line breaks stay, without spaces around them."""
    return _AROUND_BREAK.sub("\n", re.sub(r"[ \t]+", " ", text)).strip()


def preformatted(element: "HtmlElement") -> str:
    """The text of a listing as it is, without empty lines around it."""
    for line_break in element.iter("br"):
        line_break.tail = "\n" + (line_break.tail or "")
    lines = "".join(element.itertext()).replace("\r\n", "\n").split("\n")
    return "\n".join(line.rstrip() for line in lines).strip("\n")


def _pieces(element: "HtmlElement") -> Iterator[str]:
    yield element.text or ""
    for child in element:
        if is_shown(child):
            if child.tag == "math":
                yield _math(child)
            else:
                yield " " if child.tag in _BLOCKS or child.tag == "br" else ""
                yield from _pieces(child)
                yield " " if child.tag in _BLOCKS else ""
        yield child.tail or ""


def _math(element: "HtmlElement") -> str:
    """The TeX source where the page has it, else the symbols in a row."""
    stated = element.get("alttext") or "".join(
        annotation.text or ""
        for annotation in element.iter("annotation")
        if "tex" in (annotation.get("encoding") or "")
    )
    return stated or "".join(element.itertext())


def _has_rich_items(element: "HtmlElement") -> bool:
    """Whether items hold headings, listings or tables, which are blocks of their own."""
    return next(element.iter(*_HEADINGS, "pre", "table"), None) is not None


def _list_lines(element: "HtmlElement", depth: int) -> Iterator[str]:
    number = stated_number(element.get("start"), default=1, most=_MAX_START)
    for item in element:
        if not is_shown(item):
            continue
        if item.tag in ("ul", "ol", "menu"):
            yield from _list_lines(item, depth + 1)
            continue
        mark = f"{number}." if element.tag == "ol" else "-"
        number += 1
        yield from _item_lines(item, depth, mark)


def _item_lines(item: "HtmlElement", depth: int, mark: str) -> Iterator[str]:
    """An item's own text after its mark, then the lists inside it, further in."""
    own: list[str] = [item.text or ""]
    nested: list[HtmlElement] = []
    _split_item(item, own, nested)
    text = " ".join("".join(own).split())
    if text:
        yield f"{_INDENT * min(depth, _MAX_INDENT)}{mark} {text}"
    for inner in nested:
        yield from _list_lines(inner, depth + 1)


def _split_item(element: "HtmlElement", own: list[str], nested: "list[HtmlElement]") -> None:
    for child in element:
        if is_shown(child):
            if child.tag in ("ul", "ol", "menu"):
                nested.append(child)
            elif child.tag == "math":
                own.append(_math(child))
            else:
                space = " " if child.tag in _BLOCKS or child.tag == "br" else ""
                own.append(space + (child.text or ""))
                _split_item(child, own, nested)
                own.append(space)
        own.append(child.tail or "")


def is_data_table(table: "HtmlElement") -> bool:
    """Whether a table holds data; one that lays out a page holds tables, headings or one column."""
    if next(table.iter(*_HEADINGS, "pre", "form"), None) is not None:
        return False
    if any(inner is not table for inner in table.iter("table")):
        return False
    return any(len(row.xpath("./td|./th")) > 1 for row in table.iter("tr"))


def table_rows(table: "HtmlElement") -> list[list[str]]:
    """The cells' text; a cell that spans columns or rows is repeated in each of them."""
    rows: list[list[str]] = []
    taken: dict[tuple[int, int], str] = {}
    for number, row in enumerate(table.iter("tr")):
        cells: list[str] = []
        for cell in row.xpath("./td|./th"):
            while (number, len(cells)) in taken:
                cells.append(taken.pop((number, len(cells))))
            text = inline_text(cell)
            _reserve(cell, (number, len(cells)), text, taken)
            cells.append(text)
        while (number, len(cells)) in taken:
            cells.append(taken.pop((number, len(cells))))
        rows.append(cells)
    caption = next(table.iter("caption"), None)
    if caption is not None and (text := inline_text(caption)):
        rows.insert(0, [text])
    return rows


def _reserve(
    cell: "HtmlElement", place: tuple[int, int], text: str, taken: dict[tuple[int, int], str]
) -> None:
    """Keep the places a cell spans, so that the cells after it stay in their columns."""
    wide, high = (_span(cell, name) for name in ("colspan", "rowspan"))
    row, column = place
    if len(taken) + wide * high > _MAX_SPANNED_CELLS:
        return
    for down in range(high):
        for right in range(wide):
            if down or right:
                taken[row + down, column + right] = text


def _span(cell: "HtmlElement", name: str) -> int:
    return stated_number(cell.get(name), default=1, most=_MAX_SPAN)
