"""The pieces of a text that can be quoted, and what each needs to be understood."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.sentences import is_marker
from qa.segments import (
    MAX_CODE_CHARS,
    MAX_NAME_WORDS,
    Kind,
    Segment,
    earlier_steps,
    list_start,
    split_segments,
)

MANUAL = """# Mill

The mill is of oak. It is old.

To start it:

1. Open the gate.
   - Lift the bar.
     Mind your hands.
   - Turn the wheel.
2. Wait.

| part | of |
|------|----|
| wheel | iron |

```sh
grind --rye

grind --oats
```
"""


def kinds(text: str) -> list[tuple[Kind, str]]:
    return [(each.kind, text[slice(*each.span)]) for each in split_segments(text)]


def segment(text: str, begins: str) -> Segment:
    return next(each for each in split_segments(text) if text.startswith(begins, each.start))


def needs(text: str, begins: str) -> list[str]:
    return [text[slice(*span)] for span in segment(text, begins).needs]


def test_a_text_is_cut_into_headings_sentences_items_rows_and_code() -> None:
    assert kinds(MANUAL) == [
        (Kind.HEADING, "# Mill"),
        (Kind.SENTENCE, "The mill is of oak."),
        (Kind.SENTENCE, "It is old."),
        (Kind.SENTENCE, "To start it:"),
        (Kind.ITEM, "1. Open the gate."),
        (Kind.ITEM, "- Lift the bar."),
        (Kind.SENTENCE, "Mind your hands."),
        (Kind.ITEM, "- Turn the wheel."),
        (Kind.ITEM, "2. Wait."),
        (Kind.ROW, "| part | of |"),
        (Kind.RULE, "|------|----|"),
        (Kind.ROW, "| wheel | iron |"),
        (Kind.CODE, "```sh\ngrind --rye\n\ngrind --oats\n```"),
    ]


@pytest.mark.parametrize("text", ["", " \n\n ", "1.", "-\n"])
def test_what_says_nothing_has_no_segments(text: str) -> None:
    assert split_segments(text) == ()


@pytest.mark.parametrize("item", ["- oak", "* oak", "+ oak", "\u2022 oak", "12. oak", "3) oak"])
def test_a_mark_makes_an_item(item: str) -> None:
    assert kinds(item) == [(Kind.ITEM, item)]


@pytest.mark.parametrize("text", ["-oak", "1.5 m of oak", "1874 was dry", "a. oak"])
def test_what_only_looks_like_a_mark_makes_none(text: str) -> None:
    assert [kind for kind, _ in kinds(text)] == [Kind.SENTENCE]


@pytest.mark.parametrize("row", ["|---|---|", "| :-- | --: |", "|-"])
def test_the_row_under_a_header_is_a_rule(row: str) -> None:
    assert kinds(row) == [(Kind.RULE, row)]


@pytest.mark.parametrize("row", ["| a - b |", "|   |", "| - a |"])
def test_a_row_with_words_or_nothing_is_no_rule(row: str) -> None:
    assert kinds(row) == [(Kind.ROW, row)]


def test_headings_begin_sections() -> None:
    found = split_segments("Before.\n\n# One\nSaid.\n\n## Two\nSaid again.")
    assert [each.section for each in found] == [0, 1, 1, 2, 2]


def test_an_item_has_its_indent_and_what_goes_on_with_it_is_of_the_list() -> None:
    found = split_segments("- one\n   - two. More.\n\nRye is ground.")
    assert [(each.indent, each.is_listed) for each in found] == [
        (0, True), (3, True), (0, True), (0, False),
    ]  # fmt: skip
    assert [each.begins_block for each in found] == [True, False, False, True]


@pytest.mark.parametrize("text", ["It is old.", "However, it is.", "If not, wait.", "No."])
def test_a_sentence_that_refers_to_the_one_before_leans(text: str) -> None:
    assert segment(text, text).refers_back


@pytest.mark.parametrize("text", ["Italy is old.", "If it rains, wait.", "Nobody knows."])
def test_a_sentence_that_only_begins_like_one_that_leans_does_not(text: str) -> None:
    assert not segment(text, text).refers_back


@pytest.mark.parametrize(
    ("text", "leads"),
    [("Who?", True), ("Parts:", True), ("**Parts:**", True), ("`a:`", True), ("Oak.", False)],
)
def test_a_colon_or_question_leads_to_what_follows(text: str, leads: bool) -> None:
    assert segment(text, text).is_lead_in is leads


OUTLINE = "Of these.\n\n- a\n  - b\n    - c\n  - d\n    - e\n- f"
TABLES = "- rye\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n| c | d |\n|---|---|\n| 3 | 4 |\n\n- oats"
LOOK = "Do this:\n\n1. Look:\n\n   | a |\n   |---|\n   | 1 |\n\n2. Wait."
PARTS = "A mill.\n\n- Parts are these:\n  | wheel | iron |\n  | mill | oak |\n  - rye"
CODE = "Rye is ground.\n\nRun this:{}```\ngrind\n```\n\nThat is all."
OPTIONS = "**--rye**\n\nGrinds rye.\n\n--oats\n\n- Grinds oats."
SECTIONS = "These are:\n\n# Rye\n\n- dark\n## Bread\n  - old\n\nThose are:\n## Oats\n- pale"
NEEDS = {
    "an item, what leads to its list": (MANUAL, "1.", ["To start it:"]),
    "a later item too": (MANUAL, "2.", ["To start it:"]),
    "an inner item, the item around it": (MANUAL, "- Turn", ["To start it:", "1. Open the gate."]),
    "what goes on with an item, the item": (
        MANUAL, "Mind", ["To start it:", "1. Open the gate.", "- Lift the bar."]
    ),
    "outer items only": (OUTLINE, "- c", ["- a", "- b"]),
    "no earlier item beside it": (OUTLINE, "- e", ["- a", "- d"]),
    "no sentence that leads to nothing": (OUTLINE, "- f", []),
    # How far in the first one stood is not known.
    "no item that the text begins with": ("- a\n  - b", "- b", []),
    "a row, its header": (MANUAL, "| wheel", ["| part | of |"]),
    "a header, nothing": (MANUAL, "| part", []),
    "a rule, nothing": (MANUAL, "|---", []),
    "a row of no header, nothing": ("| wheel | iron |\n| mill | oak |", "| mill", []),
    "a row alone, nothing": ("| wheel | iron |", "| wheel", []),
    "the header of the first table": (TABLES, "| 1", ["| a | b |"]),
    "the header of the second table": (TABLES, "| 3", ["| c | d |"]),
    "no table before an item": (TABLES, "- oats", []),
    "a table within an item": (LOOK, "| 1", ["Do this:", "1. Look:", "| a |"]),
    "the list that goes on behind it": (LOOK, "2.", ["Do this:"]),
    "a row within an item, the item": (PARTS, "| mill", ["- Parts are these:"]),
    "an item behind that row": (PARTS, "- rye", ["- Parts are these:"]),
    "what stands behind a row on its line": ("- a\n| b |\ncd. Ef.", "Ef.", ["| b |"]),
    "code, what leads to it": (CODE.format("\n"), "```", ["Run this:"]),
    "code behind an empty line": (CODE.format("\n\n"), "```", ["Run this:"]),
    "no code before a sentence": (CODE.format("\n"), "That", []),
    "what explains a name, the name": (OPTIONS, "Grinds rye", ["**--rye**"]),
    "an item that explains a name": (OPTIONS, "- Grinds", ["--oats"]),
    "a name, nothing": (OPTIONS, "--oats", []),
    **{
        f"nothing across a heading: {begins}": (SECTIONS, begins, [])
        for begins in ("# Rye", "- dark", "- old", "## Oats", "- pale")
    },
}  # fmt: skip


@pytest.mark.parametrize(("text", "begins", "needed"), NEEDS.values(), ids=NEEDS)
def test_a_segment_needs_what_it_is_not_understood_without(
    text: str, begins: str, needed: list[str]
) -> None:
    assert needs(text, begins) == needed


@pytest.mark.parametrize(
    "before",
    ["It is old.", "Rye, oats,", " ".join(["word"] * (MAX_NAME_WORDS + 1)), "# Rye", "- Rye"],
)
def test_what_names_nothing_is_not_needed(before: str) -> None:
    assert needs(f"{before}\n\nGrinds rye.", "Grinds") == []


def test_a_row_is_one_piece_however_many_sentences_its_cells_have() -> None:
    row = "| Oak. It is old | Lasts. |"
    assert kinds(f"{row}\n{row}\nRye.") == [
        (Kind.ROW, row), (Kind.ROW, row), (Kind.SENTENCE, "Rye."),
    ]  # fmt: skip


def test_a_mark_without_an_item_is_left_out() -> None:
    assert kinds("1. Oak.\n2.") == [(Kind.ITEM, "1. Oak.")]


def test_code_is_one_piece_up_to_its_own_mark() -> None:
    code = "```\nOne. Two.\n\n# three\n- four\n```"
    text = f"Before.\n{code}\nBehind it. All."
    assert [said for _, said in kinds(text)] == ["Before.", code, "Behind it.", "All."]
    twice = f"{code}\n{code.replace('`', '~')}"
    assert [kind for kind, _ in kinds(twice)] == [Kind.CODE, Kind.CODE]
    code = "```\nrye\n~~~\n```sh\n```"
    assert kinds(f"{code}\nOak.") == [(Kind.CODE, code), (Kind.SENTENCE, "Oak.")]


def test_code_within_an_item_is_of_the_list() -> None:
    text = "1. Run:\n   ```\n   grind\n   ```\n2. Wait."
    assert [each.is_listed for each in split_segments(text)] == [True, True, True]
    assert needs(text, "```") == ["1. Run:"]


@pytest.mark.parametrize(
    "text",
    [
        "```\nOne. Two.",
        f"```\nOne. {'A ' * MAX_CODE_CHARS}\n```",
    ],
    ids=["without end", "long"],
)
def test_code_that_does_not_end_or_is_long_is_cut_like_other_text(text: str) -> None:
    assert len(split_segments(text)) == 2


def test_a_list_begins_with_its_first_item() -> None:
    found = split_segments(MANUAL)
    begins = [list_start(found, at) for at in range(len(found))]
    assert begins == [0, 1, 2, 3, 4, 4, 4, 4, 4, 9, 9, 9, 12]


def steps_before(text: str, begins: str) -> list[str]:
    found = split_segments(text)
    at = found.index(segment(text, begins))
    return [text[slice(*each.span)] for each in earlier_steps(text, found, at)]


def test_the_steps_before_a_step_are_all_from_the_first_on() -> None:
    text = "To do:\n(1) Stop.\n   1. Lock.\n(2) Lift. Mind it.\n\n(3) Go."
    text = text.replace("(", "").replace(")", ".")
    assert steps_before(text, "3.") == ["1. Stop.", "2. Lift."]
    assert steps_before(text, "1. Stop") == []


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        ("2. Lift.\n3. Go.", "3."),
        ("1. Stop.\n\nThen rest.\n\n2. Go.", "2."),
        ("- Stop.\n- Go.", "- Go"),
        ("Stop. Go.", "Go"),
        ("1. Stop.\n3. Go.", "3."),
    ],
    ids=["none is the first", "another list", "no numbers", "no list", "one is missing"],
)
def test_without_all_of_the_steps_before_it_a_step_has_none(text: str, begins: str) -> None:
    assert steps_before(text, begins) == []


PIECES = [
    "Rye is ground. ", "It is dark. ", "What is it? ", "These are:", "e.g. ", "word ", " ", "?",
    "- oak\n", "  - elm\n", "    more\n", "2) iron\n", "1. ", "\n3. ", "| --- |\n", "| a | b |\n",
    "\n\n", "\n", "# Mill\n", "\n## Wheel\n", "\u3002", "```\n", "\n```sh\n", "~~~\n", "  ```\n",
    "--rye\n",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES), max_size=25).map("".join)


@given(TEXTS)
def test_segments_are_in_order_and_hold_every_word_but_lone_marks(text: str) -> None:
    found = split_segments(text)
    at = 0
    for each in found:
        left_out = text[at : each.start]
        assert all(is_marker(piece) for piece in left_out.split())
        assert at <= each.start < each.end
        said = text[slice(*each.span)]
        assert said == said.strip()
        at = each.end
    assert all(is_marker(piece) for piece in text[at:].split())


@given(TEXTS)
def test_what_is_needed_are_segments_before_it_in_order(text: str) -> None:
    found = split_segments(text)
    spans = [each.span for each in found]
    for at, each in enumerate(found):
        assert list(each.needs) == [span for span in spans[:at] if span in each.needs]
        assert {found[spans.index(span)].section for span in each.needs} <= {each.section}
