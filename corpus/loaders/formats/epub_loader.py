"""EPUB: the chapters in the order of the spine."""

import posixpath
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote
from zipfile import ZipFile

from corpus.errors import UnreadableFile
from corpus.loaders.archives import opened, read_entry, read_xml
from corpus.loaders.blocks import Block, LoadedDocument
from corpus.loaders.charset import decode
from corpus.loaders.formats.html_blocks import html_blocks, parse_html

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

PRELOAD = ("lxml.html", "defusedxml.ElementTree")

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_OPF = "{http://www.idpf.org/2007/opf}"
_DC = "{http://purl.org/dc/elements/1.1/}"
_STATED = {"creator": "author", "language": "language", "publisher": "publisher", "date": "created"}
_CHAPTER_TYPES = frozenset(("application/xhtml+xml", "text/html", "application/xml"))


def load(content: bytes, *, filename: str) -> LoadedDocument:
    """Read the chapters of a book; encrypted fonts are allowed, encrypted chapters are not.

    Raises:
        UnreadableFile: It is damaged or protected.
    """
    with opened(content) as archive:
        package_name, package = _package(archive)
        chapters = list(_spine(package, posixpath.dirname(package_name)))
        locked = _encrypted(archive)
        if any(chapter in locked for chapter in chapters):
            raise UnreadableFile("The book is protected (DRM).")
        blocks = tuple(block for chapter in chapters for block in _chapter(archive, chapter))
    return LoadedDocument(
        blocks,
        title=" ".join(_texts(package, "title")[:1]),
        metadata=_metadata(package),
        tags=tuple(_texts(package, "subject")),
    )


def _package(archive: ZipFile) -> tuple[str, "Element"]:
    container = read_xml(archive, _CONTAINER, allow_dtd=True)
    for element in () if container is None else container.iter():
        name = element.get("full-path")
        if name:
            package = read_xml(archive, name, allow_dtd=True)
            if package is not None:
                return name, package
    raise UnreadableFile("The book has no package document.")


def _spine(package: "Element", folder: str) -> Iterator[str]:
    """Return the entry names of chapters in reading order, without the table of contents."""
    items = {item.get("id", ""): item for item in package.iter(_OPF + "item")}
    for reference in package.iter(_OPF + "itemref"):
        item = items.get(reference.get("idref", ""))
        if item is None or "nav" in (item.get("properties") or "").split():
            continue
        if item.get("media-type") in _CHAPTER_TYPES:
            path = unquote(item.get("href", "").partition("#")[0])
            yield posixpath.normpath(posixpath.join(folder, path))


def _encrypted(archive: ZipFile) -> frozenset[str]:
    root = read_xml(archive, _ENCRYPTION)
    found = (element.get("URI") for element in (() if root is None else root.iter()))
    return frozenset(unquote(name) for name in found if name)


def _chapter(archive: ZipFile, name: str) -> list[Block]:
    content = read_entry(archive, name)
    root = None if content is None else parse_html(decode(content))
    return [] if root is None else html_blocks(root)


def _texts(package: "Element", name: str) -> list[str]:
    found = (" ".join("".join(item.itertext()).split()) for item in package.iter(_DC + name))
    return [text for text in found if text]


def _metadata(package: "Element") -> dict[str, Any]:
    stated: dict[str, Any] = {}
    for name, key in _STATED.items():
        texts = _texts(package, name)
        if texts:
            stated[key] = ", ".join(texts) if name == "creator" else texts[0]
    return stated
