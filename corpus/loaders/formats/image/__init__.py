"""Images of pages, whose text OCR reads. A TIFF may contain several."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from corpus.errors import EmptyDocument
from corpus.loaders.base import LoadedDocument, Scan
from corpus.loaders.formats.image import page
from corpus.loaders.formats.pdf.layout import blocks_from_pages
from corpus.loaders.formats.pdf.title import find_title
from corpus.loaders.ocr.reading_order import sort_lines

if TYPE_CHECKING:
    from numpy import ndarray

PRELOAD = ("numpy", "PIL.Image", "PIL.ImageOps")


def load(content: bytes, *, filename: str) -> LoadedDocument:
    """Return a document with one scan for each image; OCR reads the text.

    Raises:
        UnreadableFile: It is damaged, or has more pixels than are allowed.
    """
    page_count = page.count(content)
    return LoadedDocument(
        blocks=(), metadata={"page_count": page_count}, scans=tuple(range(1, page_count + 1))
    )


def load_scanned(content: bytes, *, filename: str, scans: Mapping[int, Scan]) -> LoadedDocument:
    """Build the document of an image from the OCR results.

    Raises:
        UnreadableFile: As ``load``.
        EmptyDocument: OCR found no text.
    """
    pages = {number: sort_lines(scan) for number, scan in sorted(scans.items())}
    blocks = blocks_from_pages(pages, {})
    if not blocks:
        raise EmptyDocument("OCR found no text in the image.")
    return LoadedDocument(
        blocks=tuple(blocks),
        title=find_title("", pages, filename=filename),
        metadata={"page_count": page.count(content)},
    )


def picture_of(content: bytes, *, number: int) -> "ndarray[Any, Any]":
    """Return the pixels of an image for OCR: blue, green and red bytes, by row and column.

    Raises:
        UnreadableFile: As ``load``.
    """
    import numpy as np  # noqa: PLC0415 - only in the child process

    picture = page.opened(content, number=number, most_pixels=page.OCR_PIXELS)
    return np.ascontiguousarray(np.asarray(picture)[:, :, ::-1])
