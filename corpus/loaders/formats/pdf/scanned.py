"""Find scanned pages of a PDF, and draw them for OCR."""

from itertools import islice
from typing import TYPE_CHECKING, Any

from corpus.errors import UnreadableFile

if TYPE_CHECKING:
    from numpy import ndarray
    from pypdfium2 import PdfPage

# A scan may have a number or a stamp as text. In 903 pages of real files, scanned ones have at most
# ten letters and digits, and those with text and a large picture at least 339.
MOST_STRAY = 100
# Share of the page that an image, or strips of one, cover in a scan.
_LEAST_SHARE = 0.5
# Limits the number of objects: a map may have a million.
_MOST_OBJECTS = 2_000
_DPI, _POINTS_PER_INCH = 200, 72
# A4 at 230 dpi; larger pages are drawn with fewer pixels an inch.
_MOST_PIXELS = 5_000_000


def is_scan(page: "PdfPage", text: str) -> bool:
    """Return whether a page shows content that its text lacks."""
    import pypdfium2.raw as raw  # noqa: PLC0415, PLR0402 - only in the child process

    count = sum(map(str.isalnum, text))
    if count >= MOST_STRAY:
        return False
    others = [
        o for o in islice(page.get_objects(), _MOST_OBJECTS) if o.type != raw.FPDF_PAGEOBJ_TEXT
    ]
    if not count:
        return bool(others)
    pictures = [other for other in others if other.type == raw.FPDF_PAGEOBJ_IMAGE]
    covered = sum(_area(page, *picture.get_bounds()) for picture in pictures)
    return bool(covered >= page.get_width() * page.get_height() * _LEAST_SHARE)


def _area(page: "PdfPage", left: float, bottom: float, right: float, top: float) -> float:
    """Return the area of a rectangle that is on the page."""
    width = min(right, page.get_width()) - max(left, 0)
    height = min(top, page.get_height()) - max(bottom, 0)
    return float(max(width, 0) * max(height, 0))


def picture_of(content: bytes, *, number: int) -> "ndarray[Any, Any]":
    """Return the pixels of a page for OCR: blue, green and red bytes, by row and column.

    Raises:
        UnreadableFile: The page cannot be drawn.
    """
    from pypdfium2 import PdfDocument, PdfiumError  # noqa: PLC0415

    try:
        page = PdfDocument(content)[number - 1]
        area = max(page.get_width() * page.get_height(), 1.0)
        scale = min(_DPI / _POINTS_PER_INCH, (_MOST_PIXELS / area) ** 0.5)
        picture: ndarray[Any, Any] = page.render(scale=scale, prefer_bgrx=False).to_numpy().copy()
    except PdfiumError as error:
        raise UnreadableFile(f"Page {number} cannot be drawn: {error}") from error
    return picture
