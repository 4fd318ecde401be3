"""Where text that OCR read stands on its page."""

import pytest

from corpus.ingestion.normal_form import Outline, join_blocks
from corpus.ingestion.scanned_text import (
    boxes_of,
    confidence_of,
    find_runs,
    least_confidence,
    pack_runs,
    unpack_runs,
)
from corpus.loaders.base import Block, Place
from corpus.loaders.formats.pdf.page import Box

LEVEL = Place(15, 0.98, 1_000, 500, 5_000, 500, 200)
BELOW = Place(12, 0.61, 1_000, 800, 4_000, 800, 200)


def scanned() -> tuple[str, Outline]:
    """Two lines as one paragraph, a word parted between them, after a page of text."""
    block = Block("High water at nine, the mor\u00adning after.", page=2, places=(LEVEL, BELOW))
    return join_blocks([Block("A page of text.", page=1), block])


def test_runs_are_found_by_their_letters_whatever_stands_between() -> None:
    text, outline = scanned()
    assert [text[run.start : run.end] for run in outline.scanned] == [
        "High water at nine", "the morning af",
    ]  # fmt: skip


def test_letters_that_ran_out_have_no_run() -> None:
    _, outline = join_blocks([Block("Nine.", places=(Place(0, 1, 0, 0, 9, 0, 9), LEVEL))])
    assert outline.scanned == ()


def test_runs_are_kept_as_a_short_text() -> None:
    text, outline = scanned()
    kept = outline.to_json()
    assert len(kept["scanned"]) <= 24 * len(outline.scanned)
    again = Outline.from_json(kept)
    assert pack_runs(again.scanned) == kept["scanned"]
    assert [(run.start, run.end) for run in again.scanned] == [
        (run.start, run.end) for run in outline.scanned
    ]
    assert again.scanned[0].place[1:] == LEVEL[1:]
    assert "scanned" not in join_blocks([Block(text)])[1].to_json()
    assert unpack_runs("") == ()


def test_a_place_off_the_page_is_kept_at_its_edge() -> None:
    _, outline = join_blocks([Block("Nine", places=(Place(4, 0.5, -7, 0, 10**6, 0, 9),))])
    (run,) = unpack_runs(pack_runs(outline.scanned))
    assert (run.place.x1, run.place.x2) == (0, 65_535)


def test_the_box_of_a_part_of_a_line_is_that_part_of_its_box() -> None:
    text, outline = scanned()
    start = text.index("water")
    (box,) = boxes_of(outline.scanned, start, start + 5, width=1_000)
    assert box == Box(left=211, top=40, width=111, height=20)


def test_a_quote_over_two_lines_has_two_boxes() -> None:
    text, outline = scanned()
    start = text.index("nine")
    boxes = boxes_of(outline.scanned, start, text.index("after"), width=1_000)
    assert [box.top for box in boxes] == [40, 70]
    assert boxes_of(outline.scanned, 0, 10, width=1_000) == []


@pytest.mark.parametrize(
    ("place", "count"),
    [
        (Place(4, 1, 0, 1_000, 9_000, 1_300, 200), 3),  # two degrees
        (Place(4, 1, 500, 9_000, 500, 1_000, 200), 1),  # upwards
    ],
)
def test_a_line_that_climbs_is_marked_in_steps_as_thick_as_it_is(place: Place, count: int) -> None:
    _, outline = join_blocks([Block("Nine", places=(place,))])
    boxes = boxes_of(outline.scanned, 0, 4, width=10_000)
    assert len(boxes) == count
    assert all(min(box.width, box.height) <= 300 for box in boxes)
    longest = max(abs(place.x2 - place.x1), abs(place.y2 - place.y1))
    assert sum(max(box.width, box.height) for box in boxes) == longest


def test_a_quote_is_as_sure_as_its_least_sure_line() -> None:
    text, outline = scanned()
    packed = pack_runs(outline.scanned)
    assert confidence_of(packed, text.index("High"), text.index("nine")) == 0.98
    assert confidence_of(packed, text.index("High"), len(text)) == 0.61
    assert confidence_of(packed, 0, 4) is None
    assert confidence_of(None, 0, 4) is None
    assert least_confidence(find_runs(outline.scanned, 5, 5)) is None
