"""What is said of a passage around the part that answers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.sentences import sentence_spans
from qa.answerers.excerpt import NEEDED_WORDS, find_excerpt

PLAIN = "The mill is of oak. The wheel is of iron. Rye is ground there. Anna Holt owns all."
ITEMS = "There are three:\n- The wheel is of iron.\n- The mill is of oak. Worms eat oak.\n- Rye."
ROWS = "| part | of |\n|---|---|\n| wheel | iron |\n| mill | oak |\n| sail | linen |\n"
HEADINGS = "# Mill\nThe mill is of oak.\n\n## Wheel\nThe wheel is of iron. Rye is ground."
# Of these, any text is made that has headings, items, rows and what needs its neighbours.
PIECES = [
    "Rye is ground. ", "It is dark. ", "What is it? ", "These are:", "e.g. ", "word ", " ", "?",
    "- oak\n", "2) iron\n", "| a | b |\n", "\n\n", "\n", "# Mill\n", "\n## Wheel\n", "\u3002",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES), max_size=25).map("".join)


def excerpt(text: str, answer: str, *, most_words: int = 99) -> str:
    at = text.index(answer)
    start, end = find_excerpt(text, (at, at + len(answer)), most_words=most_words)
    return text[start:end]


def test_the_sentence_that_answers_is_said() -> None:
    assert excerpt(PLAIN, "iron", most_words=5) == "The wheel is of iron."


def test_all_sentences_that_the_answer_touches_are_said_however_long() -> None:
    said = excerpt(PLAIN, "iron. Rye", most_words=1)
    assert said == "The wheel is of iron. Rye is ground there."


@pytest.mark.parametrize(
    ("most_words", "last"), [(8, "iron."), (9, "there."), (12, "there."), (13, "all.")]
)
def test_what_is_behind_is_said_as_long_as_there_is_room(most_words: int, last: str) -> None:
    said = excerpt(PLAIN, "iron", most_words=most_words)
    assert said.startswith("The wheel")
    assert said.endswith(last)


def test_what_is_in_front_is_said_after_what_is_behind() -> None:
    assert excerpt(PLAIN, "iron", most_words=17).startswith("The wheel")
    assert excerpt(PLAIN, "iron", most_words=18) == PLAIN
    assert excerpt(PLAIN, "Anna", most_words=8) == "Rye is ground there. Anna Holt owns all."


@pytest.mark.parametrize("leaning", ["It grinds rye.", "However, rye is dear.", "If not, wait."])
def test_what_leans_on_the_sentence_before_it_has_that_too(leaning: str) -> None:
    text = f"Rye is rare. The mill is of oak. {leaning}"
    assert excerpt(text, leaning, most_words=3) == f"The mill is of oak. {leaning}"


def test_a_word_that_only_begins_like_one_that_leans_stands_alone() -> None:
    text = "The mill is of oak. Italy has others."
    assert excerpt(text, "Italy", most_words=3) == "Italy has others."


@pytest.mark.parametrize("leading", ["Who owns it?", "Owners are:"])
def test_what_leads_on_to_the_sentence_behind_it_has_that_too(leading: str) -> None:
    text = f"The mill is of oak. {leading}\n\nAnna Holt does.\n\nRye is ground."
    assert excerpt(text, leading, most_words=3) == f"{leading}\n\nAnna Holt does."


@pytest.mark.parametrize(("words", "is_said"), [(NEEDED_WORDS, True), (NEEDED_WORDS + 1, False)])
def test_what_is_needed_is_left_out_where_it_is_too_long(words: int, is_said: bool) -> None:
    needed = " ".join(["word"] * words) + "."
    for text in (f"{needed} It grinds rye.", f"Is rye ground? {needed}"):
        assert (excerpt(text, "rye", most_words=3) == text) is is_said


@pytest.mark.parametrize("alone", ["It grinds rye.", "Is it so?"])
def test_what_has_no_neighbour_to_need_stands_alone(alone: str) -> None:
    assert excerpt(alone, alone, most_words=1) == alone


def test_an_item_is_said_whole_without_its_neighbours() -> None:
    assert excerpt(ITEMS, "mill") == "- The mill is of oak. Worms eat oak."


def test_what_goes_on_with_an_item_is_said_without_other_items() -> None:
    said = excerpt(ITEMS, "Worms")
    assert said.endswith("Worms eat oak.")
    assert "wheel" not in said


def test_the_first_item_goes_with_what_leads_to_it() -> None:
    assert excerpt(ITEMS, "iron") == "There are three:\n- The wheel is of iron."


def test_what_leads_to_a_list_goes_with_its_items() -> None:
    assert excerpt(ITEMS, "three") == ITEMS


@pytest.mark.parametrize("rows", [ROWS, ROWS.replace(" ", "")], ids=["padded", "tight"])
@pytest.mark.parametrize(("answer", "number"), [("iron", 2), ("oak", 3), ("linen", 4)])
def test_a_row_is_said_without_its_neighbours(rows: str, answer: str, number: int) -> None:
    assert excerpt(rows, answer) == rows.splitlines()[number]


def test_a_paragraph_behind_a_list_is_no_item() -> None:
    text = "- The mill is of oak.\n\nRye is ground. Wheat is too."
    assert excerpt(text, "Rye") == text


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("oak", "The mill is of oak."),
        ("iron", "The wheel is of iron. Rye is ground."),
        ("Mill", "The mill is of oak."),
        ("Wheel", "The wheel is of iron. Rye is ground."),
    ],
)
def test_a_heading_is_neither_said_nor_crossed(answer: str, said: str) -> None:
    assert excerpt(HEADINGS, answer) == said


@pytest.mark.parametrize("text", ["", "\n\n", "# The mill is of oak.", "# Mill\n\n## Oak\n"])
def test_a_text_without_statements_is_said_as_it_stands(text: str) -> None:
    assert excerpt(text, "") == text


def test_without_a_part_that_answers_the_beginning_is_said() -> None:
    assert excerpt(PLAIN, "", most_words=5) == "The mill is of oak."


@given(text=TEXTS, data=st.data(), most_words=st.integers(1, 30))
def test_an_excerpt_is_a_run_of_sentences_around_the_answer(
    text: str, data: st.DataObject, most_words: int
) -> None:
    at = data.draw(st.integers(0, len(text)), label="start")
    to = data.draw(st.integers(at, len(text)), label="end")
    start, end = find_excerpt(text, (at, to), most_words=most_words)
    sentences = sentence_spans(text)
    headings = [span for span in sentences if text.startswith("#", span[0])]
    if len(headings) == len(sentences):
        assert (start, end) == (0, len(text))
        return
    said = [span for span in sentences if start <= span[0] and span[1] <= end]
    touched = [span for span in sentences if span[1] > at and span[0] < to and span not in headings]
    behind = min((span[0] for span in headings if span[0] > at), default=len(text))

    assert said
    assert (start, end) == (said[0][0], said[-1][1])
    assert not set(said) & set(headings)
    assert {span for span in touched if span[1] <= behind} <= set(said)
    if len(said) > max(1, len(touched)):
        assert len(text[start:end].split()) <= most_words + NEEDED_WORDS
