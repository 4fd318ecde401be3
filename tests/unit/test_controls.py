"""Statements of which it is known whether they are true."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa.grounding.controls import falsify, find_unrelated


@pytest.mark.parametrize(
    ("text", "false"),
    [
        ("It is 31 metres tall.", "It is 68 metres tall."),
        ("It is 3.5 metres tall.", "It is 40 metres tall."),
        ("Version 1.2.3 needs 4 cores.", "Version 1.2.3 needs 41 cores."),
        ("The port is open.", "The port is not open."),
        ("The port is not open.", "The port is open."),
        ("In May it MUST  not rain.", "In May it MUST rain."),
        ("It can't rain, and will snow.", "It can't rain, and will not snow."),
    ],
)
def test_a_number_is_changed_or_the_statement_turned_around(text: str, false: str) -> None:
    assert falsify(text) == false


@pytest.mark.parametrize(
    "text", ["", "Rye grows here.", "See v2.", "It isn't so.", "He can\u2019t.", "9" * 400, "5th"]
)
def test_what_has_neither_number_nor_verb_to_turn_makes_no_false_statement(text: str) -> None:
    assert falsify(text) == ""


@pytest.mark.parametrize("number", [2**53 + 37, 2**60 + 37, 10**25 + 37, 999_999_999_999_999])
def test_a_number_of_many_digits_never_stays_the_same(number: int) -> None:
    assert falsify(f"It has {number}.") != f"It has {number}."


WORDS = st.sampled_from([
    "is", "Is", "not", "may", "May", "can't", "has", "31", "3.5", "3.", "1,000", "\u0663", "v2",
    "rye", "-7", "1.2.3", "do", "007", "9" * 15, "9" * 16, "\n", ",",
])  # fmt: skip


@given(st.lists(WORDS).map(" ".join) | st.text())
def test_a_false_statement_differs_in_a_number_or_in_not(text: str) -> None:
    false = falsify(text)
    assert false != text or text == ""
    if false:
        numbers, others = (re.findall(r"\d+(?:\.\d+)?", each) for each in (text, false))
        nots, turned = (re.findall(r"\bnot\b", each) for each in (text, false))
        assert (numbers != others) != (len(nots) != len(turned))


EVIDENCE = "The lighthouse at Bavoke was built in 1874 by the engineer Orsolya Quill."
BAKERY = "The bakery in Lindow opens at five in the morning."


def test_a_statement_of_another_matter_is_unrelated() -> None:
    alike = "The lighthouse keeper was an engineer at Bavoke."
    assert find_unrelated(EVIDENCE, [alike, BAKERY]) == BAKERY
    assert find_unrelated(EVIDENCE, []) == ""


@pytest.mark.parametrize("other", [EVIDENCE, "It is.", "Rye is dark.", ""])
def test_what_says_the_same_or_next_to_nothing_is_not_unrelated(other: str) -> None:
    assert find_unrelated(EVIDENCE, [other]) == ""


def test_a_question_is_not_turned_around_but_what_is_stated() -> None:
    asked = "Can I stop it? Yes: this will end all jobs."
    assert falsify(asked) == "Can I stop it? Yes: this will not end all jobs."
    assert falsify("Can I stop it?") == ""
