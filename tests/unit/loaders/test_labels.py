import pytest

from corpus.loaders.blocks import Block
from corpus.loaders.labels import MAX_LABEL_CHARS, label_blocks, normalize_label


def named(*texts: str) -> list[tuple[str, ...]]:
    return [block.labels for block in label_blocks([Block(text) for text in texts])]


def test_a_caption_goes_with_all_pieces_of_its_table() -> None:
    caption = "Table 3. Signals"
    rows = "| Signal | Effect |\n| --- | --- |\n| HUP | reload |"
    assert named(caption, rows, "Text.") == [(caption,), (caption, "Signal | Effect"), ()]
    rows = "| Signal |\n| --- |\n| HUP |"
    assert [labels[0] for labels in named("Table 3. Signals", rows, rows)] == [
        "Table 3. Signals"
    ] * 3


def test_a_caption_above_a_heading_names_nothing() -> None:
    blocks = label_blocks([Block("Figure 1. A duck"), Block("# Next", 1, "Next")])
    assert [b.labels for b in blocks] == [(), ()]


def test_a_table_is_under_its_header() -> None:
    assert named("| Signal | Effect |\n|:--|--:|\n| HUP | reload |") == [("Signal | Effect",)]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("-s, --silent  Say nothing.", "-s, --silent"),
        ("--level LEVEL\nHow much to say.", "--level LEVEL"),
        ("-q Disable all output, of whatever kind, that is not needed by anyone at all.", "-q"),
        ("term\n    What it means.", "term"),
        ("Term\n: What it means.", "Term"),
        ("``size``\n  In bytes.", "size"),
        (".. option:: --dry-run\n\n   Only tell.", "--dry-run"),
        (".. py:function:: sort(items)\n   Sort them.", "sort(items)"),
        ("**Cache** size\n  In bytes.", "Cache size"),
    ],
)
def test_options_terms_and_described_objects_name_their_block(text: str, name: str) -> None:
    assert named(text) == [(name,)]


@pytest.mark.parametrize(
    "text",
    [
        "- item\n  that goes on",
        "1. step\n   that goes on",
        "```sh\n  ls\n```",
        "A line of prose that is wrapped, and therefore much longer than a term,\n  and goes on",
        "Note: this is\n  what it is",
        ".. note:: Beware\n   of this",
        "if x:\n    pass",
        "One line.\nAnother.",
    ],
)
def test_items_listings_and_prose_name_nothing(text: str) -> None:
    assert named(text) == [()]


def test_what_is_further_in_is_under_the_term_above_up_to_a_heading() -> None:
    assert named("term\n   First.", "   Second.", "Text.") == [("term",), ("term",), ()]
    blocks = [Block("term\n   First."), Block("# Next", 1, "Next"), Block("   Second.")]
    assert [b.labels for b in label_blocks(blocks)] == [("term",), (), ()]


def test_a_term_that_the_loader_knows_is_not_said_twice() -> None:
    assert label_blocks([Block("-v", labels=("-v",))])[0].labels == ("-v",)


def test_a_label_is_one_line_without_marks() -> None:
    assert normalize_label(" **size**\n of the [cache](cache.md)¶ ") == "size of the cache"
    assert normalize_label("x" * (MAX_LABEL_CHARS + 1)) == ""
