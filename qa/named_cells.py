"""Move readings within tables to the row and the column that the question names. Pure.

The reader often marks the cell just before the label of the right row.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from qa.table_answers import Cell, named_places, read_tables, words_of
from qa.types import Passage, Reading

# The logits of a reading in a row that the question does not name, if another one is named.
OTHER_ROW = -5.0
# Shorter words of a label, such as initials, may be left out in a question.
MIN_LABEL_CHARS = 3

Row = Sequence[Cell]


def mark_named_cells(question: str, passages: Sequence[Passage]) -> list[Passage]:
    """Return the passages with readings in the row, or the cell, that the question names.

    A row is named by its first cell. A reading in another row of the document's tables answers
    no more. Readings outside of tables stay, and all if the question names no row, or several.
    """
    asked = words_of(question)
    named = [list(_named_rows(passage, asked)) for passage in passages]
    documents = {each.document_id for each, rows in zip(passages, named, strict=True) if rows}
    marked = []
    for passage, rows in zip(passages, named, strict=True):
        reading = passage.reading
        if reading and passage.document_id in documents and _is_in_row(passage.text, reading):
            if rows:
                start, end = _place_in(*rows[0], asked, reading)
                reading = replace(reading, start=start, end=end)
            else:
                score, margin = min(reading.score, OTHER_ROW), min(reading.margin, OTHER_ROW)
                reading = replace(reading, score=score, margin=margin)
        marked.append(replace(passage, reading=reading))
    return marked


def _named_rows(passage: Passage, asked: Sequence[str]) -> Iterator[tuple[Row, Sequence[str]]]:
    """Yield a row of each table that alone is named, with the names of its columns."""
    rows_by_names: dict[Sequence[str], list[Row]] = {}
    for table in read_tables([passage]):
        rows_by_names.setdefault(table.names, []).extend(filter(None, table.rows))
    for names, rows in rows_by_names.items():
        labels = [row[0].text for row in rows]
        places = named_places(labels, asked) or [
            at for at, label in enumerate(labels) if _has_long_words(label, asked)
        ]
        if len(places) == 1 and len(rows) > 1:
            yield rows[places[0]], names


def _has_long_words(label: str, asked: Sequence[str]) -> bool:
    words = {word for word in words_of(label) if len(word) >= MIN_LABEL_CHARS}
    return len(words) > 1 and words.issubset(asked)


def _is_in_row(text: str, reading: Reading) -> bool:
    """Return whether a reading begins in a row of a Markdown table, or of a sheet."""
    line = text[text.rfind("\n", 0, reading.start) + 1 :].partition("\n")[0]
    is_sheet = ": " in line and "; " in line
    return reading.start < reading.end and (line.startswith("|") or is_sheet)


def _place_in(
    row: Row, names: Sequence[str], asked: Sequence[str], reading: Reading
) -> tuple[int, int]:
    """Return the span of the named column's cell in a row.

    Without a named column it is the reading, if that is within the row already; else the row. In
    rows whose header is elsewhere, the reader cannot tell one column from another.
    """
    columns = [at + 1 for at in named_places(names[1:], asked) if at + 1 < len(row)]
    if len(columns) == 1 and row[columns[0]].text:
        return row[columns[0]].start, row[columns[0]].end
    if names and row[0].start <= reading.start and reading.end <= row[-1].end:
        return reading.start, reading.end
    return row[0].start, row[-1].end
