"""Text, lists, tables and labels of single HTML elements."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from corpus.loaders.blocks import Block
from corpus.loaders.labels import LINE_LEVEL, is_bold_heading, normalize_label
from corpus.loaders.limits import bounded_number
from corpus.loaders.table_blocks import table_blocks

if TYPE_CHECKING:
    from lxml.html import HtmlElement

# Elements that are not shown as text, or hold choices.
_SKIPPED_TAGS = (
    "script style template noscript head title svg iframe object embed canvas audio video "
    "datalist select option textarea map"
)
_SKIPPED = frozenset(_SKIPPED_TAGS.split())
# Elements that browsers lay out as blocks.
_BLOCK_TAGS = (
    "address article aside blockquote body caption center dd details dialog div dl dt fieldset "
    "figcaption figure footer form header hgroup html legend main menu nav p section summary "
    "tbody td tfoot th thead tr table li ul ol hr button label"
)
BLOCKS = frozenset(_BLOCK_TAGS.split())
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
LISTS = ("ul", "ol", "menu")
_BOLD = frozenset(("b", "strong"))
_AROUND_BREAK = re.compile(r"(?<! ) *+\n *+")
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.I)
_INDENT = "  "
# Pages with unclosed lists nest them by hundreds.
_MAX_INDENT = 10
# Limits of list starts and column spans, which pages may set to any number.
MAX_START = 1_000_000
_MAX_SPAN = 100
_MAX_SPANNED_CELLS = 20_000


def inline_text(element: "HtmlElement") -> str:
    """Return the text of an element on one line."""
    return " ".join("".join(_pieces(element)).split())


def whole_blocks(element: "HtmlElement") -> list[Block] | None:
    """Return the blocks of an element laid out as a unit; None if it contains others."""
    tag = element.tag
    if tag in _HEADINGS:
        text = inline_text(element)
        blocks = [Block(text, _HEADINGS[tag], text)]
    elif tag == "pre":
        blocks = [Block(_preformatted(element))]
    elif tag in LISTS and not _has_rich_items(element):
        blocks = [Block("\n".join(_list_lines(element, 0)))]
    elif tag == "table" and _is_data_table(element):
        labels = tuple(filter(None, [find_label(element, "caption")]))
        blocks = [replace(block, labels=labels) for block in table_blocks(_table_rows(element))]
    elif tag == "p" and (text := _bold_line(element)):
        blocks = [Block(text, LINE_LEVEL, text)]
    else:
        return None
    return blocks


def find_label(element: "HtmlElement", tag: str) -> str:
    """Return the label that a child of an element gives to all of it."""
    child = next((one for one in element if one.tag == tag), None)
    return "" if child is None else normalize_label(inline_text(child))


def follows_term(term: "HtmlElement") -> bool:
    before = term.getprevious()
    return before is not None and before.tag == "dt"


def terms_from(term: "HtmlElement") -> list[str]:
    """Return a term and those right after it that share a description, or nothing."""
    terms: list[str] = []
    following: HtmlElement | None = term
    while following is not None and following.tag == "dt":
        terms.append(inline_text(following))
        following = following.getnext()
    return terms if following is not None else []


def _bold_line(element: "HtmlElement") -> str:
    """Return the text of a paragraph that is one short bold line, else ""."""
    bold = [child for child in element if child.tag in _BOLD]
    if len(bold) != 1 or next(element.iter("br"), None) is not None:
        return ""
    text = inline_text(element).rstrip("¶ ")
    return text if text == inline_text(bold[0]).rstrip("¶ ") and is_bold_heading(text) else ""


def is_shown(element: "HtmlElement") -> bool:
    """Return whether a browser would show the element at all."""
    if not isinstance(element.tag, str) or element.tag in _SKIPPED:
        return False
    return element.get("hidden") is None and not _HIDDEN.search(element.get("style") or "")


def collapse_spaces(text: str) -> str:
    """Collapse spaces in inline text; keep line breaks without spaces around them."""
    return _AROUND_BREAK.sub("\n", re.sub(r"[ \t]+", " ", text)).strip()


def _preformatted(element: "HtmlElement") -> str:
    """Return the text of a listing without empty lines around it."""
    for line_break in element.iter("br"):
        line_break.tail = "\n" + (line_break.tail or "")
    lines = "".join(element.itertext()).replace("\r\n", "\n").split("\n")
    return "\n".join(line.rstrip() for line in lines).strip("\n")


def _pieces(element: "HtmlElement") -> Iterator[str]:
    yield element.text or ""
    for child in element:
        if is_shown(child):
            if child.tag == "math":
                yield math_source(child)
            else:
                yield " " if child.tag in BLOCKS or child.tag == "br" else ""
                yield from _pieces(child)
                yield " " if child.tag in BLOCKS else ""
        yield child.tail or ""


def math_source(element: "HtmlElement") -> str:
    """Return the TeX source if the page contains it, else the symbols in a row."""
    stated = element.get("alttext") or "".join(
        annotation.text or ""
        for annotation in element.iter("annotation")
        if "tex" in (annotation.get("encoding") or "")
    )
    return stated or "".join(element.itertext())


def _has_rich_items(element: "HtmlElement") -> bool:
    """Return whether list items contain blocks such as headings, listings or tables."""
    if next(element.iter(*_HEADINGS, "pre", "table", "dl"), None) is not None:
        return True
    return any(len(item.xpath("./p")) > 1 for item in element.iter("li"))


def _list_lines(element: "HtmlElement", depth: int) -> Iterator[str]:
    number = bounded_number(element.get("start"), default=1, most=MAX_START)
    for item in element:
        if not is_shown(item):
            continue
        if item.tag in LISTS:
            yield from _list_lines(item, depth + 1)
            continue
        mark = f"{number}." if element.tag == "ol" else "-"
        number += 1
        yield from _item_lines(item, depth, mark)


def _item_lines(item: "HtmlElement", depth: int, mark: str) -> Iterator[str]:
    """Return the text of an item after its mark, then its nested lists, indented."""
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
            if child.tag in LISTS:
                nested.append(child)
            elif child.tag == "math":
                own.append(math_source(child))
            else:
                space = " " if child.tag in BLOCKS or child.tag == "br" else ""
                own.append(space + (child.text or ""))
                _split_item(child, own, nested)
                own.append(space)
        own.append(child.tail or "")


def _is_data_table(table: "HtmlElement") -> bool:
    """Return whether a table holds data; layout tables hold blocks or one column."""
    if next(table.iter(*_HEADINGS, "pre", "form"), None) is not None:
        return False
    if any(inner is not table for inner in table.iter("table")):
        return False
    return any(len(row.xpath("./td|./th")) > 1 for row in table.iter("tr"))


def _table_rows(table: "HtmlElement") -> list[list[str]]:
    """Return the text of each cell; a spanning cell is repeated in each it spans."""
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
    """Reserve the columns and rows a cell spans, so that later cells keep their columns."""
    wide, high = (_span(cell, name) for name in ("colspan", "rowspan"))
    row, column = place
    if len(taken) + wide * high > _MAX_SPANNED_CELLS:
        return
    for down in range(high):
        for right in range(wide):
            if down or right:
                taken[row + down, column + right] = text


def _span(cell: "HtmlElement", name: str) -> int:
    return bounded_number(cell.get(name), default=1, most=_MAX_SPAN)
