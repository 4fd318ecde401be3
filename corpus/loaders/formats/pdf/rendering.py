"""Draw a page of a PDF, and find words on the image."""

import ctypes
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

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
        picture = page.render(scale=_scale(page), rev_byteorder=True, prefer_bgrx=False).to_pil()
        png = io.BytesIO()
        picture.save(png, "PNG", compress_level=_ZLIB_LEVEL)
        return png.getvalue()


def find(content: bytes, *, number: int, quote: str, before: str) -> PageLayout:
    """Return where a quote is on a page; ``before`` selects one of several. Raises as ``draw``."""
    import pypdfium2.raw as raw  # noqa: PLC0415, PLR0402

    with _opened(content, number) as (page, page_count):
        scale = _scale(page)
        width, height = (max(ceil(side * scale), 1) for side in page.get_size())
        text_page = page.get_textpage()
        boxes: list[Box] = []
        for first, count in _find_chars(text_page, quote, len(fold_text(before))):
            for at in range(min(text_page.count_rects(first, count), MAX_BOXES - len(boxes))):
                left, bottom, right, top = text_page.get_rect(at)
                # Pages may be turned or cropped.
                corners: list[tuple[int, int]] = []
                for x, y in ((left, top), (right, bottom)):
                    across, down = ctypes.c_int(), ctypes.c_int()
                    pixel = ctypes.byref(across), ctypes.byref(down)
                    raw.FPDF_PageToDevice(page, 0, 0, width, height, 0, x, y, *pixel)
                    corners.append((across.value, down.value))
                (x1, x2), (y1, y2) = (sorted(axis) for axis in zip(*corners, strict=True))
                boxes.append(Box(x1, y1, max(x2 - x1, 1), max(y2 - y1, 1)))
        return PageLayout(width, height, page_count, boxes)


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


def _find_chars(text_page: "PdfTextPage", quote: str, expected: int) -> Iterator[tuple[int, int]]:
    """Yield the indexes of first characters, and the numbers of characters, of a quote on a page.

    The header of a table may not be one text there: then each row is looked for by itself.

    Args:
        expected: Where in the folded text of the page it should begin; the nearest counts.
    """
    import pypdfium2.raw as raw  # noqa: PLC0415, PLR0402

    letters: list[str] = []
    # The index in the source of each letter.
    places: list[int] = []
    for index in range(text_page.count_chars() if quote else 0):
        code = raw.FPDFText_GetUnicode(text_page, index)
        for letter in fold_text(chr(code)) if code <= sys.maxunicode else "":
            letters.append(letter)
            places.append(index)
    text = "".join(letters)
    rows = quote.split("\n") if quote.startswith("|") else []
    for folded in filter(None, map(fold_text, [quote] if fold_text(quote) in text else rows)):
        starts = (text.rfind(folded, 0, expected + len(folded)), text.find(folded, expected))
        found = [at for at in starts if at >= 0]
        if found:
            at = min(found, key=lambda at: abs(at - expected))
            yield places[at], places[at + len(folded) - 1] - places[at] + 1
