"""Excel workbooks: sheet by sheet, each row with its header, dates and percentages as shown."""

import datetime as dt
import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import TYPE_CHECKING
from zipfile import ZipFile

from corpus.errors import UnreadableFile
from corpus.loaders.archives import opened, read_entry, read_xml, stream_xml
from corpus.loaders.blocks import Block, LoadedDocument, office_document
from corpus.loaders.formats.ooxml import (
    COMMENT_PARTS,
    RELATION,
    chart_blocks,
    comment_authors,
    comment_blocks,
    core_properties,
    relations,
)
from corpus.loaders.limits import bounded_number
from corpus.loaders.table_blocks import SIGNIFICANT, MergedCells, sheet_blocks

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

PRELOAD = ("defusedxml.ElementTree",)

_S = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_MAIN = "xl/workbook.xml"
_SHARED_STRINGS = "xl/sharedStrings.xml"
_COLUMN = re.compile(r"([A-Z]{1,3})(\d+)?")
# Excel's limits of a sheet, and a limit above any id of a number format.
_MAX_COLUMNS = 16_384
_MAX_ROWS = 2**20
_MAX_FORMAT = 2**16
# Limits of gaps: two empty rows separate tables as well as a thousand.
_MAX_GAP_ROWS = 2
# Limit of empty columns: a cell in the last of 16,384 would fill gigabytes.
_MAX_GAP_COLUMNS = 64
_MERGED = re.compile(
    rb'<(?:\w+:)?mergeCell\s[^<>]*?ref="([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})"'
)
# Built-in number formats, which files name by id only (ECMA-376, part 1, 18.8.30).
_DATE_FORMATS = frozenset((*range(14, 18), 22, *range(27, 32), *range(50, 59)))
_DATE_TIME = 22
_TIME_FORMATS = frozenset((18, 19, 20, 21, 45, 46, 47))
_PERCENT_FORMATS = {9: 0, 10: 2}
# Quoted text, colors, locales, escaped characters and spacing contain no format letters.
_NOT_FORMAT = re.compile(r'"[^"]*"|\[[^\[\]]*\]|\\.|_.')
# Excel treats 1900 as a leap year; from this epoch, days from March 1900 on are right.
_EPOCH_1900 = dt.datetime(1899, 12, 30)  # noqa: DTZ001 - sheets know no zones
_EPOCH_1904 = dt.datetime(1904, 1, 1)  # noqa: DTZ001


def load(content: bytes, *, filename: str) -> LoadedDocument:
    """Read every sheet, hidden ones included, with the last computed values."""
    with opened(content) as archive:
        root = read_xml(archive, _MAIN)
        if root is None:
            raise UnreadableFile("The Excel file has no workbook part.")
        book = _Book(archive, root)
        parts = relations(archive, _MAIN)
        blocks: list[Block] = []
        authors = comment_authors(archive, _MAIN)
        for sheet in root.iter(_S + "sheet"):
            kind, name = parts.get(sheet.get(RELATION, ""), ("", ""))
            rows = book.rows(name) if kind == "worksheet" else ()
            beside: list[Block] = []
            for part_kind, part in relations(archive, name).values() if name else ():
                if part_kind in COMMENT_PARTS:
                    beside.extend(comment_blocks(archive, part, authors))
                elif part_kind == "drawing":
                    for chart_kind, chart in relations(archive, part).values():
                        if chart_kind == "chart":
                            beside.extend(chart_blocks(archive, chart))
            blocks.extend(sheet_blocks(sheet.get("name", ""), rows, beside=beside))
        # The first heading is a sheet name, not a title.
        return office_document(blocks, core_properties(archive), title=PurePath(filename).stem)


class _Book:
    """Shared strings and number formats of a workbook."""

    def __init__(self, archive: ZipFile, root: "Element") -> None:
        self._archive = archive
        self._strings: list[str] = []
        if _SHARED_STRINGS in archive.namelist():
            items = stream_xml(archive, _SHARED_STRINGS, _S + "si")
            self._strings = [_rich_text(item) for item in items]
        settings = root.find(_S + "workbookPr")
        is_1904 = settings is not None and settings.get("date1904") in ("1", "true")
        self._epoch = _EPOCH_1904 if is_1904 else _EPOCH_1900
        # The format of each cell style: a kind, ``percent`` with decimals, or empty.
        self._formats: list[str] = []
        sheet = read_xml(archive, "xl/styles.xml")
        if sheet is not None:
            numbers = sheet.iter(_S + "numFmt")
            codes = {item.get("numFmtId", ""): item.get("formatCode", "") for item in numbers}
            for style in sheet.findall(f"{_S}cellXfs/*"):
                number = style.get("numFmtId", "0")
                self._formats.append(_kind_of_format(number, codes.get(number, "")))

    def rows(self, name: str) -> Iterator[list[str]]:
        """Yield rows from the first with text; gaps give empty rows."""
        content = read_entry(self._archive, name)
        if content is None:
            return
        # The ranges follow the rows in the file but are needed with them, so it is parsed twice.
        merged = MergedCells(
            (int(top), _column(left.decode(), default=0),
             int(bottom), _column(right.decode(), default=0))
            for left, top, right, bottom in _MERGED.findall(content)
        )  # fmt: skip
        last = 0
        for row in stream_xml(self._archive, name, _S + "row"):
            number = bounded_number(row.get("r"), default=last + 1, maximum=_MAX_ROWS)
            yield from ([] for _ in range(min(number - last - 1, _MAX_GAP_ROWS)))
            last = number
            cells: list[str] = []
            for cell in row.iter(_S + "c"):
                at = _column(cell.get("r", ""), default=len(cells))
                cells.extend([""] * min(at - len(cells), _MAX_GAP_COLUMNS))
                # A cell that repeats a column replaces it; one after a wide gap moves left.
                cells[at : at + 1] = [self._value(cell)]
            merged.fill(number, cells)
            yield cells

    def _value(self, cell: "Element") -> str:
        kind = cell.get("t", "n")
        if kind == "inlineStr":
            return _rich_text(cell)
        element = cell.find(_S + "v")
        stored = "" if element is None else (element.text or "")
        if kind == "s":
            count = len(self._strings)
            index = bounded_number(stored, default=count, maximum=count)
            return self._strings[index] if index < count else ""
        if kind == "b":
            return "TRUE" if stored == "1" else "FALSE"
        return stored if kind != "n" or not stored else self._number(stored, cell.get("s", "0"))

    def _number(self, stored: str, style: str) -> str:
        """Return a number in the format of its cell: dates and times in ISO form."""
        try:
            number = float(stored)
        except ValueError:
            return stored
        count = len(self._formats)
        at = bounded_number(style, default=0, maximum=count)
        kind = self._formats[at] if at < count else ""
        if kind.startswith("percent"):
            return f"{number * 100:.{kind.removeprefix('percent')}f}%"
        if not kind:
            return format(number, SIGNIFICANT)
        try:
            moment = self._epoch + dt.timedelta(seconds=round(number * 86_400))
        except (OverflowError, ValueError):  # ValueError: not a number
            return stored
        if kind == "time" and number < 1:
            return moment.strftime("%H:%M:%S")
        return moment.date().isoformat() if kind == "date" else moment.isoformat(sep=" ")


def _kind_of_format(number: str, code: str) -> str:
    known = bounded_number(number, default=0, maximum=_MAX_FORMAT)
    bare = _NOT_FORMAT.sub("", code).lower()
    if known in _DATE_FORMATS or re.search(r"y|d", bare):
        return "datetime" if "h" in bare or known == _DATE_TIME else "date"
    if known in _TIME_FORMATS or re.search(r"h|s", bare):
        return "time"
    if known in _PERCENT_FORMATS:
        return f"percent{_PERCENT_FORMATS[known]}"
    if bare.endswith("%"):
        return f"percent{len(re.sub('[^0#]', '', bare.partition('.')[2]))}"
    return ""


def _rich_text(item: "Element") -> str:
    """Return the text of all runs, without Japanese phonetic readings."""
    for reading in item.iter(_S + "rPh"):
        reading.clear()
    return "".join(text.text or "" for text in item.iter(_S + "t"))


def _column(reference: str, *, default: int) -> int:
    match = _COLUMN.match(reference)
    if match is None:
        return default
    number = 0
    for letter in match[1]:
        number = number * 26 + ord(letter) - ord("A") + 1
    return min(number, _MAX_COLUMNS) - 1
