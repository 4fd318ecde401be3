"""Word files of 1997 to 2003: paragraphs with their styles, lists, tables, notes and comments.

The format is [MS-DOC]: the text is stored in pieces with two encodings, and marks in it end
paragraphs and cells. A table gives the properties of paragraphs by file offset.
"""

import re
import struct
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from corpus.errors import UnreadableFile
from corpus.loaders.blocks import Block, LoadedDocument, office_document
from corpus.loaders.formats.flow import Flow
from corpus.loaders.formats.office97.container import (
    join_surrogates,
    opened,
    read_properties,
    read_stream,
)

PRELOAD = ("olefile",)

_MAGIC = 0xA5EC
# Word 97; older versions have other tables.
_FIRST_VERSION = 0x00C1
_ENCRYPTED, _TABLE_1 = 0x0100, 0x0200
# Offsets in the file header of character counts, and of pairs of offset and length.
_COUNTS_AT, _PAIRS_AT = 0x4C, 0x9A
_STYLES, _PARAGRAPHS, _PIECES = 1, 13, 33
# Main text, footnotes, headers, macros, comments, endnotes, text boxes, those of headers.
_PARTS = 8
_UNREAD_PARTS = frozenset((2, 3, 7))
_PAGE_BYTES = 512
# The header of a paragraph's entry: its offset, and its height, which is unused.
_ENTRY_BYTES = 13
_TITLE_STYLE = 62
_HEADING_STYLES = range(1, 10)
_MARKS = re.compile(r"[\x00-\x08\x0b-\x1f]")
_SHOWN = {"\x0b": "\n", "\x1e": "-", "\t": "\t"}
_ENDS = frozenset("\r\x07\x0c\x0e")
# Sizes of a property's value, by the three highest bits of its number.
_SIZES = {0: 1, 1: 1, 2: 2, 3: 4, 4: 2, 5: 2, 7: 3}
_TABLE_SHAPE = 0xD608
# A file made to attack may name the same bytes in many pieces.
_MAX_CHARS_PER_BYTE = 4


class _Kind(NamedTuple):
    """Properties of a paragraph.

    Attributes:
        style: Number of its style.
        outline: 0 to 8 for a heading by itself, 9 for text.
    """

    style: int = 0
    outline: int = 9
    in_table: bool = False
    ends_row: bool = False
    is_item: bool = False


class _Piece(NamedTuple):
    """Characters ``start:end`` of the text, at file offset ``place``, of 1 or 2 bytes each."""

    start: int
    end: int
    place: int
    width: int


def load(content: bytes, *, filename: str) -> LoadedDocument:
    """Read a Word file."""
    with opened(content) as container:
        main = read_stream(container, "WordDocument")
        magic, version, flags = struct.unpack_from("<HH6xH", main)
        if magic != _MAGIC:
            raise UnreadableFile("The file has no Word document.")
        if version < _FIRST_VERSION:
            raise UnreadableFile("The file is of Word 6 or 95: save it as DOCX.")
        if flags & _ENCRYPTED:
            raise UnreadableFile("The file is protected by a password.")
        table = read_stream(container, "1Table" if flags & _TABLE_1 else "0Table")
        word = _Word(main, table)
        blocks = word.blocks()
        return office_document(blocks, read_properties(container), title=word.title)


class _Word:
    """The text of a document, and the properties of its paragraphs."""

    def __init__(self, main: bytes, table: bytes) -> None:
        self.title = ""
        self._main = main
        # Parts of the table stream, each found by a pair of offset and length.
        pieces, styles, paragraphs = (
            table[start : start + length]
            for start, length in (
                struct.unpack_from("<II", main, _PAIRS_AT + 8 * number)
                for number in (_PIECES, _STYLES, _PARAGRAPHS)
            )
        )
        self._pieces = list(_pieces(pieces))
        self._starts = [piece.start for piece in self._pieces]
        self._styles = _style_kinds(styles)
        # Properties of paragraphs by their file offset.
        count = max(len(paragraphs) - 4, 0) // 8
        pages = struct.unpack_from(f"<{count}I", paragraphs, 4 * (count + 1)) if count else ()
        kinds: dict[int, _Kind] = {}
        for page in pages:
            start = (page & 0x3FFFFF) * _PAGE_BYTES
            kinds.update(_kinds_of_page(main[start : start + _PAGE_BYTES]))
        self._kinds = sorted(kinds.items())
        chars = sum(piece.end - piece.start for piece in self._pieces)
        if chars > _MAX_CHARS_PER_BYTE * len(main):
            raise UnreadableFile("The file is damaged: it has more text than it holds.")

    def blocks(self) -> list[Block]:
        """Return the paragraphs of the main text, then of notes, comments and text boxes."""
        text = "".join(map(self._text, self._pieces))
        counts = struct.unpack_from(f"<{_PARTS}I", self._main, _COUNTS_AT)
        flow = Flow()
        start = 0
        for number, count in enumerate(counts):
            if number not in _UNREAD_PARTS:
                self._add_part(text[start : start + count], start, flow)
            start += count
        flow.end_run()
        return flow.blocks

    def _text(self, piece: _Piece) -> str:
        """Return a piece with one character for each of Word's, surrogate halves included."""
        size = (piece.end - piece.start) * piece.width
        content = self._main[piece.place : piece.place + size].ljust(size, b"\0")
        if piece.width == 1:
            return content.decode("cp1252", "replace")
        return "".join(map(chr, struct.unpack(f"<{size // 2}H", content)))

    def _add_part(self, text: str, offset: int, flow: Flow) -> None:
        cells: list[str] = []
        pending: list[str] = []
        for shown, end, at in _stretches(text):
            pending.append(shown)
            if not end:
                continue
            # The properties of the paragraph that ends with this character.
            piece = self._pieces[bisect_right(self._starts, offset + at) - 1]
            place = piece.place + (offset + at - piece.start) * piece.width
            following = bisect_right(self._kinds, place, key=lambda item: item[0])
            kind = self._kinds[following - 1][1] if following else _Kind()
            if kind.ends_row:
                flow.add_row(cells)
                cells, pending = [], []
            elif end == "\x07":
                cells.append(join_surrogates("".join(pending)))
                pending = []
            elif kind.in_table:
                pending.append("\n")
            else:
                self._add_paragraph(join_surrogates("".join(pending)), kind, flow)
                pending = []
        self._add_paragraph(join_surrogates("".join(pending)), _Kind(), flow)

    def _add_paragraph(self, text: str, kind: _Kind, flow: Flow) -> None:
        style = self._styles[kind.style] if kind.style < len(self._styles) else 0
        level = style if style in _HEADING_STYLES else 0
        if style == _TITLE_STYLE and text.strip():
            level = 1
            self.title = self.title or " ".join(text.split())
        elif not level and kind.outline < len(_HEADING_STYLES):
            level = kind.outline + 1
        flow.add(f"- {text}" if kind.is_item and not level and text.strip() else text,
                 level=level, is_item=kind.is_item)  # fmt: skip


def _stretches(text: str) -> Iterator[tuple[str, str, int]]:
    """Yield the text between marks, the mark that ends it, and the mark's offset.

    Fields (page numbers, links) give their result, not their code.
    """
    fields: list[bool] = []
    start = 0
    for mark in _MARKS.finditer(text):
        char = mark[0]
        shown = "" if any(fields) else text[start : mark.start()] + _SHOWN.get(char, "")
        start = mark.end()
        if char == "\x13":
            fields.append(True)
        elif char == "\x14" and fields:
            fields[-1] = False
        elif char == "\x15" and fields:
            fields.pop()
        yield shown, char if char in _ENDS else "", mark.start()
    yield "" if any(fields) else text[start:], "", len(text)


def _pieces(table: bytes) -> Iterator[_Piece]:
    at = 0
    while table[at] == 1:  # properties that pieces share
        at += 3 + struct.unpack_from("<H", table, at + 1)[0]
    (length,) = struct.unpack_from("<xI", table, at)
    count = (min(length, len(table) - at - 5) - 4) // 12
    bounds = struct.unpack_from(f"<{count + 1}I", table, at + 5)
    for number in range(count):
        (place,) = struct.unpack_from("<2xI", table, at + 5 + 4 * (count + 1) + 8 * number)
        is_narrow = place & 0x40000000
        place &= 0x3FFFFFFF
        if bounds[number + 1] > bounds[number]:
            yield _Piece(
                bounds[number],
                bounds[number + 1],
                place // 2 if is_narrow else place,
                1 if is_narrow else 2,
            )


def _style_kinds(sheet: bytes) -> list[int]:
    """Return the built-in style of each style number."""
    if not sheet:
        return []
    head, count = struct.unpack_from("<HH", sheet)
    kinds: list[int] = []
    at = 2 + head
    for _ in range(count):
        if at + 2 > len(sheet):
            break
        (size,) = struct.unpack_from("<H", sheet, at)
        known = struct.unpack_from("<H", sheet, at + 2)[0] & 0xFFF if size else 0
        kinds.append(known)
        at += 2 + size
    return kinds


def _kinds_of_page(page: bytes) -> Iterator[tuple[int, _Kind]]:
    if len(page) < _PAGE_BYTES:
        return
    count = page[-1]
    for number, place in enumerate(struct.unpack_from(f"<{count}I", page)):
        at = 2 * page[4 * (count + 1) + _ENTRY_BYTES * number]
        if not at:
            yield place, _Kind()
            continue
        size, start = (2 * page[at] - 1, at + 1) if page[at] else (2 * page[at + 1], at + 2)
        entry = page[start : start + size]
        properties = dict(_properties(entry[2:]))
        yield (
            place,
            _Kind(
                style=struct.unpack_from("<H", entry)[0],
                outline=properties.get(0x2640, b"\x09")[0],
                in_table=properties.get(0x2416, b"\0") != b"\0",
                ends_row=properties.get(0x2417, b"\0") != b"\0",
                is_item=properties.get(0x460B, b"\0\0") != b"\0\0",
            ),
        )


def _properties(entry: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + 3 <= len(entry):
        (number,) = struct.unpack_from("<H", entry, at)
        at += 2
        if number == _TABLE_SHAPE:
            size = 1 + struct.unpack_from("<H", entry.ljust(at + 2, b"\0"), at)[0]
        else:
            size = _SIZES.get(number >> 13) or 1 + entry[at]
        yield number, entry[at : at + size]
        at += size
