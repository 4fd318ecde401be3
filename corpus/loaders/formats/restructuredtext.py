"""reStructuredText: section titles by their underlines; the text stays as written."""

import re
import unicodedata
from collections.abc import Iterator

from corpus.loaders.base import Block, LoadedDocument
from corpus.loaders.charset import decode
from corpus.loaders.formats.plain import unified

_LINE = re.compile(r"([!-/:-@\[-`{-~])\1+[ \t]*$")
_MAX_LEVEL = 6
_MAX_TITLE_CHARS = 500
# Shorter underlines are valid from four characters on, and docutils only warns.
_MIN_SHORT_UNDERLINE = 4
_ROLE = re.compile(r":[a-z][a-z:+.-]*:`([^`]*?)(?:\s*<[^>`]*>)?`")
_FIELD = re.compile(r":([A-Za-z][\w -]*):[ \t]+(\S.*)$")
# A label for links from elsewhere; readers do not see it.
_LABEL = re.compile(r"\.\. _[^:]+:$")
_KEPT_FIELDS = frozenset(("author", "authors", "date", "version", "organization", "status"))


def load(content: bytes, *, filename: str) -> LoadedDocument:
    """Read a reST file; levels follow the order in which the kinds of underline appear."""
    text = unified(decode(content)).expandtabs(8)
    blocks = tuple(_blocks(text.split("\n")))
    return LoadedDocument(blocks, metadata=_fields(blocks))


def _blocks(lines: list[str]) -> Iterator[Block]:
    styles: list[tuple[str, bool]] = []
    paragraph: list[str] = []
    at = 0
    while at < len(lines):
        title = _title_at(lines, at)
        if title is not None:
            yield from _flushed(paragraph)
            text, style, used = title
            if style not in styles:
                styles.append(style)
            plain = " ".join(_ROLE.sub(r"\1", text).replace("``", "").split())
            yield Block(text, min(styles.index(style) + 1, _MAX_LEVEL), plain)
            at += used
            continue
        line = lines[at].rstrip()
        # An indented line belongs to what stands above it, over empty lines too.
        if line and not line[0].isspace() and paragraph and not paragraph[-1]:
            yield from _flushed(paragraph)
        if not _LABEL.match(line):
            paragraph.append(line)
        at += 1
    yield from _flushed(paragraph)


def _flushed(paragraph: list[str]) -> Iterator[Block]:
    text = "\n".join(paragraph).strip("\n")
    paragraph.clear()
    if text.strip():
        yield Block(text)


def _title_at(lines: list[str], at: int) -> tuple[str, tuple[str, bool], int] | None:
    """A section title that begins on a line: its text, its style, and how many lines it takes."""
    if at and lines[at - 1].strip() and not _is_rule(lines[at - 1]):
        return None
    first, second, third = (lines[at + k].rstrip() if at + k < len(lines) else "" for k in range(3))
    if _is_rule(first) and second.strip() and third == first and _fits(second.strip(), first):
        return second.strip(), (first[0], True), 3
    if first and not first[0].isspace() and not _is_rule(first) and _is_rule(second):
        return (first, (second[0], False), 2) if _fits(first, second) else None
    return None


def _is_rule(line: str) -> bool:
    return _LINE.match(line) is not None


def _fits(title: str, rule: str) -> bool:
    return len(title) <= _MAX_TITLE_CHARS and len(rule) >= min(_width(title), _MIN_SHORT_UNDERLINE)


def _width(text: str) -> int:
    """Columns on a terminal: East Asian characters take two."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def _fields(blocks: tuple[Block, ...]) -> dict[str, str]:
    """Author, date and the like from the field list under the document's title."""
    found: dict[str, str] = {}
    for block in blocks[:3]:
        for line in block.text.split("\n"):
            field = _FIELD.match(line)
            if field and field[1].lower() in _KEPT_FIELDS:
                found["created" if field[1].lower() == "date" else field[1].lower()] = field[2]
    return found
