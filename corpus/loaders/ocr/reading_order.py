"""Sort the lines of a scan into reading order. Pure."""

from dataclasses import dataclass
from itertools import pairwise
from math import atan2, cos, hypot, sin
from statistics import median

from corpus.characters import fold_text
from corpus.loaders.blocks import OcrBox, Scan, ScannedLine
from corpus.loaders.formats.pdf.lines import Line

# The point size assigned to lines of the usual height.
BODY_SIZE = 10.0
# Box heights of one letter size differ by a third, depending on ascenders and descenders.
_LARGER = 1.35
# Larger lines share a size in steps of this ratio.
_SIZE_STEP = 0.5
_REGULAR = 400
# Positions are whole ten-thousandths of the page's width.
_PARTS = 10_000
# Share of the lesser height: lines whose middles are nearer are in one row.
_SAME_ROW = 0.5
# Share of the height: table cells are further apart than words.
_CELL_GAP = 1.5
# A line of this few letters may be higher than wide and still be horizontal.
_FEW_CHARS = 2
# Minimum lines and length of columns of text; shorter ones are table columns, read by row.
_MIN_COLUMN_LINES = 4
_MIN_COLUMN_CHARS = 20
# Share of lines that may cross the gap between two columns.
_MAX_CROSSING = 0.35


@dataclass(frozen=True, slots=True)
class _Run:
    """A line of the scan on the leveled page; ``y`` is its middle, and grows downwards."""

    line: ScannedLine
    left: float
    right: float
    y: float
    height: float

    def ocr_box(self, page_width: int) -> OcrBox:
        numbers = (round(number * _PARTS / page_width) for number in self.line[2:])
        return OcrBox(len(fold_text(self.line.text)), self.line.confidence, *numbers)


def sort_lines(scan: Scan) -> list[Line]:
    """Return lines in reading order: by column if there are columns, else by row."""
    if not scan.lines:
        return []
    # The page is rotated so that most lines are horizontal, left to right.
    length = median(hypot(line.x2 - line.x1, line.y2 - line.y1) for line in scan.lines)
    long = [line for line in scan.lines if hypot(line.x2 - line.x1, line.y2 - line.y1) >= length]
    angle = atan2(
        median(line.y2 - line.y1 for line in long), median(line.x2 - line.x1 for line in long)
    )
    sine, cosine = sin(angle), cos(angle)
    runs = [
        _Run(
            line,
            left=line.x1 * cosine + line.y1 * sine,
            right=line.x2 * cosine + line.y2 * sine,
            y=((line.y1 + line.y2) * cosine - (line.x1 + line.x2) * sine) / 2,
            height=line.height,
        )
        for line in scan.lines
    ]
    flat = [
        run
        for run in runs
        if run.right > run.left + run.height / 2 or len(run.line.text) <= _FEW_CHARS
    ]
    usual = median(run.height for run in flat or runs)
    rows: list[list[_Run]] = []
    for part in _columns(flat):
        # Grouped in rows, from the top, each from the left.
        grouped: list[list[_Run]] = []
        for run in sorted(part, key=lambda run: run.y):
            above = grouped[-1][-1] if grouped else None
            if above and run.y - above.y < min(run.height, above.height) * _SAME_ROW:
                grouped[-1].append(run)
            else:
                grouped.append([run])
        rows += [sorted(row, key=lambda run: run.left) for row in grouped]
    # Vertical text at the edge of a page is read last.
    rows += [[run] for run in runs if run not in flat]
    scale = BODY_SIZE / usual
    lines: list[Line] = []
    for row in rows:
        ratio = min(run.height for run in row) / usual
        larger = round(ratio / _SIZE_STEP) * _SIZE_STEP if ratio >= _LARGER else 1.0
        gaps = (after.left - run.right for run, after in pairwise(row))
        line = Line(
            text=" ".join(run.line.text for run in row),
            size=BODY_SIZE * larger,
            weight=_REGULAR,
            left=row[0].left * scale,
            right=row[-1].right * scale,
            bottom=-max(run.y + run.height / 2 for run in row) * scale,
            top=-min(run.y - run.height / 2 for run in row) * scale,
            ocr_boxes=tuple(run.ocr_box(scan.width) for run in row),
            ends=max(gaps, default=0) > usual * _CELL_GAP,
        )
        lines.append(line)
    return lines


def _columns(runs: list[_Run]) -> list[list[_Run]]:
    """Return the parts of a page in reading order."""
    # The best gap between two columns of running text, and how many runs cross it.
    best: tuple[int, float] | None = None
    for x in sorted({run.right for run in runs}):
        left = [run for run in runs if run.right <= x]
        right = [run for run in runs if run.left >= x]
        crossing_count = len(runs) - len(left) - len(right)
        are_columns = all(
            len(side) >= _MIN_COLUMN_LINES
            and median(len(run.line.text) for run in side) >= _MIN_COLUMN_CHARS
            for side in (left, right)
        )
        is_gap = are_columns and crossing_count <= len(runs) * _MAX_CROSSING
        if is_gap and (best is None or crossing_count < best[0]):
            best = (crossing_count, (x + min(run.left for run in right)) / 2)
    if best is None:
        return [runs] if runs else []
    gutter = best[1]
    crossing = sorted((r for r in runs if r.left < gutter < r.right), key=lambda run: run.y)
    parts: list[list[_Run]] = []
    above = float("-inf")
    for below in (*crossing, None):
        until = below.y if below else float("inf")
        band = [run for run in runs if above < run.y < until and run not in crossing]
        parts += _columns([run for run in band if run.right <= gutter])
        parts += _columns([run for run in band if run.left >= gutter])
        parts += [[below]] if below else []
        above = until
    return parts
