"""Excel files of 1995 to 2003 and binary ones (XLSB): sheet by sheet, each row with its header."""

import datetime as dt
import io
from pathlib import PurePath

from corpus.errors import UnreadableFile
from corpus.loaders import archives
from corpus.loaders.blocks import Block, LoadedDocument, office_document
from corpus.loaders.formats.office97.container import opened, read_properties, read_stream
from corpus.loaders.formats.ooxml import core_properties
from corpus.loaders.table_blocks import SIGNIFICANT, MergedCells, sheet_blocks

PRELOAD = ("python_calamine", "olefile")

_OLE_MARK = b"\xd0\xcf"
# The record with the encryption of a workbook; it follows the first record.
_ENCRYPTION = 0x2F

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
            properties = read_properties(container)
    else:
        with archives.opened(content) as archive:
            properties = core_properties(archive)
    blocks: list[Block] = []
    try:
        book = calamine.CalamineWorkbook.from_filelike(io.BytesIO(content))
        work_sheet = calamine.SheetTypeEnum.WorkSheet
        for name in [each.name for each in book.sheets_metadata if each.typ == work_sheet]:
            sheet = book.get_sheet_by_name(name)
            ranges = sheet.merged_cell_ranges or ()
            merged = MergedCells((*first, *last) for first, last in ranges)
            rows = [[_shown(cell) for cell in row] for row in sheet.iter_rows()]
            for number, row in enumerate(rows):
                merged.fill(number, row)
            blocks.extend(sheet_blocks(name, rows))
    except (calamine.CalamineError, OSError, ValueError) as error:
        raise UnreadableFile(
            f"The Excel file cannot be read ({error}): save it as XLSX."
        ) from error
    return office_document(blocks, properties, title=PurePath(filename).stem)


def _shown(cell: Cell) -> str:
    if isinstance(cell, bool):
        return str(cell).upper()
    if isinstance(cell, int | float):
        return format(cell, SIGNIFICANT)
    if isinstance(cell, dt.datetime):
        return cell.date().isoformat() if cell.time() == dt.time.min else cell.isoformat(sep=" ")
    return str(cell)
