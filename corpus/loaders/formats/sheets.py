"""Spreadsheets as text: find the tables on a sheet, and label each row's cells."""

import re
from collections.abc import Iterable, Iterator, Sequence

from corpus.loaders.base import Block
from corpus.loaders.tables import record_blocks, table_blocks

# Cells of one row, by column from 0; empty cells are "".
Row = Sequence[str]

_NUMBER = re.compile(
    r"\A(?:[-+(]?[$€£¥]?\s?\d[\d.,\s]*%?\)?(?:[eE][-+]?\d+)?$|\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4})"
)
_MIN_COLUMNS = 2


def sheet_blocks(
    name: str, rows: Iterable[Row], *, beside: Sequence[Block] = ()
) -> Iterator[Block]:
    """Return a sheet's name as a heading, then its tables and text lines.

    Args:
        name: Shown as a heading of level 2.
        rows: From the top, with the empty ones that separate tables.
        beside: Blocks of charts and comments.
    """
    named = False
    for band in _bands(rows):
        for table in _side_by_side(band):
            if not named:
                yield Block(name, 2, name)
                named = True
            yield from rows_as_text(table)
    if beside and not named:
        yield Block(name, 2, name)
    yield from beside


def rows_as_text(rows: list[list[str]]) -> Iterator[Block]:
    """Return the blocks of one table: lines above its header, then labeled rows."""
    while rows and sum(map(bool, rows[0])) == 1 and len(rows[0]) >= _MIN_COLUMNS:
        yield Block("".join(rows.pop(0)))
    if len(rows) > 1 and is_header(rows[0], rows[1:]):
        yield from record_blocks(rows[0], rows[1:])
    else:
        yield from table_blocks(rows)


def is_header(first: Row, others: Sequence[Row]) -> bool:
    """Return whether a first row names the columns: distinct words in most of them."""
    names = [cell.strip().lower() for cell in first if cell.strip()]
    if len(names) < _MIN_COLUMNS or len(set(names)) < len(names):
        return False
    if any(_NUMBER.match(name) for name in names):
        return False
    width = max(sum(map(bool, row)) for row in others[:20])
    return len(names) * 2 > width


def _bands(rows: Iterable[Row]) -> Iterator[list[list[str]]]:
    """Yield runs of non-empty rows, padded to one length."""
    band: list[list[str]] = []
    for row in rows:
        if any(cell.strip() for cell in row):
            band.append([cell.strip() for cell in row])
        elif band:
            yield _even(band)
            band = []
    if band:
        yield _even(band)


def _even(band: list[list[str]]) -> list[list[str]]:
    width = max(map(len, band))
    for row in band:
        row.extend([""] * (width - len(row)))
    return band


def _side_by_side(band: list[list[str]]) -> Iterator[list[list[str]]]:
    """Yield tables that an empty column separates.

    Forms have empty columns too, so single columns or rows stay together.
    """
    used = [any(row[column].strip() for row in band) for column in range(len(band[0]))]
    runs = list(_runs(used))
    parts = [[row[start:end] for row in band if any(row[start:end])] for start, end in runs]
    if len(parts) == 1 or all(len(p) > 1 and len(p[0]) >= _MIN_COLUMNS for p in parts):
        yield from parts
    else:
        yield [[cell for cell in row if cell] for row in band]


def _runs(used: list[bool]) -> Iterator[tuple[int, int]]:
    """Return half-open ranges of used columns."""
    start = 0
    for at, (is_used, was_used) in enumerate(zip([*used, False], [False, *used], strict=True)):
        if is_used and not was_used:
            start = at
        elif was_used and not is_used:
            yield start, at
