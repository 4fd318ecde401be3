"""Tables as text: small ones as Markdown rows, records as ``Header: value`` lines.

A sheet of a workbook may contain several tables.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress, groupby, product

from corpus.loaders.blocks import Block

# Cells of one row, by column from 0; empty cells are "".
Row = Sequence[str]

# A longer table is cut between rows, and each piece repeats the header, because a retrieved row
# must include its column names. A piece fits in a chunk of 200 tokens: of 60 chunks of 84 real
# pages that began with a row, 20 had no header at 1,000 characters, 6 at 600.
_MAX_TABLE_CHARS = 600
_MIN_COLUMNS = 2
# The format of a number of Excel: it keeps 15 digits; more would show binary rounding.
SIGNIFICANT = ".15g"
# A merged range may span a whole sheet; each cell of it takes memory.
_MAX_MERGED_CELLS = 100_000
_NUMBER = re.compile(
    r"\A(?:[-+(]?[$€£¥]?\s?\d[\d.,\s]*%?\)?(?:[eE][-+]?\d+)?$|\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4})"
)


def table_blocks(rows: Iterable[Row], *, page: int | None = None) -> Iterator[Block]:
    """Yield a table as Markdown blocks; its first row is the header.

    Empty rows and columns are omitted, and short rows padded.
    """
    cells = [[" ".join(cell.split()).replace("|", "\\|") for cell in row] for row in rows]
    padded = _padded([row for row in cells if any(row)])
    used = [any(column) for column in zip(*padded, strict=True)]
    table = [list(compress(row, used)) for row in padded]
    if not table:
        return
    if len(table[0]) < _MIN_COLUMNS:
        yield from (Block(row[0], page=page) for row in table)
        return
    # A first row with one text, in its first cell or across all, is a caption.
    while len(table) > 1 and table[0][0] and len(set(filter(None, table[0]))) == 1:
        yield Block(table.pop(0)[0], page=page)
    header = [_markdown_row(table[0]), _markdown_row(["---"] * len(table[0]))]
    piece = list(header)
    for row in table[1:]:
        line = _markdown_row(row)
        if len(piece) > len(header) and sum(map(len, piece)) + len(line) > _MAX_TABLE_CHARS:
            yield Block("\n".join(piece), page=page)
            piece = list(header)
        piece.append(line)
    yield Block("\n".join(piece), page=page)


def _markdown_row(cells: Row) -> str:
    return "| " + " | ".join(cells) + " |"


def _padded(rows: list[list[str]]) -> list[list[str]]:
    width = max(map(len, rows), default=0)
    return [row + [""] * (width - len(row)) for row in rows]


def record_blocks(header: Row, rows: Iterable[Row]) -> Iterator[Block]:
    """Yield one block for each row, each value with its column name; skip empty cells."""
    names = [" ".join(name.split()).rstrip(":") for name in header]
    for row in rows:
        pairs = []
        for position, cell in enumerate(row):
            value = " ".join(cell.split())
            name = names[position] if position < len(names) else ""
            if value:
                pairs.append(f"{name}: {value}" if name else value)
        if pairs:
            yield Block("; ".join(pairs))


def is_header(first: Row, others: Sequence[Row]) -> bool:
    """Return whether a first row names the columns: distinct words in most of them."""
    names = [cell.strip().lower() for cell in first if cell.strip()]
    if len(names) < _MIN_COLUMNS or len(set(names)) < len(names):
        return False
    if any(_NUMBER.match(name) for name in names):
        return False
    width = max(sum(map(bool, row)) for row in others[:20])
    return len(names) * 2 > width


def sheet_blocks(
    name: str, rows: Iterable[Row], *, beside: Sequence[Block] = ()
) -> Iterator[Block]:
    """Yield a sheet's name as a heading of level 2, its tables and text lines, then ``beside``.

    Tables are separated by empty rows or columns.
    """
    blocks: list[Block] = []
    stripped = ([cell.strip() for cell in row] for row in rows)
    for has_text, band in groupby(stripped, key=any):
        for table in _side_by_side(_padded(list(band))) if has_text else ():
            # Lines of one cell above the header of a table.
            while table and sum(map(bool, table[0])) == 1 and len(table[0]) >= _MIN_COLUMNS:
                blocks.append(Block("".join(table.pop(0))))
            if len(table) > 1 and is_header(table[0], table[1:]):
                blocks.extend(record_blocks(table[0], table[1:]))
            else:
                blocks.extend(table_blocks(table))
    blocks.extend(beside)
    if blocks:
        yield Block(name, 2, name)
    yield from blocks


class MergedCells:
    """Repeats the text of a merged cell in each cell that it spans.

    Args:
        ranges: First row and column, last row and column.
    """

    def __init__(self, ranges: Iterable[tuple[int, int, int, int]]) -> None:
        self._origins: dict[tuple[int, int], tuple[int, int]] = {}
        self._texts: dict[tuple[int, int], str] = {}
        for top, left, bottom, right in ranges:
            count = (bottom - top + 1) * (right - left + 1)
            if len(self._origins) + count > _MAX_MERGED_CELLS:
                return
            cells = product(range(top, bottom + 1), range(left, right + 1))
            self._origins.update(dict.fromkeys(cells, (top, left)))

    def fill(self, number: int, cells: list[str]) -> None:
        """Fill the cells of a row; call it for each row from the top."""
        for column, text in enumerate(cells if self._origins else ()):
            origin = self._origins.get((number, column))
            if origin == (number, column):
                self._texts[origin] = text
            elif origin is not None:
                cells[column] = self._texts.get(origin, "")


def _side_by_side(band: list[list[str]]) -> list[list[list[str]]]:
    """Return the tables that an empty column separates.

    Forms have empty columns too, so single columns or rows stay together.
    """
    used = [any(column) for column in zip(*band, strict=True)]
    parts: list[list[list[str]]] = []
    for is_used, run in groupby(range(len(used)), key=used.__getitem__):
        if is_used:
            columns = list(run)
            cells = slice(columns[0], columns[-1] + 1)
            parts.append([row[cells] for row in band if any(row[cells])])
    if len(parts) == 1 or all(len(p) > 1 and len(p[0]) >= _MIN_COLUMNS for p in parts):
        return parts
    return [[[cell for cell in row if cell] for row in band]]
