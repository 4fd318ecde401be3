"""HTML pages: the main content without menus, teasers and footers.

trafilatura finds the main text well, but loses the page's structure and often drops the lead
paragraph, tables and listings. So its result only marks our blocks: the content is everything
between the first and the last marked block, except blocks of links.
"""

import copy
import re
from typing import TYPE_CHECKING, Any

from corpus.errors import EmptyDocument
from corpus.loaders.blocks import Block, LoadedDocument
from corpus.loaders.charset import decode
from corpus.loaders.formats.html_blocks import LinkedBlock, html_pieces, inline_text, parse_html

if TYPE_CHECKING:
    from lxml.html import HtmlElement

PRELOAD = ("lxml.html", "trafilatura")

# Metadata elements of pages, and the keys they are stored under.
_META_NAMES = {
    "description": "description og:description",
    "author": "author article:author dc.creator dcterms.creator citation_author",
    "created": "article:published_time date dc.date dcterms.created dcterms.issued"
    " citation_publication_date",
    "modified": "article:modified_time dcterms.modified",
    "language": "content-language dc.language og:locale",
    "site_name": "og:site_name",
}
_KEYS = {name: key for key, names in _META_NAMES.items() for name in names.split()}
_NOT_LETTERS = re.compile(r"\W+")
# Elements that pages use for secondary content.
_BESIDE = ("nav", "aside", "footer")
# Elements that are never content: menus, and notes about the site.
_FRAMES = "//nav | //*[@role='navigation' or @role='contentinfo']"
# A block of this length is prose; a shorter one may be a label or a button.
_LONG_CHARS = 60
# A block with at least this share of letters in links is navigation.
_MAX_LINK_SHARE = 0.5
# A block of at least so many links to places of its page is a table of contents.
_MIN_CONTENTS = 3
# A page with links in its text only has no menus to drop.
_MIN_MENU_SHARE = 0.1
# Blocks above the first marked one in which the page's heading may be.
_MAX_LEAD_BLOCKS = 12
_MAX_LEAD_LEVEL = 3
# If it found a smaller share of the text outside links, trafilatura failed.
_MIN_MAIN_SHARE = 0.25
# Limits the search for each block in the main text, which takes quadratic time.
_MAX_SEARCHED_CHARS = 300_000
# Limits trafilatura, which takes quadratic time on some pages.
_MAX_ELEMENTS = 50_000


def load(content: bytes, *, filename: str) -> LoadedDocument:
    """Read a page: its title and metadata from the head, its text from the main content."""
    root = parse_html(decode(content))
    if root is None:
        raise EmptyDocument("The page has no elements.")
    metadata: dict[str, Any] = {}
    for meta in root.iter("meta"):
        value = " ".join((meta.get("content") or "").split())
        name = str(meta.get("name") or meta.get("property") or meta.get("http-equiv") or "").lower()
        key = _KEYS.get(name, "")
        if value and key == "author":
            metadata.setdefault(key, []).append(value)
        elif value and key:
            # The first value wins.
            metadata.setdefault(key, value)
        elif value and name == "keywords":
            metadata[name] = [word.strip() for word in value.split(",") if word.strip()]
    if language := root.get("lang") or root.get("xml:lang"):
        metadata["language"] = language
    for link in root.iter("link"):
        if link.get("rel") == "canonical" and link.get("href"):
            metadata["url"] = link.get("href")
    titles = [inline_text(title) for title in root.iter("title")]
    everything = html_pieces(root)
    linked = sum(len(p.block.text) for p in everything if p.link_share > _MAX_LINK_SHARE)
    chars = sum(len(piece.block.text) for piece in everything)
    has_menus = next(root.iter(*_BESIDE), None) is not None or linked > chars * _MIN_MENU_SHARE
    frames = root.xpath(_FRAMES)
    for frame in frames:
        frame.drop_tree()
    pieces = (html_pieces(root) if frames else everything) or everything
    return LoadedDocument(
        blocks=tuple(_main_blocks(root, pieces, has_menus=has_menus)),
        title=titles[0] if titles else "",
        metadata=metadata,
    )


def _main_blocks(root: "HtmlElement", pieces: list[LinkedBlock], *, has_menus: bool) -> list[Block]:
    """Return the content blocks of a page, or all blocks if that is unclear.

    Tables of contents are left out: the page has the headings themselves.
    """
    import trafilatura  # noqa: PLC0415 - slow to import

    pieces = [
        piece
        for piece in pieces
        if piece.inner_count < _MIN_CONTENTS or piece.link_share <= _MAX_LINK_SHARE
    ] or pieces
    everything = [piece.block for piece in pieces]
    if not has_menus:
        return everything
    main = ""
    if sum(1 for _ in root.iter()) <= _MAX_ELEMENTS:
        tree = copy.deepcopy(root)
        main = trafilatura.extract(tree, include_comments=False, include_tables=True) or ""
    lines = {_letters(line) for line in main.splitlines()}
    # Searching a long text for each block would take minutes.
    joined = _letters(main) if len(main) <= _MAX_SEARCHED_CHARS else ""
    letters = (_letters(block.text) for block in everything)
    marked = [bool(main) and (words in lines or words in joined) for words in letters]
    anchors = [
        at for at, block in enumerate(everything) if marked[at] and len(block.text) >= _LONG_CHARS
    ]
    if not anchors:
        return everything
    # With the short marked blocks right before and after.
    first, last = anchors[0], anchors[-1]
    while first > 0 and marked[first - 1]:
        first -= 1
    while last + 1 < len(marked) and marked[last + 1]:
        last += 1
    content = _lead(pieces[:first]) + [
        everything[at]
        for at in range(first, last + 1)
        if marked[at] or pieces[at].link_share <= _MAX_LINK_SHARE
    ]
    unlinked = sum(len(p.block.text) for p in pieces if p.link_share <= _MAX_LINK_SHARE)
    share = sum(len(block.text) for block in content) / max(unlinked, 1)
    return content if share >= _MIN_MAIN_SHARE else everything


def _letters(text: str) -> str:
    return _NOT_LETTERS.sub("", text).lower()


def _lead(before: list[LinkedBlock]) -> list[Block]:
    """Return the blocks from the page's heading to the first marked block."""
    near = before[-_MAX_LEAD_BLOCKS:]
    for at in range(len(near) - 1, -1, -1):
        level = near[at].block.heading_level
        if level is None or level > _MAX_LEAD_LEVEL or near[at].link_share > _MAX_LINK_SHARE:
            continue
        below = (one for one in near[at + 1 :] if one.link_share <= _MAX_LINK_SHARE)
        long = [one.block for one in below if len(one.block.text) >= _LONG_CHARS]
        return [near[at].block, *long]
    return []
