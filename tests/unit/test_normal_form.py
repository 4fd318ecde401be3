import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from corpus.errors import BinaryText
from corpus.ingestion.normal_form import Outline, join_blocks, normalize_text
from corpus.loaders.base import Block


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
            Block("Options:", under=("Options",)),
            Block("-v", under=("Options", "-v")),
            Block("Talk\u00a0more.", under=("Options", "-v")),
            Block("-q", under=("Options", "-q\u00a0x")),
            Block("After."),
            Block("-v", under=("-v",)),
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
        [Block("# A", heading_level=1, heading_text="A", page=3), Block("b", under=("B",))]
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


def test_a_page_of_which_nothing_is_left_does_not_begin() -> None:
    _, outline = join_blocks([Block("A word \u00ad", page=1, page_starts=((7, 2),))])
    assert outline.pages == ((0, 1),)


def test_a_text_without_pages_has_none() -> None:
    assert Outline().page_at(3) is None
    assert Outline().spans_of_page(1, char_count=9) == []
    assert Outline().pages_of(0, 9) == []
