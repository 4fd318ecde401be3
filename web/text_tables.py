"""Read tables as loaders write them: cells between bars, dashes below the head. Pure.

Cells contain text, not Markdown; only bars are escaped, by a backslash.
"""

import re
from collections.abc import Iterator

from corpus.loaders import registry
from web.markdown import TABLE, TABLE_END, Element, Part, Piece

# Of these, texts have tables so.
WITH_TABLES = frozenset({
    registry.HTML, registry.DOC, registry.DOCX, registry.RTF, registry.PPTX, registry.XLS,
    registry.XLSB, registry.XLSX, registry.CSV, registry.TSV, registry.ODT, registry.ODS,
    registry.ODP, registry.EPUB, registry.EMAIL, registry.OUTLOOK,
})  # fmt: skip
_ROWS = re.compile(r"^\| .* \|(?:\n\| .* \|)*$", re.MULTILINE)
_DASHES = re.compile(r"\|(?: --- \|)+")
_CELL = re.compile(r"(?:\\\||[^|])*")
_MIN_CELLS = 2


def read_tables(source: str) -> list[Part]:
    """Return what is shown of a text: its tables as elements, all else as it is."""
    parts: list[Part] = []
    place = 0
    for rows in _ROWS.finditer(source):
        table = list(_table(rows[0], rows.start()))
        if table:
            parts += [Piece(place, rows.start(), source[place : rows.start()]), *table]
            # The line ends with the table.
            place = rows.end() + source.startswith("\n", rows.end())
    return [*parts, Piece(place, len(source), source[place:])]


def _table(text: str, start: int) -> Iterator[Part]:
    """Yield a table; nothing for a single cell. A passage may end after its first row."""
    lines = text.split("\n")
    has_head = len(lines) > 1 and bool(_DASHES.fullmatch(lines[1]))
    if not has_head and len(list(_cells(lines[0]))) < _MIN_CELLS:
        return
    yield TABLE
    for number, line in enumerate(lines):
        if not _DASHES.fullmatch(line):
            tag = "th" if has_head and number == 0 else "td"
            yield Element("<tr>")
            for first, cell in _cells(line):
                yield Element(f"<{tag}>")
                place = start + first
                for piece in filter(None, re.split(r"(\\\|)", cell)):
                    end, is_bar = place + len(piece), piece == "\\|"
                    yield Piece(place, end, "|" if is_bar else piece, is_whole=is_bar)
                    place = end
                yield Element(f"</{tag}>")
            yield Element("</tr>")
        start += len(line) + 1
    yield TABLE_END


def _cells(line: str) -> Iterator[tuple[int, str]]:
    """Yield where each cell of a row begins, and its text without surrounding spaces."""
    place = 1
    while place < len(line):
        cell = _CELL.match(line, place)
        assert cell is not None  # noqa: S101 - it matches nothing too
        bare = cell[0].strip(" ")
        yield place + cell[0].find(bare), bare
        place = cell.end() + 1
