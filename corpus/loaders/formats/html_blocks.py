"""Convert HTML elements to blocks, for every format that contains HTML."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from corpus.errors import UnreadableFile
from corpus.loaders.blocks import Block
from corpus.loaders.formats.html_elements import (
    BLOCKS,
    LISTS,
    MAX_START,
    collapse_spaces,
    find_label,
    follows_term,
    inline_text,
    is_shown,
    math_source,
    terms_from,
    whole_blocks,
)
from corpus.loaders.labels import normalize_label
from corpus.loaders.limits import bounded_number

if TYPE_CHECKING:
    from lxml.html import HtmlElement

# Elements that a child names.
_NAMED_BY = {"details": "summary", "figure": "figcaption"}
_SPACE = re.compile(r"[ \t\n\r\f]+")
# Maximum number of nested labels.
_MAX_LABELS = 6


@dataclass(frozen=True, slots=True)
class LinkedBlock:
    """A block, and the share of its letters in links, which is high for menus."""

    block: Block
    link_share: float


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


def html_blocks(root: "HtmlElement") -> list[Block]:
    """Yield the blocks below an element in document order."""
    return [piece.block for piece in html_pieces(root)]


def html_pieces(root: "HtmlElement") -> list[LinkedBlock]:
    """Yield the blocks like ``html_blocks``, with their share of links."""
    return _Walk().over(root)


class _Walk:
    """Collects inline text and ends a block at each block element."""

    def __init__(self) -> None:
        self._pieces: list[LinkedBlock] = []
        self._inline: list[str] = []
        self._linked_chars = 0
        self._in_link = 0
        self._labels: tuple[str, ...] = ()
        self._mark = ""

    def over(self, root: "HtmlElement") -> list[LinkedBlock]:
        self._enter(root)
        self._flush()
        return self._pieces

    def _enter(self, element: "HtmlElement") -> None:
        tag = element.tag
        blocks = whole_blocks(element)
        if blocks is not None:
            self._add(element, blocks)
        elif tag in LISTS:
            self._rich_list(element)
        elif tag == "dl":
            self._definitions(element)
        elif tag in _NAMED_BY:
            self._inside(element, self._below(find_label(element, _NAMED_BY[tag])))
        elif tag in BLOCKS:
            self._inside(element, self._labels)
        else:
            self._inline_element(element)

    def _below(self, label: str) -> tuple[str, ...]:
        """Return the current labels plus one, unless it is empty or there are too many."""
        is_kept = label and len(self._labels) < _MAX_LABELS
        return (*self._labels, label) if is_kept else self._labels

    def _inside(self, element: "HtmlElement", labels: tuple[str, ...]) -> None:
        """Return the blocks inside an element, with these labels."""
        self._flush()
        outer, self._labels = self._labels, labels
        self._children(element)
        self._flush()
        self._labels = outer

    def _rich_list(self, element: "HtmlElement") -> None:
        """Add a list whose items contain blocks; each begins with its mark."""
        self._flush()
        number = bounded_number(element.get("start"), default=1, most=MAX_START)
        self._text(element.text)
        for item in element:
            if is_shown(item):
                self._mark = f"{number}. " if element.tag == "ol" else "- "
                number += 1
                self._inside(item, self._labels)
                self._mark = ""
            self._text(item.tail)
        self._flush()

    def _definitions(self, element: "HtmlElement") -> None:
        """Add a definition list, each definition labeled with its term."""
        self._flush()
        outer = self._labels
        self._text(element.text)
        for child in element:
            if child.tag == "div" and is_shown(child):
                self._labels = outer
                self._definitions(child)
            elif is_shown(child):
                if child.tag == "dt" and not follows_term(child):
                    self._flush()
                    self._labels = outer
                    self._labels = self._below(normalize_label(", ".join(terms_from(child))))
                self._enter(child)
            self._text(child.tail)
        self._flush()
        self._labels = outer

    def _inline_element(self, element: "HtmlElement") -> None:
        if element.tag == "br":
            self._inline.append("\n")
        elif element.tag == "math":
            self._inline.append(math_source(element))
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

    def _add(self, element: "HtmlElement", blocks: Sequence[Block]) -> None:
        self._flush()
        linked = sum(len(inline_text(link)) for link in element.iter("a"))
        chars = sum(len(block.text) for block in blocks)
        share = min(linked / chars, 1.0) if chars else 0.0
        self._mark = ""
        named = (
            replace(block, labels=(*self._labels, *block.labels))
            for block in blocks
            if block.text.strip()
        )
        self._pieces.extend(LinkedBlock(block, share) for block in named)

    def _flush(self) -> None:
        text = collapse_spaces("".join(self._inline))
        if text:
            block = Block(self._mark + text, labels=self._labels)
            self._mark = ""
            self._pieces.append(LinkedBlock(block, min(self._linked_chars / len(text), 1.0)))
        self._inline.clear()
        self._linked_chars = 0
