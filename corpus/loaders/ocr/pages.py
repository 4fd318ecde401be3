"""Have OCR read the scanned pages of a file, each in a child process of its own."""

import logging
from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from itertools import islice
from typing import Any

from corpus.characters import fold_text
from corpus.errors import EmptyDocument, TooLarge, UnreadableFile
from corpus.loaders.base import LoadedDocument, Scan, ScannedLine
from corpus.loaders.limits import LoaderLimits
from corpus.loaders.ocr import OCR, UNSURE_BELOW
from corpus.loaders.sandbox import read_in_child, run_in_child

logger = logging.getLogger(__name__)

# Of a page with text.
_LEAST_LETTERS = 3
# Several times what the slowest of 57 pages took (docs/decisions/0039).
PAGE_CPU_S = 45.0
# On a machine that does much else at the time.
PAGE_WALL_S = 120.0


def read_scans(
    content: bytes,
    document: LoadedDocument,
    *,
    filename: str,
    media_type: str,
    limits: LoaderLimits,
) -> LoadedDocument:
    """Read a document again with the text of its scanned pages.

    A page that cannot be read within its limits is left out and named among the document's
    metadata, as all are where OCR is off.

    Args:
        document: What was read of it without OCR; its ``scans`` are those pages.

    Raises:
        EmptyDocument: OCR found no text and there is no other; or it is off, and there is none.
        TooLarge: It has more scanned pages than are read while somebody waits.
        UnreadableFile: There is no text without the scanned pages, and none of them can be read.
    """
    if not limits.ocr or find_spec("rapidocr") is None:
        if not document.blocks:
            raise EmptyDocument(
                f"There is no text on its {len(document.scans)} pages: it is scanned, and OCR is"
                " off (PKB_OCR)."
            )
        return _told(document, {"unread_pages": list(document.scans)})
    if limits.all_scans and len(document.scans) > limits.max_scanned_pages:
        raise TooLarge(
            f"The file has {len(document.scans):,} scanned pages; a request has"
            f" {limits.max_scanned_pages} read at most. The library and folders take all."
        )
    numbers = islice(document.scans, limits.max_scanned_pages)
    scans, reasons = _read_pages(content, numbers, media_type=media_type, limits=limits)
    if not scans and not document.blocks:
        raise UnreadableFile(reasons[0])
    unread = [number for number in document.scans if number not in scans]
    whole = read_in_child(
        content, filename=filename, media_type=media_type, limits=limits, scans=scans
    )
    return _told(whole, summary_of(scans, unread))


def summary_of(scans: Mapping[int, Scan], unread: list[int]) -> dict[str, Any]:
    """Return what a document says of OCR, as its metadata; nothing where there was no text.

    Returns:
        ``pages`` whose text is by OCR; ``confidence``, the mean of what was found, in [0, 1], or
        null; ``unsure_pages``, where it is under ``UNSURE_BELOW``; ``unread_pages``, which could
        not be read. Pages are numbers from 1.
    """
    found = {n: scan.confidence for n, scan in scans.items() if scan.confidence is not None}
    said = {
        "pages": [number for number, scan in scans.items() if scan.lines],
        "confidence": round(sum(found.values()) / len(found), 3) if found else None,
        "unsure_pages": [number for number, sure in found.items() if sure < UNSURE_BELOW],
        "unread_pages": unread,
    }
    return said if any(said.values()) else {}


def _told(document: LoadedDocument, said: dict[str, Any]) -> LoadedDocument:
    metadata = {**document.metadata, OCR: said} if said else document.metadata
    return replace(document, scans=(), metadata=metadata)


def _read_pages(
    content: bytes, numbers: Any, *, media_type: str, limits: LoaderLimits
) -> tuple[dict[int, Scan], list[str]]:
    """The pages that can be read, and why others cannot."""
    bounds = replace(limits, wall_s=PAGE_WALL_S, base_cpu_s=PAGE_CPU_S)
    scans: dict[int, Scan] = {}
    reasons: list[str] = []
    for number in numbers:
        try:
            (told,) = run_in_child(
                "read_scan",
                content,
                media_type=media_type,
                limits=bounds,
                given={"number": number},
            )
        except UnreadableFile as error:
            logger.warning("Page %d was not read by OCR: %s", number, error)
            reasons.append(str(error))
            continue
        scans[number] = _scan(*told)
    return scans, reasons


def _scan(width: int, height: int, told: list[Any], confidence: float | None) -> Scan:
    lines = tuple(ScannedLine(*line) for line in told)
    letters = sum(len(fold_text(line.text)) for line in lines)
    # A drawing of a box was read as the letter C.
    return Scan(width, height, lines if letters >= _LEAST_LETTERS else (), confidence)
