"""Calculations with cells of tables: the formula, each operand, and silence in doubt."""

import random
from dataclasses import replace
from decimal import Decimal

import pytest

from corpus.loaders.table_blocks import record_blocks, table_blocks
from qa.table_answers import (
    asked_extreme,
    find_calculation,
    find_extreme_row,
    read_tables,
    read_value,
    write_answer,
)
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


PRODUCTS = """Prices of the shop

| Product | Price (EUR) | Stock | Margin |
| --- | --- | --- | --- |
| Oak table | 1,450.00 | 4 | 5 % |
| Pine shelf | 90.50 | 120 | 12 % |
| Ash chair | 210.00 | 38 | 9 % |
| Total | 1,750.50 | 162 | |

The shop is closed on Mondays."""
VOTES = "Name: Ida; Votes: 12\n\nName: Otto; Votes: 7\n\nName: Pia; Votes: 31"


def shown_row(question: str, *texts: str) -> str:
    documents = [replace(passage(text, 0), document_id=text) for text in texts]
    made = find_extreme_row(question, documents)
    return write_answer(made).text.partition("\n")[0] if made else ""


@pytest.mark.parametrize(
    ("question", "text", "result"),
    [
        (
            "Which product has the highest price?",
            PRODUCTS,
            "Oak table: 1,450 EUR = max(1,450.00, 210.00, 90.50)",
        ),
        ("Which product has the smallest stock?", PRODUCTS, "Oak table: 4 = min(4, 38, 120)"),
        ("What is the product with the least margin?", PRODUCTS.replace("162 |", "162 | 9 %"),
         "Oak table: 5% = min(5 %, 9 %, 12 %)"),
        ("Who has the fewest votes?", VOTES, "Otto: 7 = min(7, 12, 31)"),
        ("Which row is largest in column votes?", VOTES, "Pia: 31 = max(31, 12, 7)"),
        (
            "Which year has the lowest sales?",
            "Sales (in millions)\n\n| Year | Sales |\n| --- | --- |\n| 2018 | $5 |\n| 2019 | 6 |",
            "2018: $5 million = min($5, 6)",
        ),
    ],
)  # fmt: skip
def test_the_extreme_row_of_a_column_is_told(question: str, text: str, result: str) -> None:
    assert shown_row(question, text) == result
    assert shown_row(question, text, f"Another document.\n\n{text}") == result


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Which product has the highest rating?", PRODUCTS),  # no such column
        ("Which lamp has the highest price?", PRODUCTS),  # no such rows
        ("Which product has the highest price and stock?", PRODUCTS),
        ("Which product has the highest price in Berlin?", PRODUCTS),
        ("Which product has at most the price of an oak table?", PRODUCTS),
        ("Which product has the highest price, oak table or pine shelf?", PRODUCTS),
        ("Show the highest price.", PRODUCTS),
        ("Which product has a price?", PRODUCTS),
        ("Which product has the highest price?", PRODUCTS.replace("90.50", "1,450.00")),  # a tie
        ("Which product has the highest price?", PRODUCTS.replace("90.50", "on request")),
        ("Which product has the highest price?", PRODUCTS.replace("| 210.00", "| $210.00")
         .replace("| 90.50", "| € 90.50")),
        ("Which product has the highest margin?", PRODUCTS.replace("12 %", "12")),
        ("Which product has the highest price?", PRODUCTS.replace("90.50", "(90.50)")),
        ("Which product has the highest price?", PRODUCTS.replace("Pine shelf", "")),
        ("Which product has the highest price?", PRODUCTS.replace("Pine shelf", "Ash chair")),
        ("Which product has the highest price?", PRODUCTS.replace("Pine shelf", "Total tables")),
        ("Who has the most votes?", VOTES.replace("Otto", "a; b")),  # a row that cannot be read
        ("Who has the most votes?", VOTES.replace("Name: Otto; ", "")),
        ("Who has the most votes?", VOTES.replace("; Votes: 31", "; Age: 31")),
        ("Who has the most votes?", "Name: Ida; Votes: 12"),
    ],
)  # fmt: skip
def test_in_doubt_no_row_is_extreme(question: str, text: str) -> None:
    assert shown_row(question, text) == ""


def test_documents_with_other_extremes_leave_it_open() -> None:
    changed = VOTES.replace("31", "32")
    assert shown_row("Who has the most votes?", VOTES, changed) == ""


def test_of_many_rows_the_first_three_are_quoted() -> None:
    rows = "\n\n".join(f"Name: N{number}; Votes: {number * 7 % 31}" for number in range(31))
    first = "N22: 30 = max(30, 29, 28, \u2026 31 rows)"
    assert shown_row("Who has the most votes?", rows) == first


def test_only_a_question_for_a_row_is_compared() -> None:
    assert asked_extreme("Who has the most votes?") == "max"
    assert asked_extreme("Who has the most votes and the fewest?") == ""
    assert asked_extreme("Who has votes?") == ""


@pytest.mark.parametrize("seed", range(20))
def test_extremes_of_drawn_tables_are_those_drawn(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311
    kinds, columns = ("Product", "Town", "Runner"), ("Price", "Height (m)", "Points")
    for _ in range(20):
        count = chance.randint(2, 40)
        header = [chance.choice(kinds), *chance.sample(columns, 2)]
        labels = [f"{chance.choice('ABCDE')}{number}" for number in range(count)]
        numbers = [chance.choices(range(60), k=2) for _ in labels]
        rows = [[label, *map(str, each)] for label, each in zip(labels, numbers, strict=True)]
        blocks = chance.choice([table_blocks([header, *rows]), record_blocks(header, rows)])
        text = "\n\n".join(["# Notes", *(each.text for each in blocks), "The end."])
        column, (word, best) = (
            chance.choice([1, 2]),
            chance.choice([("highest", max), ("lowest", min)]),
        )
        drawn = [each[column - 1] for each in numbers]
        is_clear = drawn.count(best(drawn)) == 1
        name = header[column].partition(" (")[0].lower()
        shown = shown_row(f"Which {header[0].lower()} has the {word} {name}?", text)
        expected = labels[drawn.index(best(drawn))] if is_clear else ""
        assert shown.partition(":")[0] == expected
