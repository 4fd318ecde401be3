"""CSV and similar formats: one block for each row, each value with its column name."""

import csv

from corpus.errors import UnreadableFile
from corpus.loaders.blocks import LoadedDocument
from corpus.loaders.charset import decode
from corpus.loaders.table_blocks import is_header, record_blocks

_DELIMITERS = ",;\t|"
# Lines from which the delimiter is detected.
_SAMPLE_LINES = 20
# An unclosed quote would take the rest of the file for one field.
_MAX_FIELD_CHARS = 1_000_000


def load(content: bytes, *, filename: str) -> LoadedDocument:
    """Read delimited text; detect comma, semicolon, tab or bar."""
    csv.field_size_limit(_MAX_FIELD_CHARS)
    lines = decode(content).splitlines(keepends=True)
    sample = [line for line in lines[:_SAMPLE_LINES] if line.strip()]

    def regularity(delimiter: str) -> tuple[int, int]:
        """Return how many rows have the usual number of fields, if above one; and that number."""
        widths = [len(row) for row in csv.reader(sample, delimiter=delimiter) if row]
        usual = max(set(widths), key=widths.count, default=1)
        return (widths.count(usual) if usual > 1 else 0, usual)

    try:
        delimiter = max(_DELIMITERS, key=regularity)
        rows = [row for row in csv.reader(lines, delimiter=delimiter) if any(row)]
    except csv.Error as error:
        raise UnreadableFile(f"The table cannot be read: {error}.") from error
    header: list[str] = []
    if len(rows) > 1 and is_header(rows[0], rows[1:]):
        header = rows.pop(0)
    return LoadedDocument(
        blocks=tuple(record_blocks(header, rows)),
        metadata={"columns": [" ".join(name.split()) for name in header]} if header else {},
    )
