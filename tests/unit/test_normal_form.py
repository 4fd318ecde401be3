"""import pytest"""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from corpus.errors import BinaryText
from corpus.ingestion.normal_form import (
    Outline,
    boxes_of,
    confidence_of,
    find_runs,
    join_blocks,
    least_confidence,
    normalize_text,
    pack_runs,
    unpack_runs,
)
from corpus.loaders.blocks import Block, OcrBox
from corpus.loaders.formats.pdf.rendering import Box


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("a\r\nb\rc", "a\nb\nc"),
        ("\n  padded  \n\n", "padded"),
        ("one\n\n\n\n\ntwo", "one\n\ntwo"),
        ("trailing  \nspace", "trailing\nspace"),
        ("\u201cquoted\u201d \u2018so\u2019", "\u201cquoted\u201d \u2018so\u2019"),
        ("no\u00a0break", "no break"),
        ("\ufeffmarked", "marked"),
        ("cafe\u0301", "caf\u00e9"),
        ("tab\tstays", "tab\tstays"),
        ("👩‍👩‍👧‍👦 stays \u202bשלום\u202c", "👩‍👩‍👧‍👦 stays \u202bשלום\u202c"),
        ("a" * 200 + "\x0c\x07", "a" * 200),
    ],
)
def test_text_is_normalized(raw: str, expected: str) -> None:
    assert normalize_text(raw) == expected


@pytest.mark.parametrize("raw", ["a\x00b", "\x1b[31mred", "\ud800", "\x01\x02\x03 and words"])
def test_binary_is_refused(raw: str) -> None:
    with pytest.raises(BinaryText):
        normalize_text(raw)


@given(st.text(max_size=300))
def test_normalizing_twice_changes_nothing(raw: str) -> None:
    try:
        once = normalize_text(raw)
    except BinaryText:
        assume(False)
    assert normalize_text(once) == once


def test_headings_and_pages_point_into_the_joined_text() -> None:
    text, outline = join_blocks(
        [
            Block("# Coasts", heading_level=1, heading_text="Coasts", page=1),
            Block("First  \r\nparagraph."),
            Block("   "),
            Block("## Lights", heading_level=2, heading_text="Lights", page=2),
            Block("Second paragraph.", page=2),
        ]
    )
    assert text == "# Coasts\n\nFirst\nparagraph.\n\n## Lights\n\nSecond paragraph."
    assert [text[h.start : h.end] for h in outline.headings] == ["# Coasts", "## Lights"]
    assert outline.pages == ((0, 1), (text.index("## Lights"), 2))


def test_a_stray_control_in_a_short_block_does_not_refuse_the_whole() -> None:
    text, _ = join_blocks([Block("ab\x07"), Block("word " * 200)])
    assert text.startswith("ab\n\nword")


def test_neighbours_under_one_label_are_one_part_of_the_text() -> None:
    text, outline = join_blocks(
        [
            Block("Options:", labels=("Options",)),
            Block("-v", labels=("Options", "-v")),
            Block("Talk\u00a0more.", labels=("Options", "-v")),
            Block("-q", labels=("Options", "-q\u00a0x")),
            Block("After."),
            Block("-v", labels=("-v",)),
        ]
    )
    assert [(text[each.start : each.end], each.text) for each in outline.labels] == [
        ("Options:\n\n-v\n\nTalk more.\n\n-q", "Options"),
        ("-v\n\nTalk more.", "-v"),
        ("-q", "-q x"),
        ("-v", "-v"),
    ]


def test_outline_survives_its_json() -> None:
    _, outline = join_blocks(
        [Block("# A", heading_level=1, heading_text="A", page=3), Block("b", labels=("B",))]
    )
    assert Outline.from_json(outline.to_json()) == outline


def test_characters_and_pages_lead_to_each_other() -> None:
    blocks = [Block("One.", page=1), Block("Three.", page=3), Block("Three still.", page=3)]
    text, outline = join_blocks(blocks)
    assert [outline.page_at(at) for at in (0, 5, 6, len(text))] == [1, 1, 3, 3]
    spans = [outline.spans_of_page(number, char_count=len(text)) for number in (1, 2, 3)]
    assert [[text[start:end].strip() for start, end in each] for each in spans] == [
        ["One."],
        [],
        ["Three.\n\nThree still."],
    ]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("A word \u00ad\u2003 of it", "goes on."),
        ("A wo", "rd."),
        ("A \ufeffword", "\n\n\u3000(e\u0301)"),
    ],
    ids=["spaces", "within a word", "dropped"],
)
def test_a_page_that_begins_within_a_block_begins_at_its_first_character(
    first: str, second: str
) -> None:
    gap = "" if first.endswith("wo") else " "
    cut = Block(first + gap + second, page=1, page_starts=((len(first + gap), 2),))
    blocks = [Block("Before.", page=1), cut, Block("A note.", page=1), Block("After.", page=2)]
    text, outline = join_blocks(blocks)
    begins = text.index(normalize_text(second))
    assert [outline.page_at(at) for at in (begins - 1, begins, len(text) - 1)] == [1, 2, 2]
    parts = [text[start:end] for start, end in outline.spans_of_page(1, char_count=len(text))]
    assert parts == [text[:begins], "A note.\n\n"]
    assert outline.pages_of(begins - 1, begins + 1) == [1, 2]
    assert outline.pages_of(begins, begins + 1) == [2]


def test_a_page_of_which_nothing_is_left_is_none() -> None:
    _, outline = join_blocks([Block("A word \u00ad", page=1, page_starts=((7, 2),))])
    assert outline.pages == ((0, 1),)
    assert Outline().page_at(3) is None
    assert Outline().spans_of_page(1, char_count=9) == []
    assert Outline().pages_of(0, 9) == []


LEVEL = OcrBox(15, 0.98, 1_000, 500, 5_000, 500, 200)
BELOW = OcrBox(12, 0.61, 1_000, 800, 4_000, 800, 200)


def scanned() -> tuple[str, Outline]:
    """Two lines as one paragraph, a word parted between them, after a page of text."""
    block = Block("High water at nine, the mor\u00adning after.", page=2, ocr_boxes=(LEVEL, BELOW))
    return join_blocks([Block("A page of text.", page=1), block])


def test_runs_are_found_by_their_letters_whatever_stands_between() -> None:
    text, outline = scanned()
    assert [text[run.start : run.end] for run in outline.scanned] == [
        "High water at nine", "the morning af",
    ]  # fmt: skip


def test_letters_that_ran_out_have_no_run() -> None:
    _, outline = join_blocks([Block("Nine.", ocr_boxes=(OcrBox(0, 1, 0, 0, 9, 0, 9), LEVEL))])
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
    assert again.scanned[0].box[1:] == LEVEL[1:]
    assert "scanned" not in join_blocks([Block(text)])[1].to_json()
    assert unpack_runs("") == ()


def test_a_place_off_the_page_is_kept_at_its_edge() -> None:
    _, outline = join_blocks([Block("Nine", ocr_boxes=(OcrBox(4, 0.5, -7, 0, 10**6, 0, 9),))])
    (run,) = unpack_runs(pack_runs(outline.scanned))
    assert (run.box.x1, run.box.x2) == (0, 65_535)


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
        (OcrBox(4, 1, 0, 1_000, 9_000, 1_300, 200), 3),  # two degrees
        (OcrBox(4, 1, 500, 9_000, 500, 1_000, 200), 1),  # upwards
    ],
)
def test_a_line_that_climbs_is_marked_in_steps_as_thick_as_it_is(place: OcrBox, count: int) -> None:
    _, outline = join_blocks([Block("Nine", ocr_boxes=(place,))])
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
