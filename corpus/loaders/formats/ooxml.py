"""Shared parts of DOCX, PPTX and XLSX: properties, relations, text, charts, comments."""

import posixpath
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

from corpus.loaders.archives import read_xml
from corpus.loaders.blocks import Block
from corpus.loaders.formats.office_math import to_tex
from corpus.loaders.limits import bounded_number
from corpus.loaders.table_blocks import table_blocks

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"

_PROPERTIES = {
    "{http://purl.org/dc/elements/1.1/}creator": "author",
    "{http://purl.org/dc/elements/1.1/}subject": "subject",
    "{http://purl.org/dc/elements/1.1/}description": "description",
    "{http://purl.org/dc/elements/1.1/}language": "language",
    "{http://purl.org/dc/terms/}created": "created",
    "{http://purl.org/dc/terms/}modified": "modified",
    "{http://purl.org/dc/elements/1.1/}title": "title",
    "{http://schemas.openxmlformats.org/package/2006/metadata/core-properties}keywords": "keywords",
}


def core_properties(archive: ZipFile) -> dict[str, Any]:
    """Return title, author, created and other properties that are present."""
    root = read_xml(archive, "docProps/core.xml")
    properties: dict[str, Any] = {}
    for element in () if root is None else root:
        key = _PROPERTIES.get(element.tag)
        value = (element.text or "").strip()
        if key and value:
            properties[key] = value
    return properties


def relations(archive: ZipFile, part: str) -> dict[str, tuple[str, str]]:
    """Return the parts that a part refers to: id -> (kind, entry name), without external links."""
    folder, name = posixpath.split(part)
    root = read_xml(archive, posixpath.join(folder, "_rels", f"{name}.rels"))
    parts: dict[str, tuple[str, str]] = {}
    for relation in () if root is None else root:
        if relation.get("TargetMode") != "External":
            target = posixpath.normpath(posixpath.join("/" + folder, relation.get("Target", "")))
            kind = relation.get("Type", "").rsplit("/", 1)[-1]
            parts[relation.get("Id", "")] = (kind, target.lstrip("/"))
    return parts


_MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"


def text_pieces(
    parent: "Element", characters: Mapping[str, str], *, skipped: Collection[str] = ()
) -> Iterator[str]:
    """Yield the text inside an element of Word or PowerPoint; equations are TeX between dollars.

    Args:
        characters: What elements stand for, by tag; "" for the text that they contain.
        skipped: Tags of elements without text of the line.
    """
    for element in parent:
        if element.tag in characters:
            yield characters[element.tag] or element.text or ""
        elif element.tag == _MATH + "oMath":
            yield f"${to_tex(element).strip()}$"
        elif element.tag.endswith("}AlternateContent") and len(element):
            # The first of several renderings of the same content.
            yield from text_pieces(element[0], characters, skipped=skipped)
        elif element.tag not in skipped:
            yield from text_pieces(element, characters, skipped=skipped)


_C = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"


def chart_blocks(archive: ZipFile, name: str, *, page: int | None = None) -> Iterator[Block]:
    """Return a chart's title, and its numbers as a table."""
    root = read_xml(archive, name)
    if root is None:
        return
    title = root.find(f"{_C}chart/{_C}title")
    if title is not None and (text := "".join(t.text or "" for t in title.iter(_A + "t")).strip()):
        yield Block(text, page=page)
    series = [(_cached(one.find(_C + "tx")), one) for one in root.iter(_C + "ser")]
    if series:
        labels = _cached(series[0][1].find(_C + "cat"))
        columns = [_cached(one.find(_C + "val")) for _, one in series]
        rows = [["", *(" ".join(names) for names, _ in series)]]
        for at in range(max(map(len, [labels, *columns]), default=0)):
            rows.append([column[at] if at < len(column) else "" for column in (labels, *columns)])
        yield from table_blocks(rows, page=page)


def _cached(source: "Element | None") -> list[str]:
    if source is None:
        return []
    return [value.text or "" for value in source.iter(_C + "v")]


# The three programs, and two generations of each, agree on the local names but on little else.
_COMMENTS = frozenset(("cm", "comment", "threadedComment", "reply"))
_TEXTS = frozenset(("t", "text"))
_DATES = ("dt", "dT", "created", "date")
_AUTHOR_PARTS = frozenset(("commentAuthors", "authors", "person"))
COMMENT_PARTS = frozenset(("comments", "threadedComment"))


def comment_authors(archive: ZipFile, main_part: str) -> dict[str, str]:
    """Return the names of reviewers by id, as listed beside the main part."""
    names: dict[str, str] = {}
    for kind, name in relations(archive, main_part).values():
        root = read_xml(archive, name) if kind in _AUTHOR_PARTS else None
        for element in () if root is None else root.iter():
            author = element.get("name") or element.get("displayName")
            if author and element.get("id"):
                initials = element.get("initials")
                names[element.get("id", "")] = f"{author} ({initials})" if initials else author
    return names


def comment_blocks(
    archive: ZipFile, name: str, authors: dict[str, str], *, page: int | None = None
) -> Iterator[Block]:
    """Yield each comment of a part, as ``Comment by NAME, TIME: text``.

    Args:
        authors: Names by id, as from ``comment_authors``; older parts have a list of their own.
    """
    root = read_xml(archive, name)
    if root is None:
        return
    listed = [element.text or "" for element in root.iter() if _local(element.tag) == "author"]
    for comment in root.iter():
        if _local(comment.tag) not in _COMMENTS:
            continue
        text = _text(comment)
        # A threaded comment leaves a copy with this note for older programs.
        if not text or text.startswith("[Threaded comment]"):
            continue
        attributes = {_local(key): value for key, value in comment.attrib.items()}
        ids = (attributes.get("authorId", ""), attributes.get("personId", ""))
        author = next((authors[each] for each in ids if each in authors), None)
        if author is None:
            at = bounded_number(ids[0], default=len(listed), maximum=len(listed))
            author = listed[at] if at < len(listed) else attributes.get("author", "")
        date = next((attributes[key] for key in _DATES if attributes.get(key)), "")
        by = ", ".join(part for part in (author, date) if part)
        yield Block(f"Comment by {by}: {text}" if by else f"Comment: {text}", page=page)


def _text(comment: "Element") -> str:
    """Return the comment's own words; a reply inside it is a separate comment."""
    pieces = []
    for child in comment:
        tag = _local(child.tag)
        if tag in _TEXTS and child.text:
            pieces.append(child.text)
        if tag not in ("replyLst", "reply"):
            pieces.append(_text(child))
    return " ".join("".join(f"{piece} " for piece in pieces if piece).split())


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]
