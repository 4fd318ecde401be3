"""Names of a question that the quoted documents are not about."""

import pytest

from qa.grounding.subjects import find_other_subjects, read_names
from qa.types import Passage
from tests.support.passages import passage

SHIFT = passage("A shift lasts twelve hours.", title="On-Call", file_words="truss")
OTHER = passage(
    "Expenses are paid back within a month.",
    chunk_id="c2", document_id="d2", title="Expenses 2024", file_words="meltano",
)  # fmt: skip


def missing(question: str, quoted: Passage = SHIFT, *retrieved: Passage) -> tuple[str, ...]:
    return find_other_subjects(question, [quoted], [quoted, *retrieved])


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("How long is a shift at dxw?", []),
        ("How long is a shift at Nordlys?", ["Nordlys"]),
        ("What's GC Notify's limit, and who sets it?", ["GC Notify"]),
        ("Truss: who is on call?", ["Truss"]),
        ("Hypha's deadline for May?", ["Hypha"]),
        ("I'm new. How does the Foundation for Public Code pay?", ["Foundation for Public Code"]),
        ("Nobody answers on Monday. Why?", []),
    ],
)
def test_names_are_read_as_they_are_spelled(question: str, names: list[str]) -> None:
    assert [name.text for name in read_names(question)] == names


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How long is a shift at Truss?", ()),
        ("How long is a shift at Nordlys?", ("Nordlys",)),
        ("How long does nordlys make a shift?", ("nordlys",)),
        ("How long does anyone make a shift?", ()),
        ("How long is a shift?", ()),
    ],
)
def test_a_name_that_the_document_lacks_is_found(question: str, expected: tuple[str, ...]) -> None:
    assert missing(question) == expected


def test_a_name_of_the_question_in_the_title_is_enough() -> None:
    assert missing("Sandra asks how long a shift at Truss is?") == ()


def test_a_name_in_any_retrieved_passage_of_the_document_counts() -> None:
    elsewhere = passage("At Nordlys we take turns.", chunk_id="c3", start_char=90)
    assert missing("How long is a shift at Nordlys?", SHIFT, elsewhere) == ()


def test_an_acronym_in_the_text_is_no_subject() -> None:
    text = passage("Ten accounts may come from one IP address.", title="Rate Limits")
    assert missing("How many accounts from one IP at Nordlys?", text) == ("Nordlys",)


def test_the_subject_of_another_document_is_missed_beside_the_own_one() -> None:
    assert missing("Is a shift at Truss as long as at Meltano?", SHIFT, OTHER) == ("Meltano",)


def test_a_year_counts_only_if_another_title_has_it() -> None:
    assert missing("How long was a shift at Truss in 2024?", SHIFT, OTHER) == ("2024",)
    assert missing("How long was a shift at Truss in 2023?", SHIFT, OTHER) == ()


@pytest.mark.parametrize("text", ["Temür rules.", "The U.K. rules.", "United Kingdom rules."])
def test_another_spelling_is_the_same_name(text: str) -> None:
    name = "Temur" if text.startswith("Tem") else "UK"
    assert missing(f"Who rules for {name}?", passage(text)) == ()


def test_common_words_of_a_longer_name_do_not_make_it_known() -> None:
    library = passage("Our university has a library.")
    question = "Who leads the Princeton University Library?"
    assert missing(question, library) == ("Princeton University Library",)


def test_a_text_sent_with_the_question_has_no_subject() -> None:
    selected = passage("A shift lasts twelve hours.", is_selected=True)
    assert missing("How long is a shift at Nordlys?", selected) == ()
