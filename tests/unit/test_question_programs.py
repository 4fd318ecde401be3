"""What is taken of a language model's phrasings of a question."""

from typing import Any

import pytest

from qa.answerers.question_programs import MAX_PHRASING_CHARS, as_line, clean_phrasings

QUESTION = "How tall is the tower?"


def clean(values: object, *, count: int = 4) -> tuple[str, ...]:
    return clean_phrasings(values, question=QUESTION, count=count)


def test_phrasings_stay_in_their_order_and_at_most_so_many_are_taken() -> None:
    given = ["What is its height?", "How high is it?", "How many metres is it?"]
    assert clean(given) == tuple(given)
    assert clean(given, count=2) == tuple(given[:2])


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (["What is\n its\t height?"], ("What is its height?",)),
        (["", " \n", "?", " ?! "], ()),
        ([QUESTION, "HOW TALL IS THE TOWER", " how tall is the tower ?"], ()),
        (["How high?", "how HIGH?", "How high"], ("How high?",)),
        (["Wie groß?", "WIE GROSS?"], ("Wie groß?",)),
        (["h" * MAX_PHRASING_CHARS, "i" * (MAX_PHRASING_CHARS + 1)], ("h" * MAX_PHRASING_CHARS,)),
        (["How\x00high\x1b?", "How \ud800wide?"], ("How high ?", "How wide?")),
    ],
    ids=["one line", "empty", "itself", "twice", "folded", "long", "controls"],
)
def test_what_cannot_be_searched_for_is_left_out(given: list[str], kept: tuple[str, ...]) -> None:
    assert clean(given) == kept


@pytest.mark.parametrize(
    "values",
    [None, "How high is it?", 7, {"How high": 1}, [None, 7, ["How high?"], {}]],
    ids=["nothing", "text", "number", "mapping", "no texts"],
)
def test_an_output_of_another_shape_has_no_phrasings(values: Any) -> None:
    assert clean(values) == ()


def test_what_is_left_out_takes_no_place() -> None:
    assert clean([QUESTION, "", "How high?", "how high?", "How wide?"], count=2) == (
        "How high?",
        "How wide?",
    )


def test_a_line_keeps_the_letters_of_every_script() -> None:
    assert as_line(" می\u200cخواهم\r\n塔は 何メートル？ ") == "می\u200cخواهم 塔は 何メートル？"
