"""Calculations with cells of tables: the formula, each operand, and silence in doubt."""

from dataclasses import replace
from decimal import Decimal

import pytest

from qa.table_answers import find_calculation, read_tables, read_value, write_answer
from qa.types import Passage

TABLE = """Sales by contract (in millions)

| Years ended | 2019 | 2018 | 2017 |
| --- | --- | --- | --- |
| Fixed price | $ 1,452.4 | $ 1,146.2 | $ 1,036.9 |
| Other | 44.1 | 56.7 | 70.8 |
| Total sales | $1,496.5 | $1,202.9 | $1,107.7 |
| Margin | 5 % | 4 % | 6 % |
| Change in cash | 5 | 4 | 3 |
| Refunds | — | 4 | 0 |"""


def passage(text: str, start: int = 100) -> Passage:
    return Passage("c", "d", "s", "", "", (), None, text, start, start + len(text))


def shown(question: str, text: str = TABLE) -> str:
    made = find_calculation(question, [passage(text)])
    return write_answer(made).text.partition("\n")[0] if made else ""


@pytest.mark.parametrize(
    ("question", "result"),
    [
        (
            "What was the percentage change in total sales from 2018 to 2019?",
            "24.41% = ($1,496.5 − $1,202.9) / $1,202.9",
        ),
        ("What is the change in other between 2018 and 2019?", "−12.60 million = 44.1 − 56.7"),
        (
            "How much did fixed price grow from 2017 to 2018?",
            "$109.30 million = $ 1,146.2 − $ 1,036.9",
        ),
        ("In which year was other the largest?", "2017: 70.80 million = max(44.1, 56.7, 70.8)"),
        (
            "Which fiscal year had the lowest total sales?",
            "2017: $1,107.70 million = min($1,496.5, $1,202.9, $1,107.7)",
        ),
        ("What is the average other for 2018 and 2019?", "50.40 million = (56.7 + 44.1) / 2"),
        (
            "What is the average other from 2017 to 2019?",
            "57.20 million = (70.8 + 56.7 + 44.1) / 3",
        ),
        (
            "What percentage of total sales was fixed price in 2019?",
            "97.05% = $ 1,452.4 / $1,496.5",
        ),
        ("What is other as a percentage of total sales in 2018?", "4.71% = 56.7 / $1,202.9"),
        (
            "What is the difference between fixed price and other in 2019?",
            "$1,408.30 million = $ 1,452.4 − 44.1",
        ),
        (
            "What is the sum of fixed price and other in 2018?",
            "$1,202.90 million = $ 1,146.2 + 56.7",
        ),
        ("What is the increase in margin from 2018 to 2019?", "1 percentage points = 5 % − 4 %"),
    ],
)
def test_the_result_is_shown_with_its_formula(question: str, result: str) -> None:
    assert shown(question) == result


def test_each_operand_is_quoted_where_it_stands() -> None:
    made = find_calculation(
        "What is the percentage change in other from 2018 to 2019?", [passage(TABLE)]
    )
    assert made is not None
    answer = write_answer(made)
    assert answer.text.splitlines()[2:] == ["- Other, 2019: 44.1", "- Other, 2018: 56.7"]
    for each in answer.citations:
        assert answer.text[each.answer_start : each.answer_end] == each.quote
        assert TABLE[each.start_char - 100 : each.end_char - 100] == each.quote
    assert answer.citations[-1].answer_end == len(answer.text)


@pytest.mark.parametrize(
    "question",
    [
        "What are total sales in 2019?",  # no calculation
        "What is the change in net sales between 2018 and 2019?",  # another row
        "What is the change in total sales of Acme between 2018 and 2019?",  # another thing
        "What is the change in total sales between 2016 and 2019?",  # another year
        "What is the change in total sales between 2017, 2018 and 2019?",  # which two
        "What is the change in total sales?",
        "What is the average other between 2017 and 2019?",  # these two, or all three
        "What is the change in average other from 2018 to 2019?",  # two steps
        "What is the average fixed price and other in 2018 and 2019?",
        "What is the percentage change in margin from 2018 to 2019?",
        "What is the change in cash from 2018 to 2019?",  # a row is called so
        "What is the change in change in cash from 2018 to 2019?",
        "What is the change in refunds from 2018 to 2019?",  # an empty cell
        "What is the percentage change in refunds from 2017 to 2018?",  # by nothing
        "Which contract had the highest sales?",  # rows of other passages may be missing
        "In which year were refunds the largest?",  # a cell has no number
        "What is the difference between the largest and the smallest other?",
        "What is the increase between fixed price and other in 2019?",
        "What is the average of margin and other in 2019?",  # two units
    ],
)
def test_in_doubt_nothing_is_calculated(question: str) -> None:
    assert shown(question) == ""


@pytest.mark.parametrize("row", ["5 | 5 | 4", "(9) | 5 | 4"])
def test_years_that_tie_or_have_a_loss_have_no_extreme(row: str) -> None:
    table = TABLE.replace("44.1 | 56.7 | 70.8", row)
    assert find_calculation("In which year was other the largest?", [passage(table)]) is None


def test_lines_of_a_header_and_years_in_it_name_columns() -> None:
    text = (
        "|  | Year ended | June |\n| --- | --- | --- |\n|  | 2020 | 2019 |\n"
        "| Costs ($000) | (30) | (20) |"
    )
    question = "What is the change in costs ($000) from 2019 to 2020?"
    assert shown(question, text) == "−10 thousand = (30) − (20)"
    several = text.replace("| 2019 |", "| 2020 |")
    assert shown(question.replace("2019 to 2020", "2020 to 2020"), several) == ""


def test_columns_are_found_by_their_whole_names_too() -> None:
    text = "| Plan | Monthly price | Yearly price |\n| --- | --- | --- |\n| Small | 10 | 100 |"
    question = "What is the difference between the yearly price and the monthly price of Small?"
    assert shown(question, text) == "90 = 100 − 10"
    twice = text + "\n| Small | 12 | 130 |"
    assert shown(question, twice) == ""


def test_rows_of_a_sheet_are_tables() -> None:
    text = "Region: North; 2018: 10; 2019: 12\n\nRegion: South; 2018: 7; 2019: 5"
    assert shown("What is the change in South from 2018 to 2019?", text) == "−2 = 5 − 7"


def test_pieces_of_a_long_table_are_one_also_across_passages() -> None:
    head = "| Item | 2019 |\n| --- | --- |\n"
    pieces = [f"{head}| Boats | 30 |", f"{head}| Oars | 5 |"]
    question = "What is the difference between boats and oars in 2019?"
    assert shown(question, "\n\n".join(pieces)) == "25 = 30 − 5"
    first, second = passage(pieces[0]), passage(pieces[1], start=102 + len(pieces[0]))
    made = find_calculation(question, [second, first])
    assert made is not None
    assert [each.passage for each in write_answer(made).citations] == [first, second]
    assert find_calculation(question, [passage(pieces[1], start=900), first]) is None
    other = f"{head.replace('Item', 'Hire')}| Oars | 5 |"
    assert shown(question, f"{pieces[0]}\n\n{other}") == ""


def test_tables_that_disagree_leave_the_question_open() -> None:
    question = "What is the change in other between 2018 and 2019?"
    copy = replace(passage(TABLE), document_id="other")
    changed = replace(passage(TABLE.replace("44.1", "45.1")), document_id="other")
    assert find_calculation(question, [passage(TABLE), copy]) is not None
    assert find_calculation(question, [passage(TABLE), changed]) is None


def test_a_unit_is_taken_from_the_text_if_it_names_one() -> None:
    table = TABLE.partition("\n\n")[2]
    question = "What is the change in other between 2018 and 2019?"
    assert shown(question, f"All amounts are in thousands.\n\n{table}").startswith(
        "−12.60 thousand"
    )
    mixed = f"Sales are in millions, shares in thousands.\n\n{table}"
    assert shown(question, mixed).startswith("−12.60 =")


def test_a_table_ends_where_its_rows_do() -> None:
    text = "| a | 1 |\n\n| Plan | 2019 |\n| --- | --- |\n| x | 1 |\n\n| y | 2 |"
    table, without_header = read_tables([passage(text)])
    assert [[cell.text for cell in row] for row in table.rows] == [["x", "1"]]
    assert [[cell.text for cell in row] for row in without_header.rows] == [["a", "1"]]


@pytest.mark.parametrize(
    ("text", "number", "currency", "is_percent"),
    [
        ("$ (1,234.5)", "-1234.5", "$", False),
        ("(5.3) %", "-5.3", "", True),
        ("−7", "-7", "", False),
        (".5", "0.5", "", False),
        ("€ 12*", "12", "€", False),
    ],
)
def test_numbers_are_read_as_reports_write_them(
    text: str, number: str, currency: str, is_percent: bool
) -> None:
    value = read_value(text)
    assert value == (Decimal(number), currency, is_percent)


@pytest.mark.parametrize("text", ["", "—", "n/a", "2019-10", "1,23", "12 a"])
def test_what_is_no_number_has_no_value(text: str) -> None:
    assert read_value(text) is None
