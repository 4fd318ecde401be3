"""Run OCR on the scanned pages of a file, each in its own child process."""

import logging
from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from itertools import islice, starmap
from typing import Any

from corpus.characters import fold_text
from corpus.errors import EmptyDocument, TooLarge, UnreadableFile
from corpus.loaders.blocks import LoadedDocument, Scan, ScannedLine
from corpus.loaders.limits import LoaderLimits
from corpus.loaders.ocr import OCR, UNSURE_BELOW
from corpus.loaders.sandbox import read_in_child, run_in_child

logger = logging.getLogger(__name__)

# Minimum letters of a page with text.
_MIN_LETTERS = 3
# Several times the slowest of 57 pages (docs/decisions/0039).
PAGE_CPU_S = 45.0
# Allows for a busy machine.
PAGE_WALL_S = 120.0


def read_scans(
    content: bytes,
    document: LoadedDocument,
    *,
    filename: str,
    media_type: str,
    limits: LoaderLimits,
) -> LoadedDocument:
    """Read a document again with the OCR text of its scanned pages.

    Unreadable pages, or all pages if OCR is off, are omitted and listed in the metadata.

    Args:
        document: The document as read without OCR; its ``scans`` are the pages to read.

    Raises:
        EmptyDocument: There is no text, with OCR or without.
        TooLarge: It has more scanned pages than a waiting client may request.
        UnreadableFile: All text is on scanned pages, and none of them can be read.
    """
    if not limits.ocr or find_spec("rapidocr") is None:
        if not document.blocks:
            raise EmptyDocument(
                f"There is no text on its {len(document.scans)} pages: it is scanned, and OCR is"
                " off (PKB_OCR)."
            )
        summary = {"unread_pages": list(document.scans)}
        return replace(document, scans=(), metadata={**document.metadata, OCR: summary})
    if limits.all_scans and len(document.scans) > limits.max_scanned_pages:
        raise TooLarge(
            f"The file has {len(document.scans):,} scanned pages; a request has"
            f" {limits.max_scanned_pages} read at most. The library and folders take all."
        )
    page_limits = replace(limits, wall_s=PAGE_WALL_S, base_cpu_s=PAGE_CPU_S)
    scans: dict[int, Scan] = {}
    reasons: list[str] = []
    for number in islice(document.scans, limits.max_scanned_pages):
        try:
            ((width, height, line_values, confidence),) = run_in_child(
                "read_scan",
                content,
                media_type=media_type,
                limits=page_limits,
                arguments={"number": number},
            )
        except UnreadableFile as error:
            logger.warning("Page %d was not read by OCR: %s", number, error)
            reasons.append(str(error))
            continue
        lines = tuple(starmap(ScannedLine, line_values))
        letter_count = sum(len(fold_text(line.text)) for line in lines)
        # OCR reads a drawn box as the letter C.
        lines = lines if letter_count >= _MIN_LETTERS else ()
        scans[number] = Scan(width, height, lines, confidence)
    if not scans and not document.blocks:
        raise UnreadableFile(reasons[0])
    unread = [number for number in document.scans if number not in scans]
    whole = read_in_child(
        content, filename=filename, media_type=media_type, limits=limits, scans=scans
    )
    summary = summarize_ocr(scans, unread)
    metadata = {**whole.metadata, OCR: summary} if summary else whole.metadata
    return replace(whole, scans=(), metadata=metadata)


def summarize_ocr(scans: Mapping[int, Scan], unread: list[int]) -> dict[str, Any]:
    """Return the OCR summary of a document for its metadata, or nothing without OCR.

    Returns:
        ``pages`` read by OCR; ``confidence``, their mean in [0, 1], or null; ``unsure_pages``,
        below ``UNSURE_BELOW``; ``unread_pages``, which could not be read. Pages are numbers from 1.
    """
    confidences = {n: scan.confidence for n, scan in scans.items() if scan.confidence is not None}
    mean = round(sum(confidences.values()) / len(confidences), 3) if confidences else None
    summary = {
        "pages": [number for number, scan in scans.items() if scan.lines],
        "confidence": mean,
        "unsure_pages": [n for n, confidence in confidences.items() if confidence < UNSURE_BELOW],
        "unread_pages": unread,
    }
    return summary if any(summary.values()) else {}
