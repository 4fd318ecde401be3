import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.errors import UnreadableFile
from corpus.loaders.blocks import Block
from corpus.loaders.formats.markdown_loader import markdown_blocks
from tests.unit.loaders.sample_files import headings, loaded, texts

pytestmark = pytest.mark.usefixtures("in_process")


def test_headings_keep_their_source_and_know_their_words() -> None:
    blocks = markdown_blocks("# A *big* `title`\n\nText\n\n### Third ###\n")
    assert blocks == (
        Block("# A *big* `title`", 1, "A big title"),
        Block("Text"),
        Block("### Third ###", 3, "Third"),
    )


def test_underlined_headings_are_headings() -> None:
    blocks = markdown_blocks("One\n===\n\nTwo\n---\ntext")
    assert blocks[0] == Block("One\n===", 1, "One")
    assert blocks[1] == Block("Two\n---", 2, "Two")


@pytest.mark.parametrize("level", range(1, 7))
def test_all_six_levels_are_known(level: int) -> None:
    (block,) = markdown_blocks("#" * level + " Title")
    assert (block.heading_level, block.heading_text) == (level, "Title")


def test_a_heading_in_a_listing_and_an_empty_one_are_none() -> None:
    (block,) = markdown_blocks("```sh\n# a comment\n```")
    assert block.heading_level is None
    assert markdown_blocks("#\n\ntext") == (Block("#"), Block("text"))


@pytest.mark.parametrize("source", ["**Where logs go**", "__Where logs go__"])
def test_a_paragraph_of_one_bold_line_is_a_heading_of_the_lowest_level(source: str) -> None:
    blocks = markdown_blocks(f"{source}\n\nTo a file.")
    assert blocks[0] == Block(source, 6, "Where logs go")


@pytest.mark.parametrize("source", ["**Never.**", "**a** and **b**", "**a**\n**b**", "**a** b"])
def test_bold_sentences_and_words_are_no_headings(source: str) -> None:
    assert markdown_blocks(source)[0].heading_level is None


def test_each_top_level_piece_is_a_block_as_written() -> None:
    source = (
        "A paragraph\nof two lines.\n\n- one\n- two\n  - deep\n\n| a | b |\n|---|---|\n| 1 | 2 |"
    )
    assert [block.text for block in markdown_blocks(source)] == source.split("\n\n")


def test_lines_that_only_look_like_link_definitions_are_kept() -> None:
    assert "[Ann]: hello" in "\n".join(b.text for b in markdown_blocks("Hi\n\n[Ann]: hello\n\nBye"))


@given(st.lists(st.text(st.sampled_from("ab #>-*`[]()|=\n\t1."), max_size=40), max_size=8))
def test_no_line_is_lost(pieces: list[str]) -> None:
    source = "\n\n".join(pieces)
    found = "\n".join(block.text for block in markdown_blocks(source))
    assert "".join(found.split()) == "".join(source.split())


def test_front_matter_gives_title_tags_and_metadata() -> None:
    document = loaded(
        "---\ntitle: On Ducks\ntags: [birds, Water]\ndate: 2024-05-01\nchapter: 3\n"
        "rating: 4.5\nnested: {a: [1]}\n---\n# Heading\n\nText\n",
        "a.md",
    )
    assert document.title == "On Ducks"
    assert document.tags == ("birds", "Water")
    assert document.chapter == "3"
    assert document.metadata == {"created": "2024-05-01", "rating": 4.5, "nested": {"a": [1]}}
    assert texts(document) == ["# Heading", "Text"]


def test_tags_may_be_one_line_and_stand_under_several_names() -> None:
    document = loaded("---\ntags: a, b\ncategories: [b, c]\n---\nText", "a.md")
    assert document.tags == ("a", "b", "c")


def test_keywords_of_front_matter_are_metadata() -> None:
    document = loaded("---\ntags: a\nkeywords: [b, c]\n---\nText", "a.md")
    assert (document.tags, document.metadata) == (("a",), {"keywords": ["b", "c"]})


def test_toml_front_matter_is_read() -> None:
    document = loaded('+++\ntitle = "Ducks"\ntags = ["a"]\n+++\nText', "a.md")
    assert (document.title, document.tags, texts(document)) == ("Ducks", ("a",), ["Text"])


@pytest.mark.parametrize(
    "source", ["---\n\nText between rules\n\n---\n", "---\nnot: [valid\n---\nText", "Text\n---\n"]
)
def test_what_only_begins_like_front_matter_stays_text(source: str) -> None:
    assert "".join("".join(texts(loaded(source, "a.md"))).split()) == "".join(source.split())


def test_yaml_aliases_are_refused() -> None:
    with pytest.raises(UnreadableFile, match="aliases"):
        loaded("---\na: &a [x]\nb: [*a, *a]\n---\nText", "a.md")


def test_deeply_nested_front_matter_is_refused() -> None:
    with pytest.raises(UnreadableFile, match="nested"):
        loaded("---\na: " + "[" * 5000 + "\n---\nText", "a.md")


def test_the_title_of_last_resort_is_the_first_heading_then_the_file_name() -> None:
    assert loaded("## Part\n\ntext", "notes.md").title == "Part"
    assert loaded("text\n\n# Late", "notes.md").title == "Late"
    assert loaded("text\n\n## Deep", "notes.md").title == "notes"


def test_windows_line_ends_make_no_difference() -> None:
    document = loaded("# A\r\n\r\nText\r\nmore\r\n", "a.md")
    assert texts(document) == ["# A", "Text\nmore"]
    assert headings(document) == [(1, "A")]
