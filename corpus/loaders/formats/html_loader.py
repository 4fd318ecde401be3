"""HTML pages: the main content without menus, with headings, lists and tables."""

from typing import Any

from corpus.errors import EmptyDocument
from corpus.loaders.blocks import LoadedDocument
from corpus.loaders.charset import decode
from corpus.loaders.formats.html_blocks import html_pieces, inline_text, parse_html
from corpus.loaders.formats.html_main import main_blocks

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


def load(content: bytes, *, filename: str) -> LoadedDocument:
    """Read a page: its title and metadata from the head, its text from the main content."""
    root = parse_html(decode(content))
    if root is None:
        raise EmptyDocument("The page has no elements.")
    metadata: dict[str, Any] = {}
    keywords: list[str] = []
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
            keywords = [word.strip() for word in value.split(",") if word.strip()]
    if language := root.get("lang") or root.get("xml:lang"):
        metadata["language"] = language
    for link in root.iter("link"):
        if link.get("rel") == "canonical" and link.get("href"):
            metadata["url"] = link.get("href")
    titles = [inline_text(title) for title in root.iter("title")]
    return LoadedDocument(
        blocks=tuple(main_blocks(root, html_pieces(root))),
        title=titles[0] if titles else "",
        tags=tuple(keywords),
        metadata=metadata,
    )
