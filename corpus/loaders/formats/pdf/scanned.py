"""Pages of a PDF that are pictures: which ones, and drawn for OCR."""

from itertools import islice
from typing import TYPE_CHECKING, Any

from corpus.errors import UnreadableFile

if TYPE_CHECKING:
    from numpy import ndarray
    from pypdfium2 import PdfPage

# A scan may have been given a number or a stamp. Of 903 pages of real files, the scanned ones have
# ten letters and digits at most, and those with both text and a large picture 339 at least.
MOST_STRAY = 100
# Of the page: a picture, or stripes of one, that cover it so far are a scan.
_LEAST_SHARE = 0.5
# Of a map there may be a million.
_MOST_OBJECTS = 2_000
_DPI, _POINTS_PER_INCH = 200, 72
# A4 at 230 dpi; larger pages are drawn with fewer pixels an inch.
_MOST_PIXELS = 5_000_000


def is_scan(page: "PdfPage", text: str) -> bool:
    """Tell whether a page shows something that is to be read, and its text does not say it."""
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
    """That is on the page."""
    width = min(right, page.get_width()) - max(left, 0)
    height = min(top, page.get_height()) - max(bottom, 0)
    return float(max(width, 0) * max(height, 0))


def picture_of(content: bytes, *, number: int) -> "ndarray[Any, Any]":
    """Return a page for OCR: bytes of blue, green and red, by row and column.

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
