"""Excel files of 1995 to 2003 and binary ones (XLSB): sheet by sheet, each row with its header."""

import datetime as dt
import io
from collections.abc import Iterator
from pathlib import PurePath
from typing import TYPE_CHECKING

from corpus.errors import UnreadableFile
from corpus.loaders import archives
from corpus.loaders.blocks import Block, LoadedDocument
from corpus.loaders.formats.office97.container import opened, read_properties, read_stream
from corpus.loaders.formats.ooxml import core_properties
from corpus.loaders.table_blocks import sheet_blocks

if TYPE_CHECKING:
    from python_calamine import CalamineSheet

PRELOAD = ("python_calamine", "olefile")

_OLE_MARK = b"\xd0\xcf"
# The record with the encryption of a workbook; it follows the first record.
_ENCRYPTION = 0x2F
# Excel keeps 15 digits.
_SIGNIFICANT = ".15g"

# A merged range may span a whole sheet; each cell of it takes memory.
_MAX_MERGED_CELLS = 100_000

# Row and column, from 0.
Place = tuple[int, int]
Cell = int | float | str | bool | dt.date | dt.time | dt.timedelta


def load(content: bytes, *, filename: str) -> LoadedDocument:
    """Read every sheet, hidden ones included, with the last computed values."""
    import python_calamine as calamine  # noqa: PLC0415 - only in the child process

    if content.startswith(_OLE_MARK):
        with opened(content) as container:
            stream = read_stream(container, "Workbook") or read_stream(container, "Book")
            second = 4 + int.from_bytes(stream[2:4], "little")
            if int.from_bytes(stream[second : second + 2], "little") == _ENCRYPTION:
                raise UnreadableFile("The file is protected by a password.")
            metadata = read_properties(container)
    else:
        with archives.opened(content) as archive:
            metadata = core_properties(archive)
    blocks: list[Block] = []
    try:
        book = calamine.CalamineWorkbook.from_filelike(io.BytesIO(content))
        work_sheet = calamine.SheetTypeEnum.WorkSheet
        for name in [each.name for each in book.sheets_metadata if each.typ == work_sheet]:
            sheet = book.get_sheet_by_name(name)
            merged = dict(_merged_cells(sheet))
            values: dict[Place, str] = {}
            rows = [[_shown(cell) for cell in row] for row in sheet.iter_rows()]
            # A merged value is repeated in each cell it spans.
            for number, row in enumerate(rows if merged else ()):
                for column, text in enumerate(row):
                    if (origin := merged.get((number, column))) is not None:
                        row[column] = values.setdefault(origin, text)
            blocks.extend(sheet_blocks(name, rows))
    except (calamine.CalamineError, OSError, ValueError) as error:
        raise UnreadableFile(
            f"The Excel file cannot be read ({error}): save it as XLSX."
        ) from error
    metadata.pop("keywords", None)
    title = metadata.pop("title", "") or PurePath(filename).stem
    return LoadedDocument(tuple(blocks), title=title, metadata=metadata)


def _merged_cells(sheet: "CalamineSheet") -> Iterator[tuple[Place, Place]]:
    """Map each cell of a merged range to its first cell, up to the limit of a sheet."""
    count = 0
    for (top, left), (bottom, right) in sheet.merged_cell_ranges or ():
        count += (bottom - top + 1) * (right - left + 1)
        if count > _MAX_MERGED_CELLS:
            return
        for row in range(top, bottom + 1):
            for column in range(left, right + 1):
                yield (row, column), (top, left)


def _shown(cell: Cell) -> str:
    if isinstance(cell, bool):
        return str(cell).upper()
    if isinstance(cell, int | float):
        return format(cell, _SIGNIFICANT)
    if isinstance(cell, dt.datetime):
        return cell.date().isoformat() if cell.time() == dt.time.min else cell.isoformat(sep=" ")
    return str(cell)
