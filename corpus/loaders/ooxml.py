"""What DOCX, PPTX and XLSX have in common: properties and relations between parts."""

import posixpath
from typing import Any
from zipfile import ZipFile

from corpus.loaders.archives import read_xml

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
    """Title, author, created and so on, where stated."""
    root = read_xml(archive, "docProps/core.xml")
    stated: dict[str, Any] = {}
    for element in () if root is None else root:
        key = _PROPERTIES.get(element.tag)
        value = (element.text or "").strip()
        if key and value:
            stated[key] = value
    return stated


def relations(archive: ZipFile, part: str) -> dict[str, tuple[str, str]]:
    """The parts that a part refers to: id -> (kind, entry name); links to outside are left out."""
    folder, name = posixpath.split(part)
    root = read_xml(archive, posixpath.join(folder, "_rels", f"{name}.rels"))
    found: dict[str, tuple[str, str]] = {}
    for relation in () if root is None else root:
        if relation.get("TargetMode") != "External":
            target = posixpath.normpath(posixpath.join("/" + folder, relation.get("Target", "")))
            kind = relation.get("Type", "").rsplit("/", 1)[-1]
            found[relation.get("Id", "")] = (kind, target.lstrip("/"))
    return found
