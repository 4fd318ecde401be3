"""Spreadsheets as text: the tables on a sheet are found, and each row says what its cells are."""

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
    """A sheet's name as a heading, then its tables and the lines of text between them.

    Args:
        name: Shown as a heading of level 2.
        rows: From the top, empty ones included, for they part one table from the next.
        beside: What else is on the sheet: charts, comments.
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
    """One table: lines above its header as they are, then its rows with their header."""
    while rows and sum(map(bool, rows[0])) == 1 and len(rows[0]) >= _MIN_COLUMNS:
        yield Block("".join(rows.pop(0)))
    if len(rows) > 1 and is_header(rows[0], rows[1:]):
        yield from record_blocks(rows[0], rows[1:])
    else:
        yield from table_blocks(rows)


def is_header(first: Row, others: Sequence[Row]) -> bool:
    """Whether a first row names the columns: words, none twice, over most of the columns."""
    names = [cell.strip().lower() for cell in first if cell.strip()]
    if len(names) < _MIN_COLUMNS or len(set(names)) < len(names):
        return False
    if any(_NUMBER.match(name) for name in names):
        return False
    width = max(sum(map(bool, row)) for row in others[:20])
    return len(names) * 2 > width


def _bands(rows: Iterable[Row]) -> Iterator[list[list[str]]]:
    """Runs of rows that are not empty, all equally long."""
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
    """Tables that stand beside one another, parted by a column without text.

    A form has such columns too: what falls into single columns or rows is left together.
    """
    used = [any(row[column].strip() for row in band) for column in range(len(band[0]))]
    runs = list(_runs(used))
    parts = [[row[start:end] for row in band if any(row[start:end])] for start, end in runs]
    if len(parts) == 1 or all(len(p) > 1 and len(p[0]) >= _MIN_COLUMNS for p in parts):
        yield from parts
    else:
        yield [[cell for cell in row if cell] for row in band]


def _runs(used: list[bool]) -> Iterator[tuple[int, int]]:
    """Half-open ranges of columns that are used."""
    start = 0
    for at, (is_used, was_used) in enumerate(zip([*used, False], [False, *used], strict=True)):
        if is_used and not was_used:
            start = at
        elif was_used and not is_used:
            yield start, at
