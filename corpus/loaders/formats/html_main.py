"""
Which blocks of a page are its content, and which are menus, teasers and footers.

trafilatura finds the main text well but forgets the page's structure, and drops the lead
paragraph, tables and listings more often than not. So its answer only marks blocks of our own:
the content is what lies between the first and the last marked block, less what is all links.
"""

import copy
import re
from typing import TYPE_CHECKING

from corpus.loaders.base import Block
from corpus.loaders.formats.markup import LinkedBlock

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_NOT_LETTERS = re.compile(r"\W+")
# Elements by which a page says itself that something is beside its content.
_BESIDE = ("nav", "aside", "footer")
# A block of so many characters is prose; a shorter one may be a label or a button.
_LONG_CHARS = 60
# From this share of letters in links on, a block leads elsewhere.
_MAX_LINK_SHARE = 0.5
# A page whose links stand in its text, not in lists of their own, has no menus to drop.
_MIN_MENU_SHARE = 0.1
# How far above the first marked block the heading of it all may stand.
_MAX_LEAD_BLOCKS = 12
_MAX_LEAD_LEVEL = 3
# Under this share of the text that is no link, trafilatura has missed the point of the page.
_MIN_MAIN_SHARE = 0.25
# Each block is looked for in the main text, so time grows with the square of its length.
_MAX_SEARCHED_CHARS = 300_000
# Its time grows with the square of some pages' size.
_MAX_ELEMENTS = 50_000


def main_blocks(root: "HtmlElement", pieces: list[LinkedBlock]) -> list[Block]:
    """The blocks that make up the content of a page, all of them where that is unclear."""
    everything = [piece.block for piece in pieces]
    if not _has_menus(root, pieces):
        return everything
    marked = _marked(pieces, _main_text(root))
    anchors = [
        at for at, piece in enumerate(pieces) if marked[at] and len(piece.block.text) >= _LONG_CHARS
    ]
    if not anchors:
        return everything
    first, last = _widened(marked, anchors[0], anchors[-1])
    content = _lead(pieces[:first]) + [
        pieces[at].block for at in range(first, last + 1) if marked[at] or _is_content(pieces[at])
    ]
    return content if _share(content, pieces) >= _MIN_MAIN_SHARE else everything


def _marked(pieces: list[LinkedBlock], main: str) -> list[bool]:
    """Which blocks are part of the main text, as a line of it or inside one."""
    lines = {_letters(line) for line in main.splitlines()}
    # A search through all of a long text for each block takes minutes.
    joined = _letters(main) if len(main) <= _MAX_SEARCHED_CHARS else ""
    letters = (_letters(piece.block.text) for piece in pieces)
    return [bool(main) and (one in lines or one in joined) for one in letters]


def _has_menus(root: "HtmlElement", pieces: list[LinkedBlock]) -> bool:
    if next(root.iter(*_BESIDE), None) is not None:
        return True
    chars = sum(len(piece.block.text) for piece in pieces)
    linked = sum(len(p.block.text) for p in pieces if p.link_share > _MAX_LINK_SHARE)
    return linked > chars * _MIN_MENU_SHARE


def _widened(marked: list[bool], first: int, last: int) -> tuple[int, int]:
    """The range with the short marked blocks right before and after it."""
    while first > 0 and marked[first - 1]:
        first -= 1
    while last + 1 < len(marked) and marked[last + 1]:
        last += 1
    return first, last


def _main_text(root: "HtmlElement") -> str:
    import trafilatura  # noqa: PLC0415 - slow to import

    if sum(1 for _ in root.iter()) > _MAX_ELEMENTS:
        return ""
    text = trafilatura.extract(
        copy.deepcopy(root), output_format="txt", include_comments=False, include_tables=True
    )
    return text or ""


def _letters(text: str) -> str:
    return _NOT_LETTERS.sub("", text).lower()


def _is_content(piece: LinkedBlock) -> bool:
    if piece.link_share > _MAX_LINK_SHARE:
        return False
    block = piece.block
    is_named = block.heading_level is not None or bool(block.under)
    return is_named or len(block.text) >= _LONG_CHARS or "\n" in block.text


def _lead(before: list[LinkedBlock]) -> list[Block]:
    """What stands between the page's heading and the first marked block, heading included."""
    near = before[-_MAX_LEAD_BLOCKS:]
    for at in range(len(near) - 1, -1, -1):
        level = near[at].block.heading_level
        if level is None or level > _MAX_LEAD_LEVEL or near[at].link_share > _MAX_LINK_SHARE:
            continue
        under = (one for one in near[at + 1 :] if _is_content(one))
        long = [one.block for one in under if len(one.block.text) >= _LONG_CHARS]
        return [near[at].block, *long]
    return []


def _share(content: list[Block], pieces: list[LinkedBlock]) -> float:
    text = sum(len(piece.block.text) for piece in pieces if piece.link_share <= _MAX_LINK_SHARE)
    return sum(len(block.text) for block in content) / max(text, 1)
