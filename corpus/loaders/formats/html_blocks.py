"""Convert HTML elements to blocks, for every format that contains HTML."""

import re
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import chain, product, takewhile
from typing import TYPE_CHECKING

from corpus.errors import UnreadableFile
from corpus.loaders.blocks import Block
from corpus.loaders.labels import LINE_LEVEL, is_bold_heading, normalize_label
from corpus.loaders.limits import bounded_number
from corpus.loaders.table_blocks import table_blocks

if TYPE_CHECKING:
    from lxml.html import HtmlElement

# Elements that are not shown as text, or hold choices.
_SKIPPED = frozenset(
    (
        "script style template noscript head title svg iframe object embed canvas audio video "
        "datalist select option textarea map"
    ).split()
)
# Elements that browsers lay out as blocks.
_BLOCKS = frozenset(
    (
        "address article aside blockquote body caption center dd details dialog div dl dt fieldset "
        "figcaption figure footer form header hgroup html legend main menu nav p section summary "
        "tbody td tfoot th thead tr table li ul ol hr button label"
    ).split()
)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_LISTS = ("ul", "ol", "menu")
_BOLD = frozenset(("b", "strong"))
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.I)
_INDENT = "  "
# Pages with unclosed lists nest them by hundreds.
_MAX_INDENT = 10
# Limits of list starts and column spans, which pages may set to any number.
_MAX_START = 1_000_000
_MAX_SPAN = 100
_MAX_SPANNED_CELLS = 20_000
# Elements that a child names.
_NAMED_BY = {"details": "summary", "figure": "figcaption"}
_AROUND_BREAK = re.compile(r"(?<! ) *+\n *+")
_SPACE = re.compile(r"[ \t\n\r\f]+")
# Maximum number of nested labels.
_MAX_LABELS = 6


@dataclass(frozen=True, slots=True)
class LinkedBlock:
    """A block with its links, of which menus consist.

    Attributes:
        link_share: Share of its letters in links, in [0, 1].
        inner_count: Links to places of the same page, of which a table of contents has many.
    """

    block: Block
    link_share: float
    inner_count: int


def parse_html(text: str) -> "HtmlElement | None":
    """Return the root element of any HTML, or None if it has no element.

    Raises:
        UnreadableFile: It is nested over 2,000 deep, the limit of the parser.
    """
    from lxml import etree, html  # noqa: PLC0415 - only in the child process

    # Without huge_tree, the parser silently cuts the text at depth 256.
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


def html_blocks(text: str) -> list[Block]:
    """Return the blocks of any HTML in document order."""
    root = parse_html(text)
    return [] if root is None else [piece.block for piece in html_pieces(root)]


def html_pieces(root: "HtmlElement") -> list[LinkedBlock]:
    """Return the blocks like ``html_blocks``, with their share of links."""
    walk = _Walk()
    walk.enter(root)
    walk.end_block()
    return walk.pieces


class _Walk:
    """Collects inline text and ends a block at each block element."""

    def __init__(self) -> None:
        self.pieces: list[LinkedBlock] = []
        self._inline: list[str] = []
        self._linked_chars = 0
        self._inner_count = 0
        self._in_link = 0
        self._labels: tuple[str, ...] = ()
        self._mark = ""

    def enter(self, element: "HtmlElement") -> None:
        tag = element.tag
        blocks = _whole_blocks(element)
        if blocks is not None:
            self.end_block()
            links = element.xpath(".//a[@href]")
            linked = sum(len(inline_text(link)) for link in links)
            chars = sum(len(block.text) for block in blocks)
            share = min(linked / chars, 1.0) if chars else 0.0
            self._mark = ""
            for block in blocks:
                if block.text.strip():
                    labeled = replace(block, labels=(*self._labels, *block.labels))
                    inner_count = sum(map(_is_inner, links))
                    self.pieces.append(LinkedBlock(labeled, share, inner_count))
        elif tag in _LISTS:
            # Add a list whose items contain blocks; each begins with its mark.
            self.end_block()
            number = bounded_number(element.get("start"), default=1, maximum=_MAX_START)
            self._text(element.text)
            for item in element:
                if _is_shown(item):
                    self._mark = f"{number}. " if element.tag == "ol" else "- "
                    number += 1
                    self._inside(item)
                    self._mark = ""
                self._text(item.tail)
            self.end_block()
        elif tag == "dl":
            self._definitions(element)
        elif tag in _BLOCKS or tag in _NAMED_BY:
            label = _find_label(element, _NAMED_BY[tag]) if tag in _NAMED_BY else ""
            self._inside(element, label)
        elif tag == "br":
            self._inline.append("\n")
        elif tag == "math":
            self._inline.append(_math_source(element))
        else:
            is_link = tag == "a" and element.get("href") is not None  # else it is an anchor
            self._in_link += is_link
            self._inner_count += is_link and _is_inner(element)
            self._children(element)
            self._in_link -= is_link

    def _inside(self, element: "HtmlElement", label: str = "") -> None:
        """Add the blocks inside an element, under one more label if it has one."""
        self.end_block()
        outer = self._labels
        self._add_label(label)
        self._children(element)
        self.end_block()
        self._labels = outer

    def _add_label(self, label: str) -> None:
        if label and len(self._labels) < _MAX_LABELS:
            self._labels = (*self._labels, label)

    def _definitions(self, element: "HtmlElement") -> None:
        """Add a definition list, each definition labeled with its term."""
        self.end_block()
        outer = self._labels
        self._text(element.text)
        for child in element:
            if child.tag == "div" and _is_shown(child):
                self._labels = outer
                self._definitions(child)
            elif _is_shown(child):
                before = child.getprevious()
                if child.tag == "dt" and (before is None or before.tag != "dt"):
                    self.end_block()
                    self._labels = outer
                    # Terms right after it share its description; without one, they label nothing.
                    siblings = chain([child], child.itersiblings())
                    terms = list(takewhile(lambda each: each.tag == "dt", siblings))
                    if terms[-1].getnext() is not None:
                        self._add_label(normalize_label(", ".join(map(inline_text, terms))))
                self.enter(child)
            self._text(child.tail)
        self.end_block()
        self._labels = outer

    def _children(self, element: "HtmlElement") -> None:
        self._text(element.text)
        for child in element:
            if _is_shown(child):
                self.enter(child)
            self._text(child.tail)

    def _text(self, text: str | None) -> None:
        if text:
            spaced = _SPACE.sub(" ", text)
            self._inline.append(spaced)
            if self._in_link:
                self._linked_chars += len(spaced.strip())

    def end_block(self) -> None:
        spaced = re.sub(r"[ \t]+", " ", "".join(self._inline))
        # Line breaks stay, without spaces around them.
        text = _AROUND_BREAK.sub("\n", spaced).strip()
        if text:
            block = Block(self._mark + text, labels=self._labels)
            self._mark = ""
            share = min(self._linked_chars / len(text), 1.0)
            self.pieces.append(LinkedBlock(block, share, self._inner_count))
        self._inline.clear()
        self._linked_chars = self._inner_count = 0


def _is_inner(link: "HtmlElement") -> bool:
    """Return whether a link leads to a place of its own page."""
    return str(link.get("href", "")).startswith("#")


def inline_text(element: "HtmlElement") -> str:
    """Return the text of an element on one line."""
    return " ".join("".join(_pieces(element)).split())


def _whole_blocks(element: "HtmlElement") -> list[Block] | None:
    """Return the blocks of an element laid out as a unit; None if it contains others."""
    tag = element.tag
    if tag in _HEADINGS:
        text = inline_text(element)
        return [Block(text, _HEADINGS[tag], text)]
    if tag == "pre":
        element = deepcopy(element)  # the tree may be walked again
        for line_break in element.iter("br"):
            line_break.tail = "\n" + (line_break.tail or "")
        lines = "".join(element.itertext()).replace("\r\n", "\n").split("\n")
        return [Block("\n".join(line.rstrip() for line in lines).strip("\n"))]
    if tag in _LISTS:
        # Lists whose items contain blocks are walked item by item.
        has_blocks = next(element.iter(*_HEADINGS, "pre", "table", "dl"), None) is not None
        if has_blocks or any(len(item.xpath("./p")) > 1 for item in element.iter("li")):
            return None
        return [Block("\n".join(_list_lines(element, 0)))]
    if tag == "table":
        # Others lay out blocks, or a single column.
        is_data = (
            next(element.iter(*_HEADINGS, "pre", "form"), None) is None
            and all(inner is element for inner in element.iter("table"))
            and any(len(row.xpath("./td|./th")) > 1 for row in element.iter("tr"))
        )
        labels = tuple(filter(None, [_find_label(element, "caption")]))
        rows = _table_rows(element) if is_data else []
        blocks = [replace(block, labels=labels) for block in table_blocks(rows)]
        return blocks if is_data else None
    bold = [child for child in element if child.tag in _BOLD] if tag == "p" else []
    if len(bold) == 1 and next(element.iter("br"), None) is None:
        # A paragraph that is one short bold line is a heading.
        text = inline_text(element).rstrip("¶ ")
        if text == inline_text(bold[0]).rstrip("¶ ") and is_bold_heading(text):
            return [Block(text, LINE_LEVEL, text)]
    return None


def _find_label(element: "HtmlElement", tag: str) -> str:
    """Return the label that a child of an element gives to all of it."""
    child = next((one for one in element if one.tag == tag), None)
    return "" if child is None else normalize_label(inline_text(child))


def _is_shown(element: "HtmlElement") -> bool:
    """Return whether a browser would show the element at all."""
    if not isinstance(element.tag, str) or element.tag in _SKIPPED:
        return False
    return element.get("hidden") is None and not _HIDDEN.search(element.get("style") or "")


def _pieces(element: "HtmlElement", nested: "list[HtmlElement] | None" = None) -> Iterator[str]:
    """Yield the text inside an element; put lists into ``nested``, if it is given, instead."""
    yield element.text or ""
    for child in element:
        if _is_shown(child):
            if nested is not None and child.tag in _LISTS:
                nested.append(child)
            elif child.tag == "math":
                yield _math_source(child)
            else:
                space = " " if child.tag in _BLOCKS or child.tag == "br" else ""
                yield space
                yield from _pieces(child, nested)
                yield space
        yield child.tail or ""


def _math_source(element: "HtmlElement") -> str:
    """Return the TeX source if the page contains it, else the symbols in a row."""
    source = element.get("alttext") or "".join(
        annotation.text or ""
        for annotation in element.iter("annotation")
        if "tex" in (annotation.get("encoding") or "")
    )
    return source or "".join(element.itertext())


def _list_lines(element: "HtmlElement", depth: int) -> Iterator[str]:
    """Yield the text of each item after its mark, then its nested lists, indented."""
    number = bounded_number(element.get("start"), default=1, maximum=_MAX_START)
    for item in element:
        if not _is_shown(item):
            continue
        if item.tag in _LISTS:
            yield from _list_lines(item, depth + 1)
            continue
        mark = f"{number}." if element.tag == "ol" else "-"
        number += 1
        nested: list[HtmlElement] = []
        if text := " ".join("".join(_pieces(item, nested)).split()):
            yield f"{_INDENT * min(depth, _MAX_INDENT)}{mark} {text}"
        for inner in nested:
            yield from _list_lines(inner, depth + 1)


def _table_rows(table: "HtmlElement") -> list[list[str]]:
    """Return the text of each cell; a spanning cell is repeated in each it spans."""
    rows: list[list[str]] = []
    # Text of spanning cells by the row and column that they reserve.
    reserved: dict[tuple[int, int], str] = {}
    for number, row in enumerate(table.iter("tr")):
        cells: list[str] = []
        for cell in row.xpath("./td|./th"):
            while (number, len(cells)) in reserved:
                cells.append(reserved.pop((number, len(cells))))
            text, column = inline_text(cell), len(cells)
            width, height = (
                bounded_number(cell.get(name), default=1, maximum=_MAX_SPAN)
                for name in ("colspan", "rowspan")
            )
            if len(reserved) + width * height <= _MAX_SPANNED_CELLS:
                for down, right in product(range(height), range(width)):
                    if down or right:
                        reserved[number + down, column + right] = text
            cells.append(text)
        while (number, len(cells)) in reserved:
            cells.append(reserved.pop((number, len(cells))))
        rows.append(cells)
    caption = next(table.iter("caption"), None)
    if caption is not None and (text := inline_text(caption)):
        rows.insert(0, [text])
    return rows
