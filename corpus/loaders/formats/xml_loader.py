"""XML of any kind: articles by their sections, feeds by their entries, data by its records."""

import html
import re
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from corpus.loaders.archives import parse_xml
from corpus.loaders.blocks import Block, LoadedDocument
from corpus.loaders.charset import decode
from corpus.loaders.metadata import MAX_AUTHORS
from corpus.loaders.table_blocks import table_blocks

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

PRELOAD = ("lxml.html", "defusedxml.ElementTree")

_DECLARATION = re.compile(r"^\s*<\?xml[^>]*\?>")
# Unparsed entities such as pictures, declared and never expanded.
_UNPARSED = re.compile(r"<!ENTITY\s+[^\s%\"'>]+\s+(?:SYSTEM|PUBLIC)\s[^<>]*?\sNDATA\s+[^\s<>]+\s*>")
_NAMED = re.compile(r"&([A-Za-z][A-Za-z0-9.]*);")
# Predefined entities of XML; expanded here, they would become markup.
_OWN_ENTITIES = frozenset(("amp", "lt", "gt", "quot", "apos"))
_MARKUP = re.compile(r"<\s*(?:p|br|div|a|b|i|img|ul|li|h\d|table|span|strong|em)\b[^<>]*>", re.I)
# Element names of JATS, DocBook, TEI, patents and HTML.
_HEADING_TAGS = "title heading head article-title invention-title title-of-invention subtitle"
_HEADINGS = frozenset(_HEADING_TAGS.split())
_SECTION_TAGS = "sec section chapter part appendix app abstract body ack boxed-text"
_SECTIONS = frozenset(_SECTION_TAGS.split())
_TABLES = frozenset(("table", "tgroup", "informaltable"))
_ROWS = frozenset(("tr", "row"))
_CELLS = frozenset(("td", "th", "entry"))
_PARAGRAPH_TAGS = "p para simpara paragraph claim-text li mixed-citation element-citation"
_PARAGRAPHS = frozenset(_PARAGRAPH_TAGS.split())
_FEEDS = frozenset(("rss", "feed", "rdf"))
_ENTRIES = frozenset(("item", "entry"))
# The longest first: a feed repeats its text in several of them.
_ENTRY_TEXTS = ("title", "encoded", "content", "description", "summary", "subtitle")
_MAX_LEVEL = 6
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_NAME_PARTS = ("given-names", "firstname", "surname")
_DATES = frozenset(("pub-date", "pubdate"))


def load(content: bytes, *, filename: str) -> LoadedDocument:
    """Read an XML file; a DTD may be named, but no entity of it is expanded.

    Raises:
        UnreadableFile: It is not well-formed, or it declares entities.
    """
    text = _UNPARSED.sub("", _DECLARATION.sub("", decode(content)))
    root = parse_xml(_NAMED.sub(_expanded, text), allow_dtd=True)
    if _name(root).lower() in _FEEDS:
        return _feed(root)
    metadata = _metadata(root)
    blocks = tuple(_blocks(root, 0))
    title = next((b.heading_text for b in blocks if b.heading_level == 1), "")
    return LoadedDocument(blocks, title=title, metadata=metadata)


def _expanded(entity: re.Match[str]) -> str:
    """Replace HTML entities such as ``&nbsp;``, which the omitted DTD would declare."""
    if entity[1] in _OWN_ENTITIES:
        return entity[0]
    known = html.unescape(entity[0])
    return html.escape(known if known != entity[0] else f"[{entity[1]}]")


def _name(element: "Element") -> str:
    return element.tag.rpartition("}")[2]


def _text(element: "Element") -> str:
    return " ".join("".join(_pieces(element)).split())


def _pieces(element: "Element") -> Iterator[str]:
    """Yield the text inside; separate elements that follow each other without text."""
    apart = " " if len(element) and not _is_mixed(element) else ""
    yield element.text or ""
    for child in element:
        yield from _pieces(child)
        yield (child.tail or "") + apart


def _feed(root: "Element") -> LoadedDocument:
    entries = [element for element in root.iter() if _name(element) in _ENTRIES]
    inside = {id(part) for entry in entries for part in entry.iter()}
    about = {
        _name(element): _text(element)
        # The first of a name wins, because it is written last.
        for element in reversed(list(root.iter()))
        if id(element) not in inside and not len(element)
    }
    blocks: list[Block] = []
    if about.get("description") or about.get("subtitle"):
        blocks.append(Block(about.get("description") or about.get("subtitle", "")))
    for entry in entries:
        blocks.extend(_entry_blocks(entry))
    metadata: dict[str, Any] = {
        "author": about.get("creator") or about.get("name", ""),
        "created": about.get("pubDate") or about.get("updated") or about.get("lastBuildDate", ""),
        "language": about.get("language") or root.get(_LANGUAGE, ""),
    }
    return LoadedDocument(tuple(blocks), title=about.get("title", ""), metadata=metadata)


def _metadata(root: "Element") -> dict[str, Any]:
    """Return authors, date and language of an article or book (JATS, DocBook)."""
    names = [
        " ".join(text for part in _NAME_PARTS if (text := _said(author, part)))
        for author in islice(_authors(root), MAX_AUTHORS)
    ]
    dated = next((element for element in root.iter() if _name(element) in _DATES), None)
    parts = [] if dated is None else [_said(dated, part) for part in ("year", "month", "day")]
    whole = "-".join(part.zfill(2) for part in parts if part)
    return {
        "authors": names,
        "created": whole or ("" if dated is None else _text(dated)),
        "language": root.get(_LANGUAGE, ""),
    }


def _authors(root: "Element") -> Iterator["Element"]:
    for element in root.iter():
        is_author = element.get("contrib-type") == "author" or _name(element) == "author"
        if is_author and _said(element, "surname"):
            yield element


def _said(element: "Element", name: str) -> str:
    return next((_text(inner) for inner in element.iter() if _name(inner) == name), "")


def _entry_blocks(entry: "Element") -> Iterator[Block]:
    texts = {_name(part): _text(part) for part in reversed(list(entry)) if _text(part)}
    title = " ".join(block.text for block in _rich(texts.pop("title", "")))
    if title:
        yield Block(title, 2, title)
    said: set[str] = set()
    for name in _ENTRY_TEXTS:
        for block in _rich(texts.get(name, "")):
            if block.text not in said:
                said.add(block.text)
                yield block


def _rich(text: str) -> list[Block]:
    """Return blocks of text that may be HTML, as in feeds."""
    if not _MARKUP.search(text):
        plain = " ".join(html.unescape(text).split())
        return [Block(plain)] if plain else []
    from corpus.loaders.formats.html_blocks import html_blocks, parse_html  # noqa: PLC0415 - few files need it

    root = parse_html(text)
    return [] if root is None else html_blocks(root)


def _blocks(element: "Element", depth: int) -> Iterator[Block]:
    """Yield headings, paragraphs, tables and records below an element."""
    name = _name(element)
    if name in _TABLES:
        yield from table_blocks(_rows(element))
    elif name in _HEADINGS and _text(element):
        text = _text(element)
        yield Block(text, min(max(depth, 1), _MAX_LEVEL), text)
    elif name in _PARAGRAPHS or _is_mixed(element):
        yield from _paragraph(element)
    elif len(element) and not any(len(child) for child in element) and name not in _SECTIONS:
        yield from _record(element)
    elif len(element):
        inner = depth + (name in _SECTIONS)
        for child in element:
            yield from _blocks(child, inner)
    elif _text(element):
        yield Block(_text(element))


def _is_mixed(element: "Element") -> bool:
    """Return whether words stand between the elements inside."""
    if not len(element):
        return False
    return bool((element.text or "").strip()) or any(
        (child.tail or "").strip() for child in element
    )


def _paragraph(element: "Element") -> Iterator[Block]:
    tables = [inner for inner in element.iter() if _name(inner) in _TABLES]
    for table in tables:
        yield from table_blocks(_rows(table))
        # Its text is no longer part of the paragraph.
        table.clear()
    text = _text(element)
    if text:
        yield Block(text)


def _record(element: "Element") -> Iterator[Block]:
    """Return elements with one value each as one line, each value with its name."""
    heading = next((child for child in element if _name(child) in _HEADINGS), None)
    if heading is not None or all(_name(child) in _PARAGRAPHS for child in element):
        for child in element:
            yield from _blocks(child, 1)
        return
    pairs = [f"{_name(child)}: {text}" for child in element if (text := _text(child))]
    if pairs:
        yield Block("; ".join(pairs))


def _rows(table: "Element") -> Iterator[list[str]]:
    for row in table.iter():
        if _name(row) in _ROWS:
            yield [_text(cell) for cell in row if _name(cell) in _CELLS]
