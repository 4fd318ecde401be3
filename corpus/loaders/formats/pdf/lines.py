"""Lines of a page, and what their first and last letters tell. Pure."""

import re
from dataclasses import dataclass

from corpus.loaders.base import OcrBox

# A line this much larger than the body is a heading, unless most of the text is.
HEADING_SCALE = 1.12
# Of the line's own size; a first line is set in by one em or more.
INDENT_EMS = 0.8

BULLETS = "•◦▪●○■–—*‣·-"
ITEM = re.compile(rf"(?:[{BULLETS}]|\(?(?:\d{{1,3}}|[a-zA-Z]|[ivx]{{1,4}})[.)])\s")
# A letter and a hyphen at a line's end: plain, soft, Unicode's own, and pdfium's mark.
JOINT = re.compile(r"[^\W\d_][-\u00ad\u2010\x02]$")


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a page; coordinates in points, from the lower left corner.

    Attributes:
        places: Of its parts, where OCR read it.
        ends: What follows begins a line, as behind a row of a table.
        is_running: It is a head or foot, or a page's number.
    """

    text: str
    size: float
    weight: int
    left: float
    right: float
    bottom: float
    top: float
    level: int | None = None
    places: tuple[OcrBox, ...] = ()
    ends: bool = False
    is_running: bool = False
