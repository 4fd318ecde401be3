"""EPUB: the chapters in the order of the spine."""

import posixpath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from corpus.errors import UnreadableFile
from corpus.loaders.archives import opened, read_entry, read_xml
from corpus.loaders.blocks import LoadedDocument
from corpus.loaders.charset import decode
from corpus.loaders.formats.html_blocks import html_blocks

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

PRELOAD = ("lxml.html", "defusedxml.ElementTree")

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_OPF = "{http://www.idpf.org/2007/opf}"
_DC = "{http://purl.org/dc/elements/1.1/}"
_KEYS = {"creator": "author", "language": "language", "publisher": "publisher", "date": "created"}
_CHAPTER_TYPES = frozenset(("application/xhtml+xml", "text/html", "application/xml"))


def load(content: bytes, *, filename: str) -> LoadedDocument:
    """Read the chapters of a book; encrypted fonts are allowed, encrypted chapters are not."""
    with opened(content) as archive:
        container = read_xml(archive, _CONTAINER, allow_dtd=True)
        elements = () if container is None else container.iter()
        paths = (name for element in elements if (name := element.get("full-path")))
        packages = ((path, read_xml(archive, path, allow_dtd=True)) for path in paths)
        package_name, package = next((each for each in packages if each[1] is not None), ("", None))
        if package is None:
            raise UnreadableFile("The book has no package document.")
        folder = posixpath.dirname(package_name)
        items = {item.get("id", ""): item for item in package.iter(_OPF + "item")}
        # In reading order, without the table of contents.
        chapters: list[str] = []
        for reference in package.iter(_OPF + "itemref"):
            item = items.get(reference.get("idref", ""))
            if item is None or "nav" in (item.get("properties") or "").split():
                continue
            if item.get("media-type") in _CHAPTER_TYPES:
                path = unquote(item.get("href", "").partition("#")[0])
                chapters.append(posixpath.normpath(posixpath.join(folder, path)))
        encryption = read_xml(archive, _ENCRYPTION)
        for element in () if encryption is None else encryption.iter():
            if unquote(element.get("URI") or "") in chapters:
                raise UnreadableFile("The book is protected (DRM).")
        contents = filter(None, (read_entry(archive, chapter) for chapter in chapters))
        blocks = tuple(block for each in contents for block in html_blocks(decode(each)))
    metadata: dict[str, Any] = {}
    for name, key in _KEYS.items():
        if texts := _texts(package, name):
            metadata[key] = ", ".join(texts) if name == "creator" else texts[0]
    return LoadedDocument(
        blocks,
        title=" ".join(_texts(package, "title")[:1]),
        metadata=metadata,
        tags=tuple(_texts(package, "subject")),
    )


def _texts(package: "Element", name: str) -> list[str]:
    texts = (" ".join("".join(item.itertext()).split()) for item in package.iter(_DC + name))
    return [text for text in texts if text]
