"""Find tables on a page: by the lines drawn around their cells, or by columns of numbers. Pure.

A table is taken only if it is certain where its cells are. All else stays lines of text.
"""

import re
from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from math import inf
from statistics import median
from typing import NamedTuple

from corpus.loaders.formats.pdf.lines import Line

_MIN_ROWS = 2
_MIN_COLUMNS = 2
# Forms have many drawn cells, of which few are in one row.
_MIN_FILLED_SHARE = 0.5
# A table without drawn cells has as many lines of several numbers.
_MIN_NUMBER_LINES = 3
# Lines of its header, and lines of text between two rows of numbers.
_MAX_HEADER_LINES = 4
_MAX_LABEL_LINES = 4
# Lines of years at its top that look like numbers.
_MAX_YEAR_LINES = 2
# A longer text above a column is a sentence.
_MAX_HEADER_CHARS = 60
# Lines of a header above a column of currency signs.
_MAX_SIGN_HEADERS = 2
# Ends of drawn lines that meet are at most this far apart, in points.
_SNAP = 3.0
# Words that are further apart, in heights, are in different cells; numbers sooner than text.
_CELL_GAP = 0.9
_NUMBER_GAP = 0.3
_WORD_GAP = 0.4
# Share of neighbors in different cells that are as near as words of one sentence.
_MAX_PROSE_SHARE = 0.1
# Lines that are further apart, in heights, are in different tables; a header is nearer.
_LINE_GAP = 2.0
_HEADER_GAP = 1.0
# A header over two columns stands between them, at half their distance.
_HEADER_REACH = 0.75

_NUMBER = re.compile(
    r"(?:[A-Z]{2,3}\s?)?[$€£¥]?\s?[(+\-\u2212\u2013]?\s?[$€£¥]?\s?(?:\d[\d,.]*|\.\d+)\s?%?\s?\)?\s?%?"
    r"(?:\([\da-z]\)|[*†])*|[$€£¥]?\s?[-\u2013\u2014]+\s?%?"
)
_YEAR = re.compile(r"(?:FY\s?)?(?:19|20)\d\d[*†]?")
_MAX_NUMBER_WORDS = 4
# Signs that may stand apart from their number.
_OPENING = re.compile(r"[$€£¥(]+")
_CLOSING = re.compile(r"[)%]+")


class Rule(NamedTuple):
    """A drawn line, horizontal or vertical, or the edge of a rectangle; in points."""

    left: float
    bottom: float
    right: float
    top: float


@dataclass(frozen=True, slots=True)
class Word:
    """A word on a page; coordinates in points from the lower left corner.

    Attributes:
        line: Number of the line that has it, in the order of the file.
    """

    text: str
    line: int
    left: float
    right: float
    bottom: float
    top: float

    @property
    def height(self) -> float:
        return max(self.top - self.bottom, 1.0)

    @property
    def middle(self) -> float:
        return (self.top + self.bottom) / 2

    @property
    def center(self) -> float:
        return (self.left + self.right) / 2


# The words of a cell, and the rows of a table; its first row is the header.
Cell = tuple[Word, ...]
Table = list[list[Cell]]


def text_of(words: Iterable[Word]) -> str:
    """Return the text of a cell; a word that a line break cuts is made whole."""
    text = ""
    for word in words:
        is_cut = text.endswith(("\x02", "\ufffe"))
        text = text[:-1] + word.text if is_cut else f"{text} {word.text}".lstrip()
    return text


def table_line(table: Table, lines: Sequence[Line]) -> Line:
    """Return a table as one line, in place of the lines that have its words."""
    return replace(
        lines[0],
        text="\n".join(" ".join(map(text_of, row)) for row in table),
        size=median(line.size for line in lines),
        left=min(line.left for line in lines),
        right=max(line.right for line in lines),
        bottom=min(line.bottom for line in lines),
        top=max(line.top for line in lines),
        rows=tuple(tuple(map(text_of, row)) for row in table),
    )


def find_tables(words: Sequence[Word], rules: Iterable[Rule]) -> Iterator[Table]:
    """Yield the tables of a page: those with drawn cells, then columns of numbers."""
    used: set[Word] = set()
    for table in _drawn_tables(words, rules):
        used.update(word for row in table for cell in row for word in cell)
        yield table
    # Of the others, only a header and columns of numbers are known.
    lines = [_parts(line) for line in _lines(word for word in words if word not in used)]
    first = done = 0
    while first < len(lines):
        columns, end = _columns_from(lines, first)
        if columns:
            header, body = _header_of(lines, first, columns, after=done)
            if header and _is_table(lines[body:end], columns):
                rows = _body_rows(lines[body:end], columns)
                yield [_header_row(header, columns, [row[0] for row in rows]), *rows]
                done = end
        first = max(end, first + 1)


def _drawn_tables(words: Sequence[Word], rules: Iterable[Rule]) -> Iterator[Table]:
    """Yield the tables whose cells are drawn."""
    for cluster in _touching(rules):
        across = [rule for rule in cluster if rule.top - rule.bottom < _SNAP]
        upright = [rule for rule in cluster if rule.right - rule.left < _SNAP]
        xs = _distinct(rule.left for rule in upright)
        ys = _distinct(-rule.bottom for rule in across)  # from the top
        places: dict[tuple[int, int], list[Word]] = {}
        for word in words if len(xs) > _MIN_COLUMNS and len(ys) > _MIN_ROWS else ():
            row, column = bisect(ys, -word.middle) - 1, bisect(xs, word.center) - 1
            if not (0 <= row < len(ys) - 1 and 0 <= column < len(xs) - 1):
                continue
            # No line separates the parts of a cell over several columns or rows.
            while column and not _is_cut(upright, xs[column], word.middle):
                column -= 1
            while row and not _is_cut(across, ys[row], word.center):
                row -= 1
            places.setdefault((row, column), []).append(word)
        rows, columns = (sorted({place[axis] for place in places}) for axis in (0, 1))
        is_filled = len(places) >= len(rows) * len(columns) * _MIN_FILLED_SHARE
        if not is_filled or len(rows) < _MIN_ROWS or _is_prose(places):
            continue
        merged = _with_signs(
            (xs[at], [tuple(chain.from_iterable(_lines(places.get((r, at), ())))) for r in rows])
            for at in columns
        )
        drawn = zip(*(cells for _, cells in merged), strict=True)
        table = list(chain.from_iterable(map(_split_row, drawn)))
        _join_header(table, [left for left, _ in merged], upright)
        # A row of one cell above it is a caption.
        header = next((row for row in table[:2] if sum(map(bool, row)) >= _MIN_COLUMNS), [])
        texts = [text_of(cell) for cell in header if cell]
        are_names = all(len(text) <= _MAX_HEADER_CHARS and not _is_value(text) for text in texts)
        # Several numbers in a cell: a line between them was not drawn.
        parts = [_parts(cell) for cell in chain.from_iterable(table)]
        is_cut = not any(len(each) > 1 and all(p.is_number for p in each) for each in parts)
        if is_cut and are_names and len(texts) * 2 >= len(table[0]) >= _MIN_COLUMNS:
            yield table


def _with_signs(columns: Iterable[tuple[float, list[Cell]]]) -> list[tuple[float, list[Cell]]]:
    """Join columns of currency and percent signs with the numbers beside them.

    Args:
        columns: The left edge of each, and its cells.
    """
    merged: list[tuple[float, list[Cell]]] = []
    is_opened = False
    for edge, cells in columns:
        if merged and (is_opened or _are_signs(cells, _CLOSING)):
            left, before = merged.pop()
            merged.append((left, [b + c for b, c in zip(before, cells, strict=True)]))
        else:
            merged.append((edge, cells))
        is_opened = _are_signs(cells, _OPENING)
    return merged


def _join_header(table: Table, edges: Sequence[float], upright: Sequence[Rule]) -> None:
    """Join the lines of a header; a cell over several columns names each of them.

    Args:
        table: Is changed.
        edges: The left edge of each column.
    """
    while len(table) > _MIN_ROWS and not all(table[0][1:]):
        names = list(table[0])
        for at in range(1, len(names)):
            spanning = names[at - 1]
            is_cut = spanning and _is_cut(upright, edges[at], spanning[0].middle)
            if spanning and not names[at] and not is_cut:
                names[at] = spanning
        if names == table[0] or len(set(names)) == 1:
            break
        if any(_is_value(text_of(cell)) for cell in table[1]):
            table[0] = names
            break
        table[:2] = [[above + below for above, below in zip(names, table[1], strict=True)]]
    # The name of a column may stand in an empty one before it.
    for at in reversed(range(len(table[0]) - 1)):
        if not table[0][at + 1] and not any(row[at] for row in table[1:]):
            for row in table:
                row[at : at + 2] = [row[at] + row[at + 1]]


def _is_value(text: str) -> bool:
    """Return whether a cell holds a number, which names no column unless it is a year."""
    return _NUMBER.fullmatch(text) is not None and not _YEAR.fullmatch(text)


def _are_signs(cells: Iterable[Cell], sign: re.Pattern[str]) -> bool:
    """Return whether a column below its header holds only signs of the numbers beside it."""
    are_signs = [sign.fullmatch(text_of(cell)) is not None for cell in cells if cell]
    return any(are_signs) and are_signs.count(False) <= _MAX_SIGN_HEADERS


def _is_prose(places: Mapping[tuple[int, int], Iterable[Word]]) -> bool:
    """Return whether sentences run through most cells, as over boxes that mark some words."""
    columns = {word: column for (_, column), words in places.items() for word in words}
    neighbors = chain.from_iterable(map(pairwise, _lines(columns)))
    gaps = [(b.left - a.right) / b.height for a, b in neighbors if columns[a] != columns[b]]
    return sum(gap < _WORD_GAP for gap in gaps) > len(gaps) * _MAX_PROSE_SHARE


def _split_row(row: Sequence[Cell]) -> list[list[Cell]]:
    """Return the rows of a drawn one: lines of numbers, if all its cells have as many."""
    lines = [_lines(cell) for cell in row]
    counts = {len(each) for each in lines if each}
    numbers = sum(_is_value(text_of(line)) for each in lines for line in each)
    if len(counts) == 1 and max(counts) > 1 and numbers * 2 >= sum(map(len, lines)):
        return [[tuple(each[at]) if each else () for each in lines] for at in range(max(counts))]
    return [list(row)]


def _is_cut(rules: Iterable[Rule], at: float, other: float) -> bool:
    """Return whether one of the rules is at a position, and at another of the other axis.

    Args:
        rules: All upright, or all level; positions of level ones are negative.
    """
    return any(
        abs(rule.left - at) <= _SNAP and rule.bottom <= other <= rule.top
        if rule.right - rule.left < _SNAP
        else abs(rule.bottom + at) <= _SNAP and rule.left <= other <= rule.right
        for rule in rules
    )


def _touching(rules: Iterable[Rule]) -> list[list[Rule]]:
    """Return the rules in groups that touch each other, directly or by others."""
    done: list[list[Rule]] = []
    # From the left: those that end before a rule touch none of the further ones.
    groups: list[tuple[Rule, list[Rule]]] = []
    for rule in sorted(rules):
        box, members, apart = rule, [rule], []
        for other, others in groups:
            if other.right + _SNAP < rule.left:
                done.append(others)
            elif other.bottom - _SNAP <= box.top and box.bottom - _SNAP <= other.top:
                box = Rule(
                    min(box.left, other.left),
                    min(box.bottom, other.bottom),
                    max(box.right, other.right),
                    max(box.top, other.top),
                )
                members = [*others, *members]
            else:
                apart.append((other, others))
        groups = [*apart, (box, members)]
    return done + [members for _, members in groups]


def _distinct(values: Iterable[float]) -> list[float]:
    """Return positions in order; the edges of a thick line are one."""
    distinct: list[float] = []
    for value in sorted(values):
        if not distinct or value - distinct[-1] > _SNAP:
            distinct.append(value)
    return distinct


def _lines(words: Iterable[Word]) -> list[list[Word]]:
    """Return words by the line that they stand on, from the top; each line from the left."""
    lines: list[list[Word]] = []
    for word in sorted(words, key=lambda word: -word.middle):
        first = lines[-1][0] if lines else None
        if first and first.middle - word.middle < min(first.height, word.height) / 2:
            lines[-1].append(word)
        else:
            lines.append([word])
    return [sorted(line, key=lambda word: word.left) for line in lines]


class _Part(NamedTuple):
    """Words of one line that no wide gap separates; or a column, which has no words."""

    left: float
    right: float
    words: Cell = ()
    text: str = ""
    is_number: bool = False

    @property
    def center(self) -> float:
        return (self.left + self.right) / 2

    def meets(self, other: "_Part") -> bool:
        return self.left < other.right and other.left < self.right


# The parts of one line, from the left.
_PartLine = list[_Part]


def _parts(line: Sequence[Word]) -> _PartLine:
    """Return the parts of a line; a currency or percent sign belongs to its number."""
    parts: list[list[Word]] = []
    for word in line:
        if parts:
            gap = (word.left - parts[-1][-1].right) / word.height
            # A number has few words.
            text = text_of(parts[-1]) if len(parts[-1]) <= _MAX_NUMBER_WORDS else ""
            is_number = _NUMBER.fullmatch(text) is not None
            are_numbers = is_number and _NUMBER.fullmatch(word.text) is not None
            is_sign = _OPENING.fullmatch(text) or (is_number and _CLOSING.fullmatch(word.text))
            is_next = is_number and _OPENING.fullmatch(word.text)
            is_near = gap < (_NUMBER_GAP if are_numbers else _CELL_GAP)
            if is_sign or (is_near and not is_next):
                parts[-1].append(word)
                continue
        parts.append([word])
    found: _PartLine = []
    for words in map(tuple, parts):
        left, right = min(word.left for word in words), max(word.right for word in words)
        text = text_of(words)
        found.append(_Part(left, right, words, text, _NUMBER.fullmatch(text) is not None))
    return found


def _columns_from(lines: Sequence[_PartLine], first: int) -> tuple[list[_Part], int]:
    """Return the columns of the numbers from a line on, and the end of the last such line."""
    columns = [part for part in lines[first] if part.is_number]
    end = first + 1
    if len(columns) < _MIN_COLUMNS:
        return [], end
    for at in range(end, len(lines)):
        if _gap(lines[at - 1], lines[at]) > _LINE_GAP or at - end >= _MAX_LABEL_LINES:
            break
        grown = _with_line(columns, lines[at])
        if grown is None:
            break
        if grown != columns or any(part.is_number for part in _in_columns(lines[at], columns)):
            columns, end = grown, at + 1
    return columns, end


def _gap(above: _PartLine, below: _PartLine) -> float:
    """Return the distance of two lines, in heights."""
    upper, lower = above[0].words[0], below[0].words[0]
    return (upper.bottom - lower.top) / lower.height


def _in_columns(line: _PartLine, columns: Sequence[_Part]) -> _PartLine:
    """Return the parts of a line without its label, which stands before the columns."""
    return [part for part in line if part.right > columns[0].left]


def _with_line(columns: Sequence[_Part], line: _PartLine) -> list[_Part] | None:
    """Return the columns with a line's numbers; None if a part is in none, or in several."""
    grown = list(columns)
    filled: set[int] = set()
    for part in _in_columns(line, columns):
        met = [at for at, column in enumerate(grown) if part.meets(column)]
        is_label = part.left < columns[0].left and not part.is_number
        if is_label or len(met) > 1 or filled.intersection(met) or not (met or part.is_number):
            return None
        if not met:
            grown.append(part)
            grown.sort()
            met, filled = [], set()  # a column of its own
        elif part.is_number:
            grown[met[0]] = _Part(
                min(part.left, grown[met[0]].left), max(part.right, grown[met[0]].right)
            )
        filled.update(met)
    is_apart = all(not before.meets(after) for before, after in pairwise(grown))
    return grown if is_apart else None


def _header_of(
    lines: Sequence[_PartLine], first: int, columns: Sequence[_Part], *, after: int
) -> tuple[list[_PartLine], int]:
    """Return the lines of a header, and the first line of the body.

    Args:
        first: The first line of numbers; years are a header.
        after: The first line that no table above has.
    """
    body = first
    while body < len(lines) and _is_header(lines[body], columns) and body - first < _MAX_YEAR_LINES:
        body += 1
    header = list(lines[first:body])
    for at in range(first - 1, max(after, first - _MAX_LABEL_LINES - _MAX_HEADER_LINES) - 1, -1):
        is_far = _gap(lines[at], lines[at + 1]) > (_HEADER_GAP if header else _LINE_GAP)
        if is_far or len(header) == _MAX_HEADER_LINES:
            break
        if _is_header(lines[at], columns):
            if not header:
                body = at + 1
            header.insert(0, lines[at])
        elif header or _in_columns(lines[at], columns):
            break
    return header, body


def _is_header(line: _PartLine, columns: Sequence[_Part]) -> bool:
    """Return whether a line names columns: short texts above them, or years."""
    parts = _in_columns(line, columns)
    # Wider than its column perhaps, but not by a whole one.
    start = 2 * columns[0].left - columns[1].left
    return bool(parts) and all(
        part.left > start and len(part.text) <= _MAX_HEADER_CHARS and not _is_value(part.text)
        for part in parts
    )


def _is_table(lines: Sequence[_PartLine], columns: Sequence[_Part]) -> bool:
    """Return whether most cells hold numbers, in each column and in enough rows."""
    numbers = [[p for p in _in_columns(line, columns) if p.is_number] for line in lines]
    rows = [row for row in numbers if row]
    counts = [sum(p.meets(column) for row in rows for p in row) for column in columns]
    full = sum(len(row) >= _MIN_COLUMNS for row in rows)
    return full >= _MIN_NUMBER_LINES and min(counts) * 2 >= len(rows)


def _header_row(
    header: Sequence[_PartLine], columns: Sequence[_Part], labels: Iterable[Cell]
) -> list[Cell]:
    """Return the header: the texts above each column from the top; of one above several, too."""
    # Where the labels of the rows end.
    edge = max((word.right for label in labels for word in label), default=-inf)
    cells: list[Cell] = [()] * (len(columns) + 1)
    middle = (columns[0].left + columns[-1].right) / 2
    for line in header:
        parts = [part for part in line if part.left >= edge or part.right > columns[0].left]
        cells[0] += tuple(word for part in line if part not in parts for word in part.words)
        for at, column in enumerate(columns):
            above = [part for part in parts if part.meets(column)]
            nearest = min((abs(part.center - column.center), part) for part in parts)[1]
            beside = columns[
                max(at - 1, 0) if nearest.center < column.center else (at + 1) % len(columns)
            ]
            reach = abs(beside.center - column.center) * _HEADER_REACH
            is_of_all = len(parts) == 1 and abs(nearest.center - middle) <= reach
            if len(parts) == len(columns):
                cells[at + 1] += parts[at].words
            elif len(above) == 1:
                cells[at + 1] += above[0].words
            elif is_of_all or abs(nearest.center - column.center) <= reach:
                cells[at + 1] += nearest.words
    return cells


def _body_rows(lines: Sequence[_PartLine], columns: Sequence[_Part]) -> list[list[Cell]]:
    """Return the rows; a line that goes on in small letters is of the label above it."""
    rows: list[list[Cell]] = []
    for line in lines:
        parts = _in_columns(line, columns)
        label = tuple(word for part in line if part not in parts for word in part.words)
        cells = [tuple(w for p in parts if p.meets(column) for w in p.words) for column in columns]
        goes_on = rows and label and label[0].text[0].islower()
        if goes_on and not (parts and any(rows[-1][1:])):
            rows[-1] = [rows[-1][0] + label, *(cells if parts else rows[-1][1:])]
        else:
            rows.append([label, *cells])
    return rows
