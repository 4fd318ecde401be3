"""In which order the lines of a scan are read."""

from itertools import chain

import pytest

from corpus.loaders.blocks import Scan, ScannedLine
from corpus.loaders.formats.pdf.layout import blocks_from_pages
from corpus.loaders.ocr.reading_order import BODY_SIZE, sort_lines
from tests.unit.loaders.scanned_files import scan_of


def read(scan: Scan) -> list[str]:
    return [line.text for line in sort_lines(scan)]


def column(word: str, x: float, *, count: int = 5) -> list[tuple[str, float, float]]:
    return [(f"{word} {number} of a column of running text", x, 100.0 + 30 * number)
            for number in range(count)]  # fmt: skip


def turned(scan: Scan, sine: float, cosine: float) -> Scan:
    def point(x: float, y: float) -> tuple[float, float]:
        return x * cosine - y * sine, x * sine + y * cosine

    lines = [
        ScannedLine(each.text, each.confidence, *point(each.x1, each.y1), *point(each.x2, each.y2),
                    each.height)
        for each in scan.lines
    ]  # fmt: skip
    return scan._replace(lines=tuple(lines))


def test_a_page_with_nothing_on_it_has_no_lines() -> None:
    assert sort_lines(Scan(100, 100, (), None)) == []


def test_columns_are_read_one_after_the_other_below_what_goes_over_both() -> None:
    title = ("A title that goes over both of the columns of it", 200.0, 50.0)
    left, right = column("Left", 50), column("Right", 550)
    mixed = list(chain.from_iterable(zip(right, left, strict=True)))
    foot = ("And a line below that goes over both of them, too", 200.0, 300.0)
    found = read(scan_of(*mixed, foot, title))
    assert found == [text for text, _, _ in (title, *left, *right, foot)]


def test_a_table_is_read_row_by_row() -> None:
    rows = [("Heart rate", 50.0, 100.0), ("72 bpm", 500.0, 103.0), ("Pressure", 50.0, 130.0),
            ("142/88", 500.0, 128.0), ("Weight", 50.0, 160.0), ("80 kg", 500.0, 160.0)]  # fmt: skip
    lines = sort_lines(scan_of(*rows))
    assert [line.text for line in lines] == ["Heart rate 72 bpm", "Pressure 142/88", "Weight 80 kg"]
    assert [len(line.ocr_boxes) for line in lines] == [2, 2, 2]
    (block,) = blocks_from_pages({1: lines}, {})
    assert block.text.count("\n") == 2


@pytest.mark.parametrize(("sine", "cosine"), [(0.035, 0.9994), (-0.035, 0.9994), (1, 0), (0, -1)])
def test_the_order_is_that_of_the_text_however_the_page_lies(sine: float, cosine: float) -> None:
    rows = [(f"{word}, and some more words to read", x, y)
            for word, x, y in (("one", 50.0, 100.0), ("two", 500.0, 100.0), ("three", 50.0, 130.0),
                               ("four", 500.0, 130.0))]  # fmt: skip
    first, second = read(turned(scan_of(*rows), sine, cosine))
    assert first.startswith("one")
    assert "two" in first
    assert second.startswith("three")
    assert "four" in second


def test_what_runs_up_the_edge_is_read_last() -> None:
    rows = scan_of(*column("Line", 100))
    edge = ScannedLine("arXiv 1234", 0.9, 20, 300, 20, 200, 20)
    assert read(rows._replace(lines=(edge, *rows.lines)))[-1] == "arXiv 1234"


def test_larger_letters_are_a_heading_and_slightly_larger_boxes_are_not() -> None:
    lines = list(
        scan_of(*((f"Some words of line {n}", 50.0, 200 + 30 * n) for n in range(8))).lines
    )
    lines[2] = lines[2]._replace(height=24)
    title = ScannedLine("Tide tables", 0.99, 50, 100, 300, 100, 42)
    found = sort_lines(Scan(1_000, 1_400, (title, *lines), 0.99))
    assert [line.size / BODY_SIZE for line in found] == [2, *[1] * 8]
    assert blocks_from_pages({1: found}, {})[0].heading_level == 1
