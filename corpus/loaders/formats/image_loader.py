"""Images of pages, whose text OCR reads; opened within limits, and drawn upright.

A TIFF may contain several.
"""

import io
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from corpus.errors import EmptyDocument, PageNotFound, UnreadableFile
from corpus.loaders.blocks import LoadedDocument, Scan
from corpus.loaders.formats.pdf.layout import blocks_from_pages, find_title
from corpus.loaders.formats.pdf.rendering import MAX_PIXELS, WIDTH_PX, PageLayout
from corpus.loaders.ocr import OCR_PIXELS
from corpus.loaders.ocr.reading_order import sort_lines

if TYPE_CHECKING:
    from numpy import ndarray
    from PIL.Image import Image

PRELOAD = ("numpy", "PIL.Image", "PIL.ImageOps")

# More than A4 at 1,000 dpi; decoding with its copies takes half of the allowed memory.
MAX_FILE_PIXELS = 100_000_000
# Pages of a fax or a book in one file; each page has limits of its own.
MAX_PAGES = 2_000
_FORMATS = ("PNG", "JPEG", "TIFF", "WEBP", "BMP")
_WHITE = (255, 255, 255, 255)


def load(content: bytes, *, filename: str) -> LoadedDocument:
    """Return a document with one scan for each image; OCR reads the text."""
    page_count = count_pages(content)
    return LoadedDocument(
        blocks=(), metadata={"page_count": page_count}, scans=tuple(range(1, page_count + 1))
    )


def load_scanned(content: bytes, *, filename: str, scans: Mapping[int, Scan]) -> LoadedDocument:
    """Build the document of an image from the OCR results."""
    pages = {number: sort_lines(scan) for number, scan in sorted(scans.items())}
    blocks = blocks_from_pages(pages, {})
    if not blocks:
        raise EmptyDocument("OCR found no text in the image.")
    return LoadedDocument(
        blocks=tuple(blocks),
        title=find_title("", pages, filename=filename),
        metadata={"page_count": count_pages(content)},
    )


def picture_of(content: bytes, *, number: int) -> "ndarray[Any, Any]":
    """Return the pixels of an image, reduced to what OCR needs."""
    import numpy as np  # noqa: PLC0415 - only in the child process

    picture = open_page(content, number=number, max_pixels=OCR_PIXELS)
    return np.ascontiguousarray(np.asarray(picture)[:, :, ::-1])


def count_pages(content: bytes) -> int:
    """Return the number of images in a file; an animation counts as one.

    Raises:
        UnreadableFile: It is damaged, or has too many or too large images.
    """
    with _opened(content) as (_, page_count):
        if page_count > MAX_PAGES:
            raise UnreadableFile(f"The image has {page_count:,} pages; {MAX_PAGES:,} are allowed.")
        return page_count


def open_page(content: bytes, *, number: int, max_pixels: int, width_px: int = 0) -> "Image":
    """Return an image in RGB, upright, and reduced to the requested size.

    Args:
        width_px: Width to reduce a wider image to; 0 keeps the width.

    Raises:
        PageNotFound: The file has no such image.
        UnreadableFile: As ``count_pages``.
    """
    from PIL import Image, ImageOps  # noqa: PLC0415 - only in the child process

    with _opened(content) as (image, page_count):
        if not 1 <= number <= page_count:
            raise PageNotFound(f"The file has {page_count:,} pages.")
        if number > 1:
            image.seek(number - 1)
            _check_size(image)
        image.draft("RGB", _reduced_size(image, max_pixels, width_px))
        if image.mode.startswith("I"):  # 16-bit gray
            plain = image.convert("I").point(lambda gray: gray / 256).convert("RGB")
        else:
            plain = image.convert("RGBA" if image.has_transparency_data else "RGB")
        upright = ImageOps.exif_transpose(plain)
        size = _reduced_size(upright, max_pixels, width_px)
        small = upright if size == upright.size else upright.resize(size, Image.Resampling.BOX)
        if small.mode != "RGBA":
            return small.convert("RGB")
        ground = Image.new("RGBA", small.size, _WHITE)
        return Image.alpha_composite(ground, small).convert("RGB")


def draw(content: bytes, *, number: int) -> bytes:
    """Return an image as PNG; raises as ``open_page``."""
    png = io.BytesIO()
    picture = open_page(content, number=number, max_pixels=MAX_PIXELS, width_px=WIDTH_PX)
    picture.save(png, "PNG")
    return png.getvalue()


def find(content: bytes, *, number: int, quote: str, before: str) -> PageLayout:
    """Return the size at which an image is drawn, and the image count; no words are found.

    Raises as ``draw``.
    """
    picture = open_page(content, number=number, max_pixels=MAX_PIXELS, width_px=WIDTH_PX)
    return PageLayout(picture.width, picture.height, count_pages(content), [])


@contextmanager
def _opened(content: bytes) -> "Iterator[tuple[Image, int]]":
    """Open a file; yield its first image and the number of images."""
    from PIL import Image, UnidentifiedImageError  # noqa: PLC0415

    # We check the size ourselves.
    Image.MAX_IMAGE_PIXELS = None
    try:
        with Image.open(io.BytesIO(content), formats=_FORMATS) as image:
            _check_size(image)
            yield image, int(getattr(image, "n_frames", 1)) if image.format == "TIFF" else 1
    except UnidentifiedImageError as error:
        message = "The image is damaged or truncated: its header cannot be read."
        raise UnreadableFile(message) from error
    # The errors of Pillow's decoders.
    except (OSError, SyntaxError, ValueError, struct.error, EOFError) as error:
        raise UnreadableFile(f"The image is damaged or truncated: {error}") from error


def _check_size(image: "Image") -> None:
    width, height = image.size
    if width * height > MAX_FILE_PIXELS:
        raise UnreadableFile(
            f"The image has {width:,} x {height:,} pixels; {MAX_FILE_PIXELS:,} in all are allowed."
        )


def _reduced_size(image: "Image", max_pixels: int, width_px: int) -> tuple[int, int]:
    width, height = image.size
    scale = min(1.0, (max_pixels / (width * height)) ** 0.5)
    if width_px:
        scale = min(scale, width_px / width)
    return max(round(width * scale), 1), max(round(height * scale), 1)
