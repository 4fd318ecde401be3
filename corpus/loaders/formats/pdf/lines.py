"""Lines of a page, and properties of their first and last letters. Pure."""

import re
from dataclasses import dataclass

from corpus.loaders.blocks import OcrBox

# A line this much larger than the body is a heading, unless most lines are.
HEADING_SCALE = 1.12
# Share of the line's size; a first line is indented by one em or more.
INDENT_EMS = 0.8

BULLETS = "•◦▪●○■–—*‣·-"
ITEM = re.compile(rf"(?:[{BULLETS}]|\(?(?:\d{{1,3}}|[a-zA-Z]|[ivx]{{1,4}})[.)])\s")
# A letter and a hyphen at a line's end: plain, soft, Unicode's hyphen, and pdfium's mark.
JOINT = re.compile(r"[^\W\d_][-\u00ad\u2010\x02]$")


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a page; coordinates in points, from the lower left corner.

    Attributes:
        ocr_boxes: Positions of its parts if OCR read it.
        ends: Whether a line break follows, as after a table row.
        is_running: Whether it is a header, footer or page number.
        rows: The rows of a table, which is one line; else empty.
    """

    text: str
    size: float
    weight: int
    left: float
    right: float
    bottom: float
    top: float
    level: int | None = None
    ocr_boxes: tuple[OcrBox, ...] = ()
    ends: bool = False
    is_running: bool = False
    rows: tuple[tuple[str, ...], ...] = ()
