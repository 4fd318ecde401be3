"""PDF: lines with position and size, from pdfium or OCR, converted to headings and paragraphs."""

import ctypes
import re
from collections import Counter
from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from corpus.errors import EmptyDocument, UnreadableFile
from corpus.loaders.blocks import LoadedDocument, Scan
from corpus.loaders.formats.pdf.layout import Outline, blocks_from_pages, find_title
from corpus.loaders.formats.pdf.lines import Line
from corpus.loaders.formats.pdf.tables import Rule, Word, find_tables, table_line
from corpus.loaders.ocr import OCR_PIXELS
from corpus.loaders.ocr.reading_order import sort_lines

if TYPE_CHECKING:
    from numpy import ndarray
    from pypdfium2 import PdfDocument, PdfPage, PdfTextPage

PRELOAD = ("pypdfium2", "pypdfium2.raw", "PIL.Image")

# A damaged file may claim any number of pages and of outline entries, or loop.
_MAX_PAGES = 20_000
_MAX_OUTLINE = 5_000
# The tag of a language, in UTF-16; none is as long.
_LANGUAGE_UNITS = 64
# PDF allows names of 127 bytes.
_FONT_NAME_BYTES = 128
_DATE = re.compile(r"D:(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?([Zz]|[+-]\d\d'?\d\d)?")
_PROPERTIES = {"Author": "author", "Subject": "subject", "Keywords": "keywords"}
# A scan may have a number or a stamp as text. In 903 pages of real files, scanned ones have at most
# ten letters and digits, and those with text and a large picture at least 339.
MAX_STRAY_CHARS = 100
# Share of the page that an image, or strips of one, cover in a scan.
_MIN_SCAN_SHARE = 0.5
# Limits the number of objects: a map may have a million.
_MAX_OBJECTS = 2_000
# The fewest numbers, or drawn lines, of a table.
_MIN_NUMBERS = 6
_NUMBER = re.compile(
    r"(?<!\S)[$€£¥(+\-\u2212\u2013]*\d[\d.,]*[)%]*(?!\S)|(?<!\S)[-\u2013\u2014](?!\S)"
)
_MIN_RULES = 6
# In points; shorter ones are of letters and pictures.
_MIN_RULE = 4.0
# Pages with more are drawings: of 1,108 real pages, the one with most has a table and 2,116.
_MAX_RULES = 2_500
_MAX_SEGMENTS = 1_000
_MAX_CHARS = 30_000
# In radians.
_MAX_ANGLE = 0.1
# Hebrew and Arabic, whose columns begin at the right.
_RIGHT_TO_LEFT = re.compile(r"[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_TEXT_LINE = re.compile(r"[^\r\n]+")
_DPI, _POINTS_PER_INCH = 200, 72


def load(content: bytes, *, filename: str) -> LoadedDocument:
    """Read the text of a PDF page by page, and list the scanned pages."""
    return load_scanned(content, filename=filename, scans=None)


def load_scanned(
    content: bytes, *, filename: str, scans: Mapping[int, Scan] | None
) -> LoadedDocument:
    """Read the text of a PDF page by page, with the OCR results of some pages."""
    from pypdfium2 import PdfDocument, PdfiumError  # noqa: PLC0415 - only in the child process

    try:
        pdf = PdfDocument(content)
        page_count = len(pdf)
        properties = pdf.get_metadata_dict(skip_empty=True)
    except PdfiumError as error:
        if "password" in str(error).lower() or "security" in str(error).lower():
            raise UnreadableFile("The PDF is encrypted and asks for a password.") from error
        raise UnreadableFile(f"The PDF is damaged or truncated: {error}") from error
    if page_count > _MAX_PAGES:
        raise UnreadableFile(f"The PDF claims {page_count:,} pages; {_MAX_PAGES:,} are allowed.")
    pages: dict[int, list[Line]] = {}
    scanned: list[int] = []
    for number in range(1, page_count + 1):
        try:
            page = pdf[number - 1]
            text_page = page.get_textpage()
        except PdfiumError:  # a damaged page must not take the others with it
            continue
        pages[number] = read_lines(page, text_page)
        if is_scan(page, "".join(line.text for line in pages[number])):
            scanned.append(number)
        text_page.close()
        page.close()
    if page_count and not pages:
        raise UnreadableFile("None of the PDF's pages can be read: it is damaged.")
    by_ocr: dict[int, list[Line]] = {}
    for number, scan in (scans or {}).items():
        lines = sort_lines(scan)
        # OCR replaces a text layer that has less text, such as a stamp.
        layers = (lines, pages.get(number, []))
        ocr_chars, layer_chars = (sum(len(line.text) for line in layer) for layer in layers)
        if ocr_chars > layer_chars:
            by_ocr[number] = lines
    with_text = {number: lines for number, lines in pages.items() if number not in by_ocr}
    outline = _outline(pdf)
    # Letter sizes are compared within OCR and text pages.
    blocks = [*blocks_from_pages(with_text, outline), *blocks_from_pages(by_ocr, outline)]
    if not blocks and (scans is not None or not scanned):
        reason = "OCR found no text" if scans else "There is no text"
        raise EmptyDocument(f"{reason} on the {page_count} pages of the PDF.")
    return LoadedDocument(
        blocks=tuple(sorted(blocks, key=lambda block: block.page or 0)),
        title=find_title(properties.get("Title", ""), {**pages, **by_ocr}, filename=filename),
        metadata={"page_count": page_count, **_metadata(pdf, properties)},
        scans=tuple(scanned) if scans is None else (),
    )


def read_lines(page: "PdfPage", text_page: "PdfTextPage") -> list[Line]:
    """Return the lines of a page, with each of its tables as one line."""
    text = text_page.get_text_range() if text_page.count_chars() > 0 else ""
    spans = [match.span() for match in _TEXT_LINE.finditer(text)]
    lines = [_line(text_page, text[start:end], start) for start, end in spans]
    rules = _rules(page)
    has_few = len(_NUMBER.findall(text)) < _MIN_NUMBERS and len(rules) < _MIN_RULES
    if has_few or len(text) > _MAX_CHARS or _RIGHT_TO_LEFT.search(text) or page.get_rotation():
        return [line for line in lines if line]
    words = [
        word
        for number, (start, end) in enumerate(spans)
        for match in re.compile(r"\S+").finditer(text, start, end)
        if (word := _word(text_page, match, number))
    ]
    counts = Counter(word.line for word in words)
    for table in find_tables(words, rules):
        of_lines = Counter(word.line for word in {w for row in table for c in row for w in c})
        # Of a line, all is in the table or nothing.
        is_whole = all(counts[number] == count for number, count in of_lines.items())
        numbers = sorted(of_lines) if is_whole else []
        taken = [line for number in numbers if (line := lines[number])]
        for at, number in enumerate(numbers):
            lines[number] = None if at else table_line(table, taken)
    return [line for line in lines if line]


def _rules(page: "PdfPage") -> list[Rule]:
    """Return the upright and level lines that a page draws, and the edges of rectangles."""
    import pypdfium2.raw as raw  # noqa: PLC0415, PLR0402

    rules: set[Rule] = set()
    x, y, fill, stroke = ctypes.c_float(), ctypes.c_float(), ctypes.c_int(), ctypes.c_int()
    paths = (
        each
        for at in range(raw.FPDFPage_CountObjects(page))
        if raw.FPDFPageObj_GetType(each := raw.FPDFPage_GetObject(page, at))
        == raw.FPDF_PAGEOBJ_PATH
    )
    matrix = raw.FS_MATRIX()
    for each in islice(paths, _MAX_OBJECTS):
        raw.FPDFPath_GetDrawMode(each, fill, stroke)
        segment_count = raw.FPDFPath_CountSegments(each) if fill.value or stroke.value else 0
        raw.FPDFPageObj_GetMatrix(each, matrix)
        start = before = (0.0, 0.0)
        for at in range(segment_count if segment_count <= _MAX_SEGMENTS else 0):
            segment = raw.FPDFPath_GetPathSegment(each, at)
            kind = raw.FPDFPathSegment_GetType(segment)
            raw.FPDFPathSegment_GetPoint(segment, x, y)
            point = (
                matrix.a * x.value + matrix.c * y.value + matrix.e,
                matrix.b * x.value + matrix.d * y.value + matrix.f,
            )
            ends = [point] if kind == raw.FPDF_SEGMENT_LINETO else []
            if kind == raw.FPDF_SEGMENT_MOVETO:
                start = point
            elif raw.FPDFPathSegment_GetClose(segment):
                ends.append(start)
            for end in ends:
                (left, right), (bottom, top) = map(sorted, zip(before, end, strict=True))
                thickness, length = sorted((right - left, top - bottom))
                if thickness < 1 and length > _MIN_RULE:
                    rules.add(Rule(*map(round, (left, bottom, right, top))))
                before = end
            before = point
    return list(rules) if len(rules) <= _MAX_RULES else []


def _word(text_page: "PdfTextPage", match: re.Match[str], line: int) -> Word | None:
    """Return a word with its position; None if it is not level."""
    import pypdfium2.raw as raw  # noqa: PLC0415, PLR0402

    first, last = (
        raw.FPDFText_GetCharIndexFromTextIndex(text_page, at)
        for at in (match.start(), match.end() - 1)
    )
    if first < 0 or last < 0 or raw.FPDFText_GetCharAngle(text_page, first) > _MAX_ANGLE:
        return None
    left, bottom, _, top = text_page.get_charbox(first, loose=True)
    _, _, right, _ = text_page.get_charbox(last, loose=True)
    return Word(match[0], line, min(left, right), max(left, right), bottom, top)


def _line(text_page: "PdfTextPage", text: str, start: int) -> Line | None:
    import pypdfium2.raw as raw  # noqa: PLC0415, PLR0402

    stripped = text.strip()
    begin = start + text.index(stripped)
    first = raw.FPDFText_GetCharIndexFromTextIndex(text_page, begin)
    end = raw.FPDFText_GetCharIndexFromTextIndex(text_page, begin + len(stripped) - 1)
    if not stripped or first < 0:
        return None
    last = max(first, end)
    left, bottom, _, top = text_page.get_charbox(first, loose=True)
    _, _, right, _ = text_page.get_charbox(last, loose=True)
    matrix = raw.FS_MATRIX()
    raw.FPDFText_GetMatrix(text_page, first, matrix)
    scale = (matrix.b**2 + matrix.d**2) ** 0.5
    return Line(
        # A blank at the end marks a complete word, which matters in Korean.
        text=text.lstrip(),
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


def is_scan(page: "PdfPage", text: str) -> bool:
    """Return whether a page shows content that its text lacks."""
    import pypdfium2.raw as raw  # noqa: PLC0415, PLR0402 - only in the child process

    count = sum(map(str.isalnum, text))
    if count >= MAX_STRAY_CHARS:
        return False
    objects = islice(page.get_objects(), _MAX_OBJECTS)
    others = [each for each in objects if each.type != raw.FPDF_PAGEOBJ_TEXT]
    if not count:
        return bool(others)
    page_width, page_height = page.get_width(), page.get_height()
    covered = 0.0
    for picture in (other for other in others if other.type == raw.FPDF_PAGEOBJ_IMAGE):
        left, bottom, right, top = picture.get_bounds()
        width = min(right, page_width) - max(left, 0)
        height = min(top, page_height) - max(bottom, 0)
        covered += max(width, 0) * max(height, 0)
    return bool(covered >= page_width * page_height * _MIN_SCAN_SHARE)


def picture_of(content: bytes, *, number: int) -> "ndarray[Any, Any]":
    """Return the pixels of a page, at the resolution that OCR needs."""
    from pypdfium2 import PdfDocument, PdfiumError  # noqa: PLC0415

    try:
        page = PdfDocument(content)[number - 1]
        area = max(page.get_width() * page.get_height(), 1.0)
        scale = min(_DPI / _POINTS_PER_INCH, (OCR_PIXELS / area) ** 0.5)
        picture: ndarray[Any, Any] = page.render(scale=scale, prefer_bgrx=False).to_numpy().copy()
    except PdfiumError as error:
        raise UnreadableFile(f"Page {number} cannot be drawn: {error}") from error
    return picture


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
    except PdfiumError:  # a broken outline: headings are recognized by their size
        return {}
    return outline


def _metadata(pdf: "PdfDocument", properties: dict[str, str]) -> dict[str, str]:
    """Return author, subject, keywords, creation date, and the language of the catalog."""
    import pypdfium2.raw as raw  # noqa: PLC0415, PLR0402

    metadata = {
        key: text for name, key in _PROPERTIES.items() if (text := properties.get(name, "").strip())
    }
    created = _DATE.match(properties.get("CreationDate", ""))
    if created:
        year, month, day, hour, minute, second, zone = created.groups()
        metadata["created"] = f"{year}-{month or '01'}-{day or '01'}"
        if hour and zone:
            offset = "+00:00" if zone in "Zz" else zone[:3] + ":" + zone[-2:]
            metadata["created"] += f"T{hour}:{minute or '00'}:{second or '00'}{offset}"
    units = (ctypes.c_ushort * _LANGUAGE_UNITS)()
    size = raw.FPDFCatalog_GetLanguage(pdf, units, ctypes.sizeof(units))
    # Nothing is written if it is longer.
    language = bytes(units)[:size] if size <= ctypes.sizeof(units) else b""
    return {**metadata, "language": language.decode("utf-16-le", "replace").rstrip("\0")}
