"""Tables as text: small ones as Markdown rows, records as ``Header: value`` lines."""

from collections.abc import Iterable, Iterator, Sequence

from corpus.loaders.base import Block

# A longer table is cut between rows, and each piece repeats the header, because a retrieved row
# must include its column names. A piece fits in a chunk of 200 tokens: of 60 chunks of 84 real
# pages that began with a row, 20 had no header at 1,000 characters, 6 at 600.
_MAX_TABLE_CHARS = 600
_MIN_COLUMNS = 2


def table_blocks(rows: Iterable[Sequence[str]], *, page: int | None = None) -> Iterator[Block]:
    """Return a table as Markdown blocks; its first row is the header.

    Args:
        rows: Cells of each row; empty rows are omitted, short ones padded.
        page: Its page number.
    """
    kept = _trimmed([[_cell(cell) for cell in row] for row in rows])
    if not kept:
        return
    if len(kept[0]) < _MIN_COLUMNS:
        yield from (Block(row[0], page=page) for row in kept)
        return
    while len(kept) > 1 and _is_caption(kept[0]):
        yield Block(kept.pop(0)[0], page=page)
    header = [_line(kept[0]), _line(["---"] * len(kept[0]))]
    piece = list(header)
    for row in kept[1:]:
        line = _line(row)
        if len(piece) > len(header) and sum(map(len, piece)) + len(line) > _MAX_TABLE_CHARS:
            yield Block("\n".join(piece), page=page)
            piece = list(header)
        piece.append(line)
    yield Block("\n".join(piece), page=page)


def record_blocks(
    header: Sequence[str], rows: Iterable[Sequence[str]], *, page: int | None = None
) -> Iterator[Block]:
    """Return one block for each row, each value with its column name; skip empty cells."""
    names = [" ".join(name.split()).rstrip(":") for name in header]
    for row in rows:
        pairs = []
        for position, cell in enumerate(row):
            value = " ".join(cell.split())
            name = names[position] if position < len(names) else ""
            if value:
                pairs.append(f"{name}: {value}" if name else value)
        if pairs:
            yield Block("; ".join(pairs), page=page)


def _is_caption(row: list[str]) -> bool:
    """Return whether a first row has one text, in its first cell or across all."""
    return bool(row[0]) and len(set(filter(None, row))) == 1


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _trimmed(rows: list[list[str]]) -> list[list[str]]:
    """Remove empty rows and columns, and pad rows to one length."""
    kept = [row for row in rows if any(row)]
    width = max((len(row) for row in kept), default=0)
    for row in kept:
        row.extend([""] * (width - len(row)))
    used = [column for column in range(width) if any(row[column] for row in kept)]
    return [[row[column] for column in used] for row in kept]
