"""AsciiDoc: section titles become headings; the text stays as written."""

import re

from corpus.loaders.blocks import Block, LoadedDocument
from corpus.loaders.charset import decode
from corpus.loaders.formats.plain_text import normalize_newlines, paragraphs

_TITLE = re.compile(r"\A(={1,6}|#{1,6})[ \t]+(\S.*)")
_ATTRIBUTE = re.compile(r"\A:([a-z]+):[ \t]+(\S.*)")
_ATTRIBUTES = {
    "author": "author", "revdate": "created", "date": "created", "lang": "language",
    "description": "description",
}  # fmt: skip
_AUTHOR = re.compile(r"\A([^\W\d_][^<>;:\n]{0,100}?)[ \t]+<[^<>\s]+@[^<>\s]+>")
_REVISION = re.compile(r"\A(?:v?[\d.]+,[ \t]*)?([\w ,./-]*\d{4}[\w./-]*)")
_LISTING = re.compile(r"\A(-{4,}|\.{4,}|`{3,}|\+{4,})[ \t]*$")


def load(content: bytes, *, filename: str) -> LoadedDocument:
    """Read an AsciiDoc file; a title line is a heading except in a listing."""
    text = normalize_newlines(decode(content))
    blocks: list[Block] = []
    pending: list[str] = []
    fence = ""
    for line in text.split("\n"):
        mark = _LISTING.match(line)
        if mark:
            fence = mark[1] if not fence else ("" if mark[1] == fence else fence)
        title = None if fence else _TITLE.match(line)
        if title:
            blocks.extend(map(Block, paragraphs("\n".join(pending))))
            pending = []
            signs, words = title[1], title[2].rstrip(" \t")
            # The equals signs may be repeated after the title.
            bare = words.removesuffix(signs)
            if bare != words and bare.endswith((" ", "\t")):
                words = bare.rstrip(" \t")
            blocks.append(Block(line.rstrip(), len(signs), words))
        else:
            pending.append(line)
    blocks.extend(map(Block, paragraphs("\n".join(pending))))
    metadata: dict[str, str] = {}
    # Authors, date and attributes are in the lines below the title.
    title_line, *header = text.lstrip("\n").split("\n\n", 1)[0].split("\n")
    for number, line in enumerate(header if title_line.startswith("= ") else ()):
        attribute, author = _ATTRIBUTE.match(line), _AUTHOR.match(line)
        if attribute and attribute[1] in _ATTRIBUTES:
            metadata[_ATTRIBUTES[attribute[1]]] = attribute[2].strip()
        elif number == 0 and author:
            metadata["author"] = author[1]
        elif number == 1 and (revision := _REVISION.match(line)):
            metadata["created"] = revision[1]
    return LoadedDocument(tuple(blocks), metadata=metadata)
