"""Pictures of text, alone and as pages of a PDF, made when a test needs them."""

import io
from collections.abc import Sequence

from PIL import Image, ImageDraw, ImageFont
from pypdfium2 import PdfDocument

from corpus.loaders.blocks import Scan, ScannedLine

SENTENCES = ("The lighthouse at Bavoke was built", "in 1874 by the engineer Orsolya Quill.")


def picture_of_text(lines: Sequence[str] = SENTENCES, *, size: int = 30) -> Image.Image:
    """Lines in black on white, 50 pixels apart, the first at 40 from the upper left corner."""
    picture = Image.new("RGB", (700, 80 + 50 * max(len(lines), 1)), "white")
    draw = ImageDraw.Draw(picture)
    for row, line in enumerate(lines):
        draw.text((40, 40 + 50 * row), line, "black", ImageFont.load_default(size))
    return picture


def packed(picture: Image.Image, kind: str, **options: object) -> bytes:
    """A picture as a file of a kind that Pillow knows."""
    file = io.BytesIO()
    picture.save(file, kind, **options)
    return file.getvalue()


def joined_pdfs(*files: bytes) -> bytes:
    """One PDF of the pages of several."""
    whole = PdfDocument.new()
    for file in files:
        whole.import_pages(PdfDocument(file))
    out = io.BytesIO()
    whole.save(out)
    return out.getvalue()


def scan_of(*rows: tuple[str, float, float], width: int = 1_000, sure: float = 0.99) -> Scan:
    """Level lines, 20 pixels high and ten a letter, by text, left edge and middle."""
    lines = (ScannedLine(text, sure, x, y, x + 10 * len(text), y, 20) for text, x, y in rows)
    return Scan(width, 1_400, tuple(lines), sure)
