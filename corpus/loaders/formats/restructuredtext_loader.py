"""reStructuredText: underlined titles become headings; the text stays as written."""

import re
from collections.abc import Iterator

from corpus.loaders.blocks import Block, LoadedDocument
from corpus.loaders.charset import decode
from corpus.loaders.formats.plain_text import normalize_newlines, title_at

_MAX_LEVEL = 6
_ROLE = re.compile(r":[a-z][a-z:+.-]{0,60}:`([^`]*+)`")
_FIELD = re.compile(r":([A-Za-z][\w -]*):[ \t]+(\S.*)$")
# A link target, which readers do not see.
_LABEL = re.compile(r"\A\.\. _[^:]+:$")
_KEPT_FIELDS = frozenset(
    ("author", "authors", "date", "language", "version", "organization", "status")
)


def load(content: bytes, *, filename: str) -> LoadedDocument:
    """Read a reST file; heading levels follow the order of underline characters."""
    text = normalize_newlines(decode(content)).expandtabs(8)
    blocks = tuple(_blocks(text.split("\n")))
    return LoadedDocument(blocks, metadata=_fields(blocks))


def _blocks(lines: list[str]) -> Iterator[Block]:
    styles: list[tuple[str, bool]] = []
    paragraph: list[str] = []
    at = 0
    while at < len(lines):
        title = title_at(lines, at)
        if title is not None:
            yield from _flushed(paragraph)
            if title.style not in styles:
                styles.append(title.style)
            plain = " ".join(_ROLE.sub(_words, title.text).replace("``", "").split())
            yield Block(title.text, min(styles.index(title.style) + 1, _MAX_LEVEL), plain)
            at += title.line_count
            continue
        line = lines[at].rstrip()
        # An indented line belongs to the block above, even after empty lines.
        if line and not line[0].isspace() and paragraph and not paragraph[-1]:
            yield from _flushed(paragraph)
        if not _LABEL.match(line):
            paragraph.append(line)
        at += 1
    yield from _flushed(paragraph)


def _words(role: re.Match[str]) -> str:
    """Return the words of a reference without its target."""
    words, bracket, _ = role[1].rpartition("<")
    return words.rstrip() if bracket and role[1].endswith(">") else role[1]


def _flushed(paragraph: list[str]) -> Iterator[Block]:
    text = "\n".join(paragraph).strip("\n")
    paragraph.clear()
    if text.strip():
        yield Block(text)


def _fields(blocks: tuple[Block, ...]) -> dict[str, str]:
    """Return author, date and others from the field list below the title."""
    found: dict[str, str] = {}
    for block in blocks[:3]:
        for line in block.text.split("\n"):
            field = _FIELD.match(line)
            if field and field[1].lower() in _KEPT_FIELDS:
                found["created" if field[1].lower() == "date" else field[1].lower()] = field[2]
    return found
