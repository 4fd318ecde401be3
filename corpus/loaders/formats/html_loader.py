"""HTML pages: the main content without menus, with headings, lists and tables."""

from typing import TYPE_CHECKING, Any

from corpus.errors import EmptyDocument
from corpus.loaders.blocks import LoadedDocument
from corpus.loaders.charset import decode
from corpus.loaders.formats.html_blocks import html_pieces, parse_html
from corpus.loaders.formats.html_elements import inline_text
from corpus.loaders.formats.html_main import main_blocks

if TYPE_CHECKING:
    from lxml.html import HtmlElement

PRELOAD = ("lxml.html", "trafilatura")

# Metadata elements of pages, and the keys they are stored under.
_STATED = {
    "description": "description",
    "og:description": "description",
    "author": "author",
    "article:author": "author",
    "dc.creator": "author",
    "dcterms.creator": "author",
    "citation_author": "author",
    "article:published_time": "created",
    "date": "created",
    "dc.date": "created",
    "dcterms.created": "created",
    "dcterms.issued": "created",
    "citation_publication_date": "created",
    "article:modified_time": "modified",
    "dcterms.modified": "modified",
    "content-language": "language",
    "dc.language": "language",
    "og:locale": "language",
    "og:site_name": "site_name",
}


def load(content: bytes, *, filename: str) -> LoadedDocument:
    """Read a page: its title and metadata from the head, its text from the main content."""
    root = parse_html(decode(content))
    if root is None:
        raise EmptyDocument("The page has no elements.")
    metadata = page_metadata(root)
    title = metadata.pop("title", "")
    return LoadedDocument(
        blocks=tuple(main_blocks(root, html_pieces(root))),
        title=title,
        tags=tuple(metadata.pop("keywords", ())),
        metadata=metadata,
    )


def page_metadata(root: "HtmlElement") -> dict[str, Any]:
    """Return title, description, author, created, language, url and keywords from the head."""
    stated: dict[str, Any] = {}
    titles = [inline_text(title) for title in root.iter("title")]
    if titles and titles[0]:
        stated["title"] = titles[0]
    for meta in root.iter("meta"):
        value = " ".join((meta.get("content") or "").split())
        if value:
            _take(_name(meta), value, stated)
    language = root.get("lang") or root.get("xml:lang")
    if language:
        stated["language"] = language
    for link in root.iter("link"):
        if link.get("rel") == "canonical" and link.get("href"):
            stated["url"] = link.get("href")
    return stated


def _take(name: str, value: str, stated: dict[str, Any]) -> None:
    """Store a wanted value of an element; except for authors, the first value wins."""
    key = _STATED.get(name, "")
    if key == "author":
        stated.setdefault(key, []).append(value)
    elif key:
        stated.setdefault(key, value)
    elif name == "keywords":
        stated[name] = [word.strip() for word in value.split(",") if word.strip()]


def _name(meta: "HtmlElement") -> str:
    stated = meta.get("name") or meta.get("property") or meta.get("http-equiv") or ""
    return str(stated).lower()
