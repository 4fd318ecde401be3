"""Draw a page of a PDF, and find words on the image."""

import ctypes
import struct
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

from corpus.characters import fold_text
from corpus.errors import PageNotFound, UnreadableFile

if TYPE_CHECKING:
    from pypdfium2 import PdfPage, PdfTextPage

# Text of an A4 page is readable at this width without zooming.
WIDTH_PX = 1_200
# Limits strips, posters, and pages that claim to be a mile long.
MAX_PIXELS = 4_000_000
# Enough for a quote of a few hundred lines.
MAX_BOXES = 500
_CHANNELS = 3
# Fast; higher levels do not compress text better.
_ZLIB_LEVEL = 4


class Box(NamedTuple):
    """A rectangle in pixels of the image, from its upper left corner."""

    left: int
    top: int
    width: int
    height: int


class PageLayout(NamedTuple):
    """The size of a page image, and the positions of a quote on it.

    Attributes:
        width, height: Size of the image in pixels.
        page_count: Pages of the file.
        boxes: One for each line of the quote; empty if it was not found.
    """

    width: int
    height: int
    page_count: int
    boxes: list[Box]


def draw(content: bytes, *, number: int) -> bytes:
    """Return a page as PNG.

    Raises:
        PageNotFound: There is no such page.
        UnreadableFile: The file or the page is damaged.
    """
    with _opened(content, number) as (page, _):
        bitmap = page.render(scale=_scale(page), rev_byteorder=True, prefer_bgrx=False)
        rows = memoryview(bitmap.buffer).cast("B")
        line_bytes = bitmap.width * _CHANNELS
        starts = range(0, bitmap.height * bitmap.stride, bitmap.stride)
        return _png(bitmap.width, bitmap.height, [rows[at : at + line_bytes] for at in starts])


def find(content: bytes, *, number: int, quote: str, before: str) -> PageLayout:
    """Return the positions of a quote on a page; ``before`` selects one of several.

    Raises:
        PageNotFound, UnreadableFile: As ``draw``.
    """
    with _opened(content, number) as (page, page_count):
        text_page = page.get_textpage()
        wanted = fold_text(quote)
        letters, places = _letters(text_page) if wanted else ("", [])
        at = _nearest(letters, wanted, len(fold_text(before))) if wanted else -1
        boxes = []
        if at >= 0:
            first, last = places[at], places[at + len(wanted) - 1]
            boxes = list(_boxes(page, text_page, first, last - first + 1))
        return PageLayout(*_size(page), page_count, boxes)


@contextmanager
def _opened(content: bytes, number: int) -> "Iterator[tuple[PdfPage, int]]":
    from pypdfium2 import PdfDocument, PdfiumError  # noqa: PLC0415 - only in the child process

    try:
        pdf = PdfDocument(content)
        page_count = len(pdf)
        if not 1 <= number <= page_count:
            raise PageNotFound(f"The file has {page_count:,} pages.")
        yield pdf[number - 1], page_count
    except PdfiumError as error:
        raise UnreadableFile(f"The page cannot be drawn: {error}") from error


def _scale(page: "PdfPage") -> float:
    width, height = max(page.get_width(), 1.0), max(page.get_height(), 1.0)
    return float(min(WIDTH_PX / width, (MAX_PIXELS / (width * height)) ** 0.5))


def _size(page: "PdfPage") -> tuple[int, int]:
    scale = _scale(page)
    return max(ceil(page.get_width() * scale), 1), max(ceil(page.get_height() * scale), 1)


def _letters(text_page: "PdfTextPage") -> tuple[str, list[int]]:
    """Return the folded text of the page, and the source index of each letter."""
    import pypdfium2.raw as raw  # noqa: PLC0415, PLR0402

    letters: list[str] = []
    places: list[int] = []
    for index in range(text_page.count_chars()):
        code = raw.FPDFText_GetUnicode(text_page, index)
        for letter in fold_text(chr(code)) if code <= sys.maxunicode else "":
            letters.append(letter)
            places.append(index)
    return "".join(letters), places


def _nearest(letters: str, wanted: str, expected: int) -> int:
    """Return the start of ``wanted`` nearest to ``expected``, or -1."""
    before = letters.rfind(wanted, 0, expected + len(wanted))
    after = letters.find(wanted, expected)
    found = [at for at in (before, after) if at >= 0]
    return min(found, key=lambda at: abs(at - expected), default=-1)


def _boxes(page: "PdfPage", text_page: "PdfTextPage", first: int, count: int) -> Iterator[Box]:
    import pypdfium2.raw as raw  # noqa: PLC0415, PLR0402

    size = _size(page)
    for at in range(min(text_page.count_rects(first, count), MAX_BOXES)):
        left, bottom, right, top = text_page.get_rect(at)
        corners = [_pixel(raw, page, size, x, y) for x, y in ((left, top), (right, bottom))]
        (x1, x2), (y1, y2) = (sorted(axis) for axis in zip(*corners, strict=True))
        yield Box(x1, y1, max(x2 - x1, 1), max(y2 - y1, 1))


def _pixel(raw: Any, page: "PdfPage", size: tuple[int, int], x: float, y: float) -> tuple[int, int]:
    """Return the pixel of a point of the page, including turned or cropped pages."""
    across, down = ctypes.c_int(), ctypes.c_int()
    raw.FPDF_PageToDevice(page, 0, 0, *size, 0, x, y, ctypes.byref(across), ctypes.byref(down))
    return across.value, down.value


def _png(width: int, height: int, rows: list[memoryview]) -> bytes:
    """Return a PNG of 8 bits a channel, RGB, without row filters."""
    packer = zlib.compressobj(_ZLIB_LEVEL)
    packed = b"".join(packer.compress(part) for row in rows for part in (b"\0", row))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", packed + packer.flush()), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        for name, body in chunks
    )
