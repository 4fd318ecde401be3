"""A reading within a table is moved to the row and the column that the question names."""

from dataclasses import replace

import pytest

from qa.table_answers import OTHER_ROW, mark_named_cells
from qa.types import Passage, Reading

PLAN = """The plan:

| Week | Primary | Backup |
|---|---|---|
| 48 | Aiko Tanaka | Ben Osei |
| 49 | Ben Osei | Clara Voss |
| 50 | Clara Voss |  |

Shifts start on Monday."""
SHEET = "Week: 48; Primary: Aiko Tanaka\n\nWeek: 49; Primary: Ben Osei"


def marked(question: str, words: str, text: str = PLAN) -> str:
    """Return what is marked for a question whose reader marked these words."""
    start = text.index(words) if words else 0
    passage = Passage("c", "d", "", "", "", (), None, text, 0, len(text))
    read = replace(passage, reading=Reading(3.0, start, start + len(words), margin=2.0))
    reading = mark_named_cells(question, [read])[0].reading
    assert reading is not None
    assert (reading.score, reading.margin) == (3.0, 2.0)
    return text[reading.start : reading.end]


@pytest.mark.parametrize(
    ("question", "words", "right"),
    [
        ("Who is on call in week 49?", "Aiko Tanaka", "49 | Ben Osei | Clara Voss"),
        ("Who is the backup in week 49?", "Aiko Tanaka", "Clara Voss"),
        ("Who is the backup in week 49?", "49 | Ben Osei", "Clara Voss"),
        ("Who is on call in week 48?", "Aiko Tanaka", "Aiko Tanaka"),
        ("Who is the backup in week 50?", "Aiko Tanaka", "50 | Clara Voss"),
    ],
)
def test_the_named_row_and_column_are_marked(question: str, words: str, right: str) -> None:
    assert marked(question, words).strip("| ") == right.strip("| ")


def test_the_named_row_of_a_sheet_is_marked() -> None:
    assert marked("Who is primary in week 49?", "Aiko Tanaka", SHEET) == "Ben Osei"


TOOLS = """Tool: Trimmer; Number: HT-05; Serviced: 2026-04-02

Tool: Trimmer; Number: HT-06; Serviced: 2025-11-20

Tool: Press; Number: AP-01; Serviced: 2026-08-19"""


@pytest.mark.parametrize(
    ("question", "right"),
    [
        ("When was trimmer HT-06 serviced?", "2025-11-20"),
        ("When was HT-05 serviced?", "2026-04-02"),
        ("When was the press serviced?", "2026-08-19"),
        ("When was the trimmer serviced?", "2026-04-02"),
    ],
)
def test_an_identifier_in_any_column_names_the_row(question: str, right: str) -> None:
    assert marked(question, "2026-04-02", TOOLS) == right


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("Who is on call now?", "Aiko Tanaka"),  # no row is named
        ("Who is on call in week 48 and 49?", "Aiko Tanaka"),  # two are
        ("When does week 49 start?", "Monday"),  # outside of the table
        ("When does week 49 start?", ""),  # nothing was marked
    ],
)
def test_other_readings_stay(question: str, words: str) -> None:
    assert marked(question, words) == words


def passage(text: str, marks: str = "") -> Passage:
    made = Passage("c", "d", "", "", "", (), None, text, 0, len(text))
    start = text.find(marks)
    reading = Reading(3.0, start, start + len(marks), margin=2.0)
    return replace(made, reading=reading) if marks else made


def test_initials_may_be_left_out() -> None:
    votes = "| Name | For | Against |\n|---|---|---|\n| Ada B. Crane | 5 | 7 |\n| Cy Dow | 8 | 9 |"
    assert marked("How many votes against did Ada Crane get?", "9", votes) == "7"


def test_a_row_that_is_not_the_named_one_does_not_answer() -> None:
    rest = passage("| 47 | Dmitri Lund | Aiko Tanaka |", "Dmitri Lund")
    read, unread = mark_named_cells("Who is on call in week 49?", [rest, passage(PLAN)])
    assert (read.reading and read.reading.score, unread.reading) == (OTHER_ROW, None)
    other = replace(passage(PLAN), document_id="other")
    assert mark_named_cells("Who is on call in week 49?", [rest, other]) == [rest, other]


def test_of_rows_without_their_header_the_whole_row_is_marked() -> None:
    rows = "| 48 | Aiko Tanaka | Ben Osei |\n| 49 | Ben Osei | Clara Voss |\n\nShifts."
    assert marked("Who is on call in week 49?", "Aiko Tanaka", rows) == "49 | Ben Osei | Clara Voss"
    assert marked("Who is on call in week 49?", "Clara Voss", rows) == "49 | Ben Osei | Clara Voss"
