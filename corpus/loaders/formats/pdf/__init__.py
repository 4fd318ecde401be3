"""PDF: lines with position and size, from pdfium or OCR, converted to headings and paragraphs."""

import ctypes
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from corpus.errors import EmptyDocument, UnreadableFile
from corpus.loaders.base import Block, LoadedDocument, Scan
from corpus.loaders.formats.pdf.layout import Outline, blocks_from_pages
from corpus.loaders.formats.pdf.lines import Line
from corpus.loaders.formats.pdf.scanned import is_scan, picture_of
from corpus.loaders.formats.pdf.title import find_title
from corpus.loaders.ocr.reading_order import sort_lines

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfTextPage

__all__ = ["PRELOAD", "load", "load_scanned", "picture_of"]

PRELOAD = ("pypdfium2", "pypdfium2.raw")

# A damaged file may claim any number of pages and of outline entries, or loop.
_MAX_PAGES = 20_000
_MAX_OUTLINE = 5_000
# PDF allows names of 127 bytes.
# The tag of a language, in UTF-16; none is as long.
_LANGUAGE_UNITS = 64
_FONT_NAME_BYTES = 128
_DATE = re.compile(r"D:(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?([Zz]|[+-]\d\d'?\d\d)?")
_STATED = {"Author": "author", "Subject": "subject", "Keywords": "keywords"}


def load(content: bytes, *, filename: str) -> LoadedDocument:
    """Read the text of a PDF page by page, and list the scanned pages.

    Raises:
        UnreadableFile: It is damaged, or asks for a password.
        EmptyDocument: No page has text, and none is scanned.
    """
    return _load(content, filename, scans=None)


def load_scanned(content: bytes, *, filename: str, scans: Mapping[int, Scan]) -> LoadedDocument:
    """Read the text of a PDF page by page, with the OCR results of some pages.

    Raises:
        UnreadableFile, EmptyDocument: As ``load``.
    """
    return _load(content, filename, scans=scans)


def _load(content: bytes, filename: str, *, scans: Mapping[int, Scan] | None) -> LoadedDocument:
    from pypdfium2 import PdfDocument, PdfiumError  # noqa: PLC0415 - only in the child process

    try:
        pdf = PdfDocument(content)
        page_count = len(pdf)
        stated = pdf.get_metadata_dict(skip_empty=True)
    except PdfiumError as error:
        raise UnreadableFile(_reason(str(error))) from error
    if page_count > _MAX_PAGES:
        raise UnreadableFile(f"The PDF claims {page_count:,} pages; {_MAX_PAGES:,} are allowed.")
    found = list(_pages(pdf, page_count))
    if page_count and not found:
        raise UnreadableFile("None of the PDF's pages can be read: it is damaged.")
    pages = {number: lines for number, lines, _ in found}
    scanned = tuple(number for number, _, is_scanned in found if is_scanned)
    by_ocr = _by_ocr(pages, scans or {})
    blocks = _blocks(pages, by_ocr, _outline(pdf))
    if not blocks and (scans is not None or not scanned):
        said = "OCR found no text" if scans else "There is no text"
        raise EmptyDocument(f"{said} on the {page_count} pages of the PDF.")
    return LoadedDocument(
        blocks=tuple(blocks),
        title=find_title(stated.get("Title", ""), {**pages, **by_ocr}, filename=filename),
        metadata={**_metadata(stated, page_count), "language": _language(pdf)},
        scans=scanned if scans is None else (),
    )


def _language(pdf: "PdfDocument") -> str:
    """Return the language in the document's catalog."""
    import pypdfium2.raw as raw  # noqa: PLC0415, PLR0402

    units = (ctypes.c_ushort * _LANGUAGE_UNITS)()
    size = raw.FPDFCatalog_GetLanguage(pdf, units, ctypes.sizeof(units))
    # Nothing is written if it is longer.
    stated = bytes(units)[:size] if size <= ctypes.sizeof(units) else b""
    return stated.decode("utf-16-le", "replace").rstrip("\0")


def _by_ocr(pages: Mapping[int, list[Line]], scans: Mapping[int, Scan]) -> dict[int, list[Line]]:
    """Return the pages where OCR read more than the text layer has, such as a stamp."""
    read = {number: sort_lines(scan) for number, scan in scans.items()}
    return {n: lines for n, lines in read.items() if _chars(lines) > _chars(pages.get(n, []))}


def _chars(lines: list[Line]) -> int:
    return sum(len(line.text) for line in lines)


def _blocks(
    pages: Mapping[int, list[Line]], by_ocr: Mapping[int, list[Line]], outline: Outline
) -> list[Block]:
    """Return all blocks by page; letter sizes are compared within OCR and text pages."""
    with_text = {number: lines for number, lines in pages.items() if number not in by_ocr}
    blocks = [*blocks_from_pages(with_text, outline), *blocks_from_pages(by_ocr, outline)]
    return sorted(blocks, key=lambda block: block.page or 0)


def _reason(error: str) -> str:
    if "password" in error.lower() or "security" in error.lower():
        return "The PDF is encrypted and asks for a password."
    return f"The PDF is damaged or truncated: {error}"


def _pages(pdf: "PdfDocument", page_count: int) -> Iterator[tuple[int, list[Line], bool]]:
    """Yield number, lines and scan flag of each readable page."""
    from pypdfium2 import PdfiumError  # noqa: PLC0415

    for index in range(page_count):
        try:
            page = pdf[index]
            text_page = page.get_textpage()
        except PdfiumError:  # a damaged page must not take the others with it
            continue
        lines = list(_lines(text_page))
        yield index + 1, lines, is_scan(page, "".join(line.text for line in lines))
        text_page.close()
        page.close()


def _lines(text_page: "PdfTextPage") -> Iterator[Line]:
    import pypdfium2.raw as raw  # noqa: PLC0415, PLR0402

    position = 0
    if text_page.count_chars() <= 0:
        return
    for text in text_page.get_text_range().split("\r\n"):
        stripped = text.strip()
        if stripped:
            begin = position + text.index(stripped)
            first = raw.FPDFText_GetCharIndexFromTextIndex(text_page, begin)
            last = raw.FPDFText_GetCharIndexFromTextIndex(text_page, begin + len(stripped) - 1)
            if first >= 0:
                # A blank at the end marks a complete word, which matters in Korean.
                yield _line(text.lstrip(), text_page, first, max(first, last))
        position += len(text) + 2


def _line(text: str, text_page: "PdfTextPage", first: int, last: int) -> Line:
    import pypdfium2.raw as raw  # noqa: PLC0415, PLR0402

    left, bottom, _, top = text_page.get_charbox(first, loose=True)
    _, _, right, _ = text_page.get_charbox(last, loose=True)
    matrix = raw.FS_MATRIX()
    raw.FPDFText_GetMatrix(text_page, first, matrix)
    scale = (matrix.b**2 + matrix.d**2) ** 0.5
    return Line(
        text=text,
        size=round(raw.FPDFText_GetFontSize(text_page, first) * (scale or 1.0) * 2) / 2,
        # A line that only begins in bold is a sentence.
        weight=min(_weight(text_page, first), _weight(text_page, last)),
        left=left,
        right=right,
        bottom=bottom,
        top=top,
    )


def _weight(text_page: "PdfTextPage", index: int) -> int:
    """Return the weight, 100 to 900; from the font's name if that says bold."""
    import pypdfium2.raw as raw  # noqa: PLC0415, PLR0402

    name = ctypes.create_string_buffer(_FONT_NAME_BYTES)
    flags = ctypes.c_int()
    raw.FPDFText_GetFontInfo(text_page, index, name, _FONT_NAME_BYTES, ctypes.byref(flags))
    if re.search(rb"bold|black|heavy|semibold|demi", name.value, re.I):
        return 700
    weight: int = raw.FPDFText_GetFontWeight(text_page, index)
    return weight


def _outline(pdf: "PdfDocument") -> Outline:
    """Return outline entries by page as (title, depth from 1), or nothing."""
    from pypdfium2 import PdfiumError  # noqa: PLC0415

    outline: Outline = {}
    try:
        for count, entry in enumerate(pdf.get_toc(max_depth=6)):
            destination = entry.get_dest()
            index = destination.get_index() if destination else None
            if count > _MAX_OUTLINE:
                break
            if index is not None and index >= 0:
                outline.setdefault(index + 1, []).append((entry.get_title(), entry.level + 1))
    except PdfiumError:  # a broken outline: headings are told by their size
        return {}
    return outline


def _metadata(stated: dict[str, str], page_count: int) -> dict[str, Any]:
    metadata: dict[str, Any] = {"page_count": page_count}
    for name, key in _STATED.items():
        if stated.get(name, "").strip():
            metadata[key] = stated[name].strip()
    created = _DATE.match(stated.get("CreationDate", ""))
    if created:
        year, month, day, hour, minute, second, zone = created.groups()
        metadata["created"] = f"{year}-{month or '01'}-{day or '01'}"
        if hour and zone:
            offset = "+00:00" if zone in "Zz" else zone[:3] + ":" + zone[-2:]
            metadata["created"] += f"T{hour}:{minute or '00'}:{second or '00'}{offset}"
    return metadata
