"""Find the cells of tables that a question names, and calculate with them. Pure.

The operations are a change, a difference, a share, an average, a sum, and the extreme of a row or,
in whole tables, of a column.

The rows and columns that a question names are found by their words. If a word of it stays
unexplained, nothing is calculated: a wrong figure is worse than none.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise
from operator import itemgetter
from typing import NamedTuple

from qa.grounding.citations import cite
from qa.types import Answer, Passage, Quote, Reading

# The answerer of these answers.
TABLE = "table"
# At least as many results have to be right; benchmarks/tables.py measures it (240 of 274).
CONFIDENCE = 0.8
_SHOWN_DECIMALS = Decimal("0.01")
# A longer line before a table is a paragraph, not its caption.
_CAPTION_CHARS = 160


class Cell(NamedTuple):
    """A cell of a table, ``start:end`` of a passage's text."""

    text: str
    start: int
    end: int
    passage: Passage


Row = Sequence[Cell]


@dataclass(frozen=True, slots=True)
class Table:
    """A table.

    Attributes:
        names: Of its columns; the first is that of the labels of its rows.
        caption: The short line before it, with title and headings.
        around: The text of the passage that has it.
    """

    names: tuple[str, ...]
    rows: tuple[Row, ...]
    caption: str
    around: str


class Value(NamedTuple):
    """The number in a cell, with its currency, and whether it is per cent."""

    number: Decimal
    currency: str
    is_percent: bool


class Operand(NamedTuple):
    """A number in a table, with the names of its row and its column."""

    value: Value
    cell: Cell
    row: str
    column: str

    @property
    def year(self) -> str:
        """Return the one year that names its column, or else its row; empty without one."""
        years = _YEAR.findall(self.column) or _YEAR.findall(self.row)
        return years[0] if len(years) == 1 else ""


@dataclass(frozen=True, slots=True)
class Calculation:
    """A result with its operands, in the order of its formula.

    Attributes:
        formula: With ``{}`` for each operand.
        unit: ``%``, ``percentage points`` or the table's, such as ``million``; may be empty.
        currency: Sign in front of the number, or empty.
        column: Of an extreme, the name of its column, or of its row.
    """

    number: Decimal
    formula: str
    operands: tuple[Operand, ...]
    unit: str
    currency: str = ""
    column: str = ""


_ROW = re.compile(r"^\|.*\|$", re.MULTILINE)
_RULE = re.compile(r"\|(?: *:?-+:? *\|)+")
_CELL = re.compile(r"(?<=\|) *((?:[^|\\]|\\.)*?) *(?=\|)")
# A row of a sheet, each value with the name of its column.
_RECORD = re.compile(r"^[^\n:;|]+: [^\n;|]+(?:; [^\n:;|]+: [^\n;|]+)+$", re.MULTILINE)
_PAIR = re.compile(r"(?:^|(?<=; ))([^\n:;|]++): ([^\n;|]++)(?:; |$)", re.MULTILINE)
_VALUE = re.compile(
    r"(?<![-\u2212(])[-\u2212(]*+\s?(?P<currency>[$€£¥]?)\s?[-\u2212(]*+"
    r"(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)\s?%?\s?\)?\s?%?[*†]?"
)
_UNIT = re.compile(
    r"\b(?:in|of)\s+(?:[a-z.$€£]+\s+){0,2}?(thousand|million|billion)s?\b"
    r"|[$€£][\u2019']?(000)s?\b|[$€£](?:m)(?:illions?)?\b",
    re.I,
)
_YEAR = re.compile(r"(?:19|20)\d\d")
_WORD = re.compile(r"[a-z]+|\d+(?:[.,]\d+)*", re.I)

# Logits of a reading in another row than the named one: too low for its passage to be quoted.
OTHER_ROW = -5.0
# Shorter words of a label, such as initials, may be left out in a question.
MIN_LABEL_CHARS = 3

# The first that a question contains is asked for.
_OPERATIONS = tuple(
    (name, re.compile(rf"\b(?:{pattern})\b", re.I))
    for name, pattern in (
        (
            "percent change",
            r"percent(?:age)? (?:of )?(?:change|increase|decrease|decline|growth|difference)"
            r"|growth rate|by (?:what|how many) percent",
        ),
        ("share", r"(?:percent(?:age)?|share|proportion) of|as a (?:share|proportion) of"),
        ("average", r"average|mean"),
        ("change", r"(?:change|increase|decrease|decline|growth)|grow|rise|fall|drop"),
        ("difference", r"difference|how much (?:more|less|higher|lower|larger|greater)"),
        ("sum", r"(?:sum|total) of|combined|altogether"),
        ("max", r"highest|largest|greatest|biggest|most"),
        ("min", r"lowest|smallest|least|fewest"),
    )
)
_OF_MANY = ("average", "sum")
_PERCENTAGES = ("share", "percent change")
_EXTREMES = {"max": max, "min": min}
# Only columns are compared: a passage has whole rows, but of a long table not all of them.
_ASKS_COLUMN = re.compile(
    r"\b(?:which|what) (?:fiscal |financial )?(?:year|quarter|month|period)\b", re.I
)
_ASKS_ROW = re.compile(r"\b(?:who|which|what)\b", re.I)
# Words of a question for a row that name no column.
_ROW_WORDS = frozenset("column entry fewest item name one rank row who".split())
# Rows that sum up the others: one at the end is left out, with others the rows are no list.
_SUMMARY_ROW = re.compile(r"(?:(?:grand|sub)[ -]?)?total|sum|average|mean|all|gesamt|summe", re.I)
_SAYS_SUMMARY = re.compile(r"\b(?:total|sub-?total|sum|average|gesamt|summe|thereof)\b", re.I)
_IN_BRACKETS = re.compile(r" *\(([^()]{1,40})\)")
# The highest of a longer list are quoted.
_MAX_QUOTED_ROWS = 10
_QUOTED_ROWS = 3
# What is asked in two steps, or is another average than that of cells.
_STEPS = r"change|increase|decrease|difference|growth|percent\w*"
_UNSURE = re.compile(
    rf"\b(?:(?:{_STEPS})\b.{{0,200}}\baverage|average\b.{{0,200}}\b(?:{_STEPS})"
    r"|at (?:most|least)|weighted|ratio|respectively|times|annual\w*\b.{0,200}\brate|per)\b",
    re.I,
)
# A label that speaks of a change or an average may be what is asked for.
_CALCULATED = re.compile(r"\b(?:average|change|increase|decrease|difference|growth)", re.I)
# "What percentage of B is A?"; other shares are "A as a percentage of B".
_WHOLE_FIRST = re.compile(r"\b(?:what|which) (?:percent(?:age)?|share|proportion) of\b", re.I)
# All years from one to another; "between" two that are apart may mean these alone.
_RANGE = re.compile(r"\b(?:19|20)\d\d\s*(?:to|through|until|[-\u2013])\s*(?:19|20)\d\d\b", re.I)
_BETWEEN = re.compile(r"\bbetween\b.{0,200}?((?:19|20)\d\d)\D{1,200}((?:19|20)\d\d)", re.I)
# Words of a question that name no row and no column.
_COMMON = (
    "a an and any are as at be been being between both by can change changed company "
    "corporation did do does during each end ended ending fiscal for from had has have how "
    "if in into is it its many much of on or our over percent percentage period the their "
    "them there these this to total versus vs was were what when which while will with "
    "within would year years amount value number increase increased decrease decreased "
    "decline difference average mean sum combined altogether growth rate grow rise fall "
    "drop more less higher lower greater larger than share proportion compared calculate "
    "compute s highest largest greatest biggest most lowest smallest least quarter month "
    "financial thousand thousands million millions billion billions usd dollars"
)
# A shorter word has no plural.
_MIN_PLURAL_CHARS = 4
_MIN_OPERANDS = 2


def find_calculation(question: str, passages: Sequence[Passage]) -> Calculation | None:
    """Return what a question asks to be calculated from a table; None if anything is in doubt."""
    operation, *others = [name for name, form in _OPERATIONS if form.search(question)] or [""]
    if not operation or _UNSURE.search(question) or _EXTREMES.keys() & others:
        return None
    if operation in _EXTREMES and not _ASKS_COLUMN.search(question):
        return None
    made = (
        _calculate_in(table, operation, question)
        for table in map(_with_names, read_tables(passages))
    )
    found = [each for each in made if each is not None]
    # Tables that disagree leave the question open.
    return found[0] if len({(each.number, each.unit) for each in found}) == 1 else None


def asked_extreme(question: str) -> str:
    """Return ``max`` or ``min`` if a question may ask for the row that is so; else ""."""
    operations = [name for name, form in _OPERATIONS if form.search(question)]
    is_one = len(operations) == 1 and operations[0] in _EXTREMES and _ASKS_ROW.search(question)
    return operations[0] if is_one and not _UNSURE.search(question) else ""


def find_extreme_row(question: str, documents: Sequence[Passage]) -> Calculation | None:
    """Return the row that is highest or lowest in the column that a question names; None in doubt.

    "Which product has the highest price?" The tables must be whole, as in whole documents.
    """
    operation = asked_extreme(question)
    if not operation:
        return None
    tables = [*_header_tables(documents), *_sheets(documents)]
    made = (_extreme_row(_with_names(table), operation, question) for table in tables)
    found = [each for each in made if each is not None]
    # Tables that disagree leave the question open.
    return found[0] if len({(each.number, each.column) for each in found}) == 1 else None


def _sheets(documents: Sequence[Passage]) -> Iterator[Table]:
    """Yield the sheets of documents, unless a row lacks its first cell or cannot be read."""
    for document in documents:
        sheets: dict[str, list[Table]] = {}
        for record in _records([document]):
            sheets.setdefault(record.names[0], []).append(record)
        for records in sheets.values():
            names = tuple(dict.fromkeys(name for record in records for name in record.names))
            begins = "|".join(map(re.escape, names))
            if len(re.findall(rf"^(?:{begins}): ", document.text, re.M)) == len(records):
                cells = [dict(zip(each.names, each.rows[0], strict=True)) for each in records]
                empty = Cell("", 0, 0, document)
                rows = tuple(tuple(each.get(name, empty) for name in names) for each in cells)
                yield Table(names, rows, document.breadcrumb, "")


def _extreme_row(table: Table, operation: str, question: str) -> Calculation | None:
    names = [_IN_BRACKETS.sub("", name) for name in table.names]
    asked = _words(question)
    columns = [at + 1 for at in _named(names[1:], asked)]
    rows = list(filter(None, table.rows))
    if rows and _SUMMARY_ROW.fullmatch(rows[-1][0].text.strip("* ")):
        rows.pop()
    labels = [row[0].text for row in rows]
    if len(columns) != 1 or len(rows) < _MIN_OPERANDS or len(set(labels) - {""}) < len(rows):
        return None
    column = columns[0]
    explained = _ROW_WORDS.union(*map(_words, (names[0], names[column], table.caption)))
    is_explained = (_COMMON_WORDS | explained).issuperset(asked)
    if _named(labels, asked) or any(map(_SAYS_SUMMARY.search, labels)) or not is_explained:
        return None
    operands = [
        Operand(value, cell, row[0].text, names[column])
        for row in rows
        for cell in row[column : column + 1]
        if (value := read_value(cell.text))
    ]
    operands.sort(key=lambda each: each.value.number, reverse=operation == "max")
    currencies = {each.value.currency for each in operands} - {""}
    units = {each.value.is_percent for each in operands}
    if len(operands) < len(rows) or len(currencies) > 1 or len(units) > 1:
        return None
    best, second = (each.value.number for each in operands[:2])
    if best == second or min(each.value.number for each in operands) < 0:
        return None
    brackets = _IN_BRACKETS.search(table.names[column])
    unit = _scale_of(f"{table.names[column]} {table.caption}") or (brackets[1] if brackets else "")
    quoted = operands[: _QUOTED_ROWS if len(operands) > _MAX_QUOTED_ROWS else None]
    formula = ", ".join(["{}"] * len(quoted))
    if len(quoted) < len(operands):
        formula += f", \u2026 {len(operands)} rows"
    unit = "%" if True in units else unit
    currency = "".join(currencies)
    return Calculation(
        best, f"{operation}({formula})", tuple(quoted), unit, currency, operands[0].row
    )


def mark_named_cells(question: str, passages: Sequence[Passage]) -> list[Passage]:
    """Return the passages with readings in the row, or the cell, that the question names.

    A row is named by its first cell, or by an identifier ("HT-06") in any. A reading in another row
    of the document's tables answers no more. Readings outside of tables stay, and all if the
    question names no row, or several.
    """
    asked = _words(question)
    tables = [read_tables([passage]) for passage in passages]
    named = [list(_named_rows(of_passage, asked)) for of_passage in tables]
    documents = {each.document_id for each, rows in zip(passages, named, strict=True) if rows}
    marked = []
    for passage, of_passage, rows in zip(passages, tables, named, strict=True):
        reading = passage.reading
        if (
            reading
            and passage.document_id in documents
            and any(
                cell.start < reading.end and reading.start < cell.end
                for table in of_passage
                for row in table.rows
                for cell in row
            )
        ):
            if rows:
                start, end = _place_in(*rows[0], asked, reading)
                reading = replace(reading, start=start, end=end)
            else:
                score, margin = min(reading.score, OTHER_ROW), min(reading.margin, OTHER_ROW)
                reading = replace(reading, score=score, margin=margin)
        marked.append(replace(passage, reading=reading))
    return marked


def _named_rows(
    tables: Sequence[Table], asked: Sequence[str]
) -> Iterator[tuple[Row, Sequence[str]]]:
    """Yield the row of each table that alone is named, with the names of its columns."""
    rows_by_names: dict[Sequence[str], list[Row]] = {}
    for table in tables:
        rows_by_names.setdefault(table.names, []).extend(filter(None, table.rows))
    for names, rows in rows_by_names.items():
        labels = [row[0].text for row in rows]
        long = [{word for word in _words(each) if len(word) >= MIN_LABEL_CHARS} for each in labels]
        places = _named(labels, asked) or [
            at for at, words in enumerate(long) if len(words) > 1 and words.issubset(asked)
        ]
        identified = [at for at, row in enumerate(rows) if _is_identified(row, asked)]
        places = identified if len(identified) == 1 else places
        if len(places) == 1 and len(rows) > 1:
            yield rows[places[0]], names


def _is_identified(row: Row, asked: Sequence[str]) -> bool:
    """Return whether a question has the identifier in a cell: one word with letters and digits."""
    text = f" {' '.join(asked)} "
    words = [cell.text for cell in row if len(cell.text.split()) == 1]
    identifiers = [
        word for word in words if any(map(str.isdigit, word)) and any(map(str.isalpha, word))
    ]
    return any(f" {' '.join(_words(each))} " in text for each in identifiers)


def _place_in(
    row: Row, names: Sequence[str], asked: Sequence[str], reading: Reading
) -> tuple[int, int]:
    """Return the span of the named column's cell in a row.

    Without a named column it is the reading, if that is within the row already; else the row. In
    rows whose header is elsewhere, the reader cannot tell one column from another.
    """
    columns = [at + 1 for at in _named(names[1:], asked) if at + 1 < len(row)]
    if len(columns) == 1 and row[columns[0]].text:
        return row[columns[0]].start, row[columns[0]].end
    if names and row[0].start <= reading.start and reading.end <= row[-1].end:
        return reading.start, reading.end
    return row[0].start, row[-1].end


def read_tables(passages: Sequence[Passage]) -> list[Table]:
    """Return the tables of passages: Markdown tables, and rows of sheets."""
    tables = _header_tables(passages)
    return [*tables, *_records(passages), *_rows_without_header(passages)]


def _header_tables(passages: Sequence[Passage]) -> list[Table]:
    """Return the tables with a header.

    The pieces of a long table, which repeat its header, are one if they follow each other.
    """
    pieces: dict[tuple[str, int], tuple[str, int, Table]] = {}
    for passage in passages:
        text, lines = passage.text, list(_ROW.finditer(passage.text))
        for at, (line, below) in enumerate(pairwise(lines)):
            if not _RULE.fullmatch(below[0]):
                continue
            rows, end = [], below.end()
            for row in lines[at + 2 :]:
                if text[end : row.start()] != "\n":
                    break
                rows.append(_cells(passage, row))
                end = row.end()
            before = text[: line.start()].rstrip().rpartition("\n")[2]
            caption = before if len(before) <= _CAPTION_CHARS else ""
            names = tuple(cell.text for cell in _cells(passage, line))
            table = Table(names, tuple(rows), f"{passage.breadcrumb} {caption}", text)
            place = passage.document_id, passage.start_char + line.start()
            pieces[place] = line[0], passage.start_char + end, table
    joined: list[tuple[str, str, int, Table]] = []
    for (document, start), (header, end, piece) in sorted(pieces.items(), key=itemgetter(0)):
        whole = piece
        if joined and joined[-1][:2] == (document, header):
            _, _, last_end, first = joined[-1]
            if 0 <= start - last_end <= len("\n\n"):  # only an empty line is between them
                joined.pop()
                whole = replace(first, rows=first.rows + piece.rows)
        joined.append((document, header, end, whole))
    return [table for *_, table in joined]


def _with_names(table: Table) -> Table:
    """Return a table whose columns are named by all lines of its header: of texts, or years."""
    names, rows = list(table.names), list(table.rows)
    while len(rows) > 1:
        texts = [cell.text for cell in rows[0][1:] if cell.text]
        if not texts or any(read_value(text) and not _YEAR.fullmatch(text) for text in texts):
            break
        added = rows.pop(0)
        names = [f"{name} {c.text}".strip() for name, c in zip(names, added, strict=False)]
    return replace(table, names=tuple(names), rows=tuple(rows))


def _records(passages: Sequence[Passage]) -> Iterator[Table]:
    for passage in passages:
        for record in _RECORD.finditer(passage.text):
            pairs = list(_PAIR.finditer(passage.text, record.start(), record.end()))
            cells = tuple(Cell(pair[2], *pair.span(2), passage) for pair in pairs)
            names = tuple(pair[1] for pair in pairs)
            yield Table(names, (cells,), passage.breadcrumb, passage.text)


def _rows_without_header(passages: Sequence[Passage]) -> Iterator[Table]:
    """Yield the rows that a passage begins with, as a table without names of columns."""
    for passage in passages:
        lines = _ROW.finditer(passage.text)
        first = next(lines, None)
        if first is None or passage.text[: first.start()].strip():
            continue
        rows = []
        for row, below in pairwise([first, *lines, None]):
            if row is None or (below is not None and _RULE.fullmatch(below[0])):
                break
            rows.append(_cells(passage, row))
            if below is None or passage.text[row.end() : below.start()] != "\n":
                break
        yield Table((), tuple(rows), passage.breadcrumb, passage.text)


def _cells(passage: Passage, line: re.Match[str]) -> tuple[Cell, ...]:
    found = _CELL.finditer(passage.text, line.start(), line.end())
    return tuple(Cell(each[1], *each.span(1), passage) for each in found)


def read_value(text: str) -> Value | None:
    """Return the number that a cell holds; brackets and a minus make it negative."""
    match = _VALUE.fullmatch(text.strip())
    if match is None:
        return None
    number = Decimal(match["digits"].replace(",", ""))
    is_negative = any(sign in text for sign in "-\u2212(")
    return Value(-number if is_negative else number, match["currency"], "%" in text)


def _words(text: str) -> list[str]:
    """Return words in lower case, and in the singular."""
    words = []
    for word in _WORD.findall(text.lower()):
        is_plural = len(word) >= _MIN_PLURAL_CHARS and word.endswith("s") and word[-2] != "s"
        singular = word[:-1] if is_plural else word
        words.append(singular[:-2] + "y" if singular.endswith("ie") and is_plural else singular)
    return words


_COMMON_WORDS = frozenset(_words(_COMMON))


def _calculate_in(table: Table, operation: str, question: str) -> Calculation | None:
    asked = _words(question)
    labels, names = [row[0].text if row else "" for row in table.rows], table.names[1:]
    rows = _named(labels, asked)
    columns = _of_years(names, question, operation) or _named(names, asked)
    if operation in _EXTREMES:
        columns = [] if columns else list(range(len(names)))
    # Along a row or a column, not both.
    is_along = bool(rows and columns) and min(len(rows), len(columns)) == 1
    if not is_along or any(_CALCULATED.search(labels[at]) for at in rows):
        return None
    explained = (
        *(labels[at] for at in rows), *(names[at] for at in columns), table.names[0], table.caption,
    )  # fmt: skip
    known = _COMMON_WORDS.union(*map(_words, explained))
    operands: list[Operand] = []
    for row, column in ((row, column) for row in rows for column in columns):
        cell = next(iter(table.rows[row][column + 1 :]), None)
        value = read_value(cell.text) if cell else None
        if cell is None or value is None:
            return None
        operands.append(Operand(value, cell, labels[row], names[column]))
    units = {each.value.is_percent for each in operands}
    if len(operands) < _MIN_OPERANDS or len(units) > 1 or not known.issuperset(asked):
        return None
    beside = " ".join([*table.names, *(row[0].text for row in table.rows[:2] if row)])
    texts = (beside, table.caption, table.around)
    scale = next(filter(None, map(_scale_of, texts)), "")
    return _result(operation, operands, question, "%" if True in units else scale)


def _named(names: Sequence[str], asked: Sequence[str]) -> list[int]:
    """Return the places of the names that a question contains, in its order.

    A name within a longer one does not count; two equal names leave it open which is meant.
    """
    text = f" {' '.join(asked)} "
    spans: dict[int, tuple[int, int]] = {}
    for at, name in enumerate(names):
        run = " ".join(_words(name))
        start = text.find(f" {run} ") if run else -1
        if start >= 0:
            spans[at] = (start, start + len(run))
    longest = {
        at: (start, end)
        for at, (start, end) in spans.items()
        if not any(s <= start and end <= e and (s, e) != (start, end) for s, e in spans.values())
    }
    is_clear = len(set(longest.values())) == len(longest)
    return sorted(longest, key=longest.__getitem__) if is_clear else []


def _of_years(names: Sequence[str], question: str, operation: str) -> list[int]:
    """Return the columns of the years that a question names; none if a year has several."""
    asked = list(dict.fromkeys(_YEAR.findall(question)))
    if operation in _OF_MANY and _RANGE.search(question):
        asked = [str(year) for year in range(int(min(asked)), int(max(asked)) + 1)]
    columns = [[at for at, name in enumerate(names) if year in name] for year in asked]
    return [each[0] for each in columns] if all(len(each) == 1 for each in columns) else []


def _scale_of(text: str) -> str:
    """Return the unit of numbers that a text names; empty if there is none, or several."""
    scales = {
        (match[1] or ("thousand" if match[2] else "million")).lower()
        for match in _UNIT.finditer(text)
    }
    return scales.pop() if len(scales) == 1 else ""


def _result(
    operation: str, operands: Sequence[Operand], question: str, unit: str
) -> Calculation | None:
    numbers = [each.value.number for each in operands]
    currency = next((each.value.currency for each in operands if each.value.currency), "")
    if operation in _EXTREMES:
        return _extreme(operation, operands, unit, currency)
    if operation in _OF_MANY:
        between = _BETWEEN.search(question)
        if between and abs(int(between[1]) - int(between[2])) > 1:
            return None
        formula, total = " + ".join(["{}"] * len(numbers)), sum(numbers, Decimal(0))
        if operation == "average":
            formula, total = f"({formula}) / {len(numbers)}", total / len(numbers)
        return Calculation(total, formula, tuple(operands), unit, currency)
    if len(operands) > _MIN_OPERANDS:
        return None
    first, second = operands
    if operation == "share":
        second, first = (first, second) if _WHOLE_FIRST.search(question) else (second, first)
    elif first.year and second.year and first.year != second.year:
        # The later year less the earlier one.
        second, first = sorted(operands, key=lambda each: each.year)
    elif operation != "difference":
        return None
    change = first.value.number - second.value.number
    if operation in _PERCENTAGES:
        if not second.value.number or unit == "%":
            return None
        is_share = operation == "share"
        percent = (first.value.number if is_share else change) / second.value.number * 100
        formula = "{} / {}" if is_share else "({} \u2212 {}) / {}"
        used = (first, second) if is_share else (first, second, second)
        return Calculation(percent, formula, used, "%")
    unit = "percentage points" if unit == "%" else unit
    return Calculation(change, "{} \u2212 {}", (first, second), unit, currency)


def _extreme(
    operation: str, operands: Sequence[Operand], unit: str, currency: str
) -> Calculation | None:
    """Return the largest or smallest number of a row by years; None if two are, or one is negative.

    Whether a loss is the larger the further it is from zero, no question says.
    """
    numbers = [each.value.number for each in operands]
    number = _EXTREMES[operation](numbers)
    years = {each.year for each in operands} - {""}
    if len(years) < len(operands) or numbers.count(number) > 1 or min(numbers) < 0:
        return None
    formula = f"{operation}({', '.join(['{}'] * len(numbers))})"
    column = operands[numbers.index(number)].column
    return Calculation(number, formula, tuple(operands), unit, currency, column)


def write_answer(made: Calculation) -> Answer:
    """Return the result with its formula, and a citation for each cell."""
    number = made.number.quantize(_SHOWN_DECIMALS)
    shown = f"{abs(number):,}".removesuffix(".00")
    space = "" if made.unit in {"", "%"} else " "
    sign = "\u2212" if number < 0 else ""
    result = f"{sign}{made.currency}{shown}{space}{made.unit}"
    formula = made.formula.format(*(each.cell.text for each in made.operands))
    text = f"{made.column}: {result} = {formula}\n" if made.column else f"{result} = {formula}\n"
    citations = []
    unique = {
        (each.cell.passage.document_id, each.cell.passage.start_char + each.cell.start): each
        for each in made.operands
    }
    for each in unique.values():
        text += "\n- " + ", ".join(filter(None, (each.row, each.column))) + ": "
        passage, answer_start = each.cell.passage, len(text)
        text += each.cell.text
        start = passage.start_char + each.cell.start
        quote = Quote(passage, start, start + len(each.cell.text))
        citations.append(replace(cite(quote, answer_start, len(text)), score=CONFIDENCE))
    return Answer("", text, confidence=CONFIDENCE, citations=tuple(citations), answerer=TABLE)
