"""Images in files: opened within limits, and drawn upright."""

import io
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from corpus.errors import PageNotFound, UnreadableFile
from corpus.loaders.formats.pdf.page import MAX_PIXELS, WIDTH_PX, PageLayout

if TYPE_CHECKING:
    from PIL.Image import Image

# More than A4 at 1,000 dpi; decoding with its copies takes half of the allowed memory.
MOST_PIXELS = 100_000_000
# A4 at 230 dpi. Larger images take longer and are not read better.
OCR_PIXELS = 5_000_000
# Pages of a fax or a book in one file; each page has limits of its own.
MOST_PAGES = 2_000
_FORMATS = ("PNG", "JPEG", "TIFF", "WEBP", "BMP")
_WHITE = (255, 255, 255, 255)


def count(content: bytes) -> int:
    """Return the number of images in a file; an animation counts as one.

    Raises:
        UnreadableFile: It is damaged, or has too many or too large images.
    """
    with _read(content) as image:
        found = _frames(image)
        if found > MOST_PAGES:
            raise UnreadableFile(f"The image has {found:,} pages; {MOST_PAGES:,} are allowed.")
        return found


def opened(content: bytes, *, number: int, most_pixels: int, width_px: int = 0) -> "Image":
    """Return an image in RGB, upright, and reduced to the requested size.

    Args:
        width_px: Width to reduce a wider image to; 0 keeps the width.

    Raises:
        PageNotFound: The file has no such image.
        UnreadableFile: As ``count``.
    """
    from PIL import Image, ImageOps  # noqa: PLC0415 - only in the child process

    with _read(content) as image:
        _turn_to(image, number)
        image.draft("RGB", _size(image, most_pixels, width_px))
        upright = ImageOps.exif_transpose(_plain(image))
        size = _size(upright, most_pixels, width_px)
        small = upright if size == upright.size else upright.resize(size, Image.Resampling.BOX)
        if small.mode != "RGBA":
            return small.convert("RGB")
        ground = Image.new("RGBA", small.size, _WHITE)
        return Image.alpha_composite(ground, small).convert("RGB")


def draw(content: bytes, *, number: int) -> bytes:
    """Return an image as PNG.

    Raises:
        PageNotFound, UnreadableFile: As ``opened``.
    """
    png = io.BytesIO()
    picture = opened(content, number=number, most_pixels=MAX_PIXELS, width_px=WIDTH_PX)
    picture.save(png, "PNG")
    return png.getvalue()


def measure(content: bytes, *, number: int) -> PageLayout:
    """Return the size at which an image is drawn, and the number of images.

    Raises:
        PageNotFound, UnreadableFile: As ``opened``.
    """
    picture = opened(content, number=number, most_pixels=MAX_PIXELS, width_px=WIDTH_PX)
    return PageLayout(picture.width, picture.height, count(content), [])


@contextmanager
def _read(content: bytes) -> "Iterator[Image]":
    from PIL import Image  # noqa: PLC0415

    # We check the size ourselves.
    Image.MAX_IMAGE_PIXELS = None
    try:
        with Image.open(io.BytesIO(content), formats=_FORMATS) as image:
            _check_size(image)
            yield image
    # The errors of Pillow's decoders; for an unknown format it is an OSError.
    except (OSError, SyntaxError, ValueError, struct.error, EOFError) as error:
        raise UnreadableFile(f"The image is damaged or truncated: {error}") from error


def _check_size(image: "Image") -> None:
    width, height = image.size
    if width * height > MOST_PIXELS:
        raise UnreadableFile(
            f"The image has {width:,} x {height:,} pixels; {MOST_PIXELS:,} in all are allowed."
        )


def _frames(image: "Image") -> int:
    return int(getattr(image, "n_frames", 1)) if image.format == "TIFF" else 1


def _turn_to(image: "Image", number: int) -> None:
    page_count = _frames(image)
    if not 1 <= number <= page_count:
        raise PageNotFound(f"The file has {page_count:,} pages.")
    if number > 1:
        image.seek(number - 1)
        _check_size(image)


def _plain(image: "Image") -> "Image":
    """Convert an image to RGB: flatten transparency, reduce 16-bit gray to 8."""
    if image.mode.startswith("I"):
        return image.convert("I").point(lambda grey: grey / 256).convert("RGB")
    return image.convert("RGBA" if image.has_transparency_data else "RGB")


def _size(image: "Image", most_pixels: int, width_px: int) -> tuple[int, int]:
    width, height = image.size
    scale = min(1.0, (most_pixels / (width * height)) ** 0.5)
    if width_px:
        scale = min(scale, width_px / width)
    return max(round(width * scale), 1), max(round(height * scale), 1)
