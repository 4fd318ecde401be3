"""XML of any kind: articles by their sections, feeds by their entries, data by its records."""

import html
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from corpus.loaders.archives import parse_xml
from corpus.loaders.blocks import MAX_LEVEL, Block, LoadedDocument
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
_HEADINGS = frozenset(
    "title heading head article-title invention-title title-of-invention subtitle".split()
)
_SECTIONS = frozenset("sec section chapter part appendix app abstract body ack boxed-text".split())
_TABLES = frozenset(("table", "tgroup", "informaltable"))
_ROWS = frozenset(("tr", "row"))
_CELLS = frozenset(("td", "th", "entry"))
_PARAGRAPHS = frozenset(
    "p para simpara paragraph claim-text li mixed-citation element-citation".split()
)
_FEEDS = frozenset(("rss", "feed", "rdf"))
_ENTRIES = frozenset(("item", "entry"))
# The longest first: a feed repeats its text in several of them.
_ENTRY_TEXTS = ("title", "encoded", "content", "description", "summary", "subtitle")
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_NAME_PARTS = ("given-names", "firstname", "surname")
_DATES = frozenset(("pub-date", "pubdate"))


def load(content: bytes, *, filename: str) -> LoadedDocument:
    """Read an XML file; a DTD may be named, but no entity of it is expanded."""
    text = _UNPARSED.sub("", _DECLARATION.sub("", decode(content)))
    root = parse_xml(_NAMED.sub(_expand_entity, text), allow_dtd=True)
    if _name(root).lower() in _FEEDS:
        return _load_feed(root)
    # Authors, date and language of an article or book (JATS, DocBook).
    authors: list[str] = []
    for element in root.iter():
        is_author = element.get("contrib-type") == "author" or _name(element) == "author"
        if is_author and len(authors) < MAX_AUTHORS and _text_of(element, "surname"):
            names = (_text_of(element, part) for part in _NAME_PARTS)
            authors.append(" ".join(filter(None, names)))
    date = next((element for element in root.iter() if _name(element) in _DATES), None)
    parts = [] if date is None else [_text_of(date, part) for part in ("year", "month", "day")]
    day = "-".join(part.zfill(2) for part in parts if part)
    blocks = tuple(_blocks(root, 0))
    return LoadedDocument(
        blocks,
        title=next((b.heading_text for b in blocks if b.heading_level == 1), ""),
        metadata={
            "authors": authors,
            "created": day or ("" if date is None else _text(date)),
            "language": root.get(_LANGUAGE, ""),
        },
    )


def _expand_entity(entity: re.Match[str]) -> str:
    """Replace HTML entities such as ``&nbsp;``, which the omitted DTD would declare."""
    if entity[1] in _OWN_ENTITIES:
        return entity[0]
    known = html.unescape(entity[0])
    return html.escape(known if known != entity[0] else f"[{entity[1]}]")


def _load_feed(root: "Element") -> LoadedDocument:
    entries = [element for element in root.iter() if _name(element) in _ENTRIES]
    inside = {id(part) for entry in entries for part in entry.iter()}
    about = {
        _name(element): _text(element)
        # The first of a name wins, because it is written last.
        for element in reversed(list(root.iter()))
        if id(element) not in inside and not len(element)
    }
    summary = about.get("description") or about.get("subtitle")
    blocks = [Block(summary)] if summary else []
    for entry in entries:
        texts = {_name(part): _text(part) for part in reversed(list(entry)) if _text(part)}
        title = " ".join(block.text for block in _html_blocks(texts.pop("title", "")))
        if title:
            blocks.append(Block(title, 2, title))
        unique: dict[str, Block] = {}
        for block in (b for name in _ENTRY_TEXTS for b in _html_blocks(texts.get(name, ""))):
            unique.setdefault(block.text, block)
        blocks.extend(unique.values())
    metadata: dict[str, Any] = {
        "author": about.get("creator") or about.get("name", ""),
        "created": about.get("pubDate") or about.get("updated") or about.get("lastBuildDate", ""),
        "language": about.get("language") or root.get(_LANGUAGE, ""),
    }
    return LoadedDocument(tuple(blocks), title=about.get("title", ""), metadata=metadata)


def _html_blocks(text: str) -> list[Block]:
    """Return blocks of text that may be HTML, as in feeds."""
    if not _MARKUP.search(text):
        plain = " ".join(html.unescape(text).split())
        return [Block(plain)] if plain else []
    from corpus.loaders.formats.html_blocks import html_blocks  # noqa: PLC0415 - few files need it

    return html_blocks(text)


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


def _text_of(element: "Element", name: str) -> str:
    return next((_text(inner) for inner in element.iter() if _name(inner) == name), "")


def _blocks(element: "Element", depth: int) -> Iterator[Block]:
    """Yield headings, paragraphs, tables and records below an element."""
    name = _name(element)
    if name in _TABLES:
        yield from table_blocks(_rows(element))
    elif name in _HEADINGS and _text(element):
        text = _text(element)
        yield Block(text, min(max(depth, 1), MAX_LEVEL), text)
    elif name in _PARAGRAPHS or _is_mixed(element):
        for table in [inner for inner in element.iter() if _name(inner) in _TABLES]:
            yield from table_blocks(_rows(table))
            # Its text is no longer part of the paragraph.
            table.clear()
        if text := _text(element):
            yield Block(text)
    elif len(element) and not any(len(child) for child in element) and name not in _SECTIONS:
        # A record: elements with one value each are one line, each value with its name.
        names = {_name(child) for child in element}
        is_prose = bool(names & _HEADINGS) or names <= _PARAGRAPHS
        for child in element if is_prose else ():
            yield from _blocks(child, 1)
        line = "; ".join(f"{_name(c)}: {text}" for c in element if (text := _text(c)))
        yield from [Block(line)] if line and not is_prose else []
    elif len(element):
        inner_depth = depth + (name in _SECTIONS)
        for child in element:
            yield from _blocks(child, inner_depth)
    elif text := _text(element):
        yield Block(text)


def _is_mixed(element: "Element") -> bool:
    """Return whether words stand between the elements inside."""
    texts = (element.text, *(child.tail for child in element))
    return len(element) > 0 and any((text or "").strip() for text in texts)


def _rows(table: "Element") -> Iterator[list[str]]:
    for row in table.iter():
        if _name(row) in _ROWS:
            yield [_text(cell) for cell in row if _name(cell) in _CELLS]
