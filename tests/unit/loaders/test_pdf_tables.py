"""Tables of PDFs: rows and cells, where it is certain what belongs together."""

import pytest

from corpus.loaders.formats.pdf.rendering import find
from corpus.loaders.formats.pdf.tables import Word, text_of
from tests.unit.loaders.sample_files import Pdf, loaded, texts

pytestmark = pytest.mark.usefixtures("in_process")

XS = (72, 172, 272, 372)


def grid(pdf: Pdf, rows: int, *, top: float = 700, xs: tuple[float, ...] = XS) -> Pdf:
    """Draw the lines around cells that are 20 points high."""
    for at in range(rows + 1):
        pdf.draw(f"{xs[0]} {top - 20 * at} m {xs[-1]} {top - 20 * at} l S")
    for x in xs:
        pdf.draw(f"{x} {top} m {x} {top - 20 * rows} l S")
    return pdf


def fill(pdf: Pdf, *rows: str, top: float = 686, xs: tuple[float, ...] = XS) -> Pdf:
    """Write rows whose cells a bar separates, 5 points from the left of each column."""
    for at, row in enumerate(rows):
        for x, cell in zip(xs, row.split("|"), strict=False):
            if cell:
                pdf.line(cell, top - 20 * at, x=x + 5)
    return pdf


def blocks(pdf: Pdf) -> list[str]:
    return texts(loaded(pdf.bytes(), "a.pdf"))


def numbers(*rows: str, top: float = 700, pdf: Pdf | None = None) -> Pdf:
    """Write lines without a drawn one: a label, and texts that end at one place each."""
    pdf = pdf or Pdf()
    for at, row in enumerate(rows):
        label, *cells = row.split("|")
        if label:
            pdf.line(label, top - 13 * at)
        for column, cell in enumerate(cells):
            if cell:  # a digit is 6.1 points wide
                pdf.line(cell, top - 13 * at, x=300 + 80 * column - 6.1 * len(cell))
    return pdf


def test_drawn_cells_become_rows_below_a_header() -> None:
    pdf = fill(grid(Pdf(), 3), "Plan|Seats|Price", "Small|5|10", "Large|50|80")
    assert blocks(pdf.line("Prices are in euros.", 500)) == [
        "| Plan | Seats | Price |\n| --- | --- | --- |\n| Small | 5 | 10 |\n| Large | 50 | 80 |",
        "Prices are in euros.",
    ]


def test_rectangles_are_drawn_cells_too() -> None:
    pdf = Pdf()
    for x in XS[:-1]:
        for y in (680, 660, 640):
            pdf.draw(f"{x} {y} 100 20 re S")
    assert blocks(fill(pdf, "Plan|Seats|Price", "Small|5|10", "Large|50|80")) == [
        "| Plan | Seats | Price |\n| --- | --- | --- |\n| Small | 5 | 10 |\n| Large | 50 | 80 |"
    ]


def test_lines_in_a_cell_are_one_text() -> None:
    pdf = fill(grid(Pdf(), 2), "Plan|Who")
    pdf.line("Small", 671, x=77, size=8).line("for small", 671, x=177, size=8)
    pdf.line("teams", 662, x=177, size=8)
    assert blocks(pdf)[0].endswith("| Small | for small teams |")


def test_lines_of_numbers_in_one_cell_are_rows() -> None:
    pdf = grid(Pdf(), 2, xs=(72, 172, 272))
    fill(pdf, "Month|Files", top=686, xs=(72, 172))
    for at, (month, count) in enumerate((("May", "12"), ("June", "40"))):
        pdf.line(month, 671 - 10 * at, x=77, size=8).line(count, 671 - 10 * at, x=177, size=8)
    assert blocks(pdf)[0].endswith("| May | 12 |\n| June | 40 |")


def test_a_header_over_two_columns_names_both() -> None:
    pdf = fill(Pdf(), "|2023", "Region|Sales|Costs", "North|10|8", "South|12|9")
    for at in range(5):
        pdf.draw(f"72 {700 - 20 * at} m 372 {700 - 20 * at} l S")
    for x, top in ((72, 700), (172, 700), (272, 680), (372, 700)):
        pdf.draw(f"{x} {top} m {x} 620 l S")
    assert blocks(pdf)[0].startswith("| Region | 2023 Sales | 2023 Costs |\n")
    unnamed = fill(Pdf(), "Region|2023", "North|10|8", "South|12|9")
    for at in range(4):
        unnamed.draw(f"72 {700 - 20 * at} m 372 {700 - 20 * at} l S")
    for x, top in ((72, 700), (172, 700), (272, 680), (372, 700)):
        unnamed.draw(f"{x} {top} m {x} 640 l S")
    assert blocks(unnamed)[0].startswith("| Region | 2023 | 2023 |\n")


def test_a_text_in_the_middle_of_joined_cells_is_of_the_first() -> None:
    pdf = Pdf().line("2023", 686, x=280).line("North", 636, x=77)
    fill(pdf, "Region|Sales|Costs", "|10|8", "|12|9", top=666)
    for y, left in ((700, 72), (680, 72), (660, 72), (640, 172), (620, 72)):
        pdf.draw(f"{left} {y} m 372 {y} l S")
    for x, top in ((72, 700), (172, 700), (272, 680), (372, 700)):
        pdf.draw(f"{x} {top} m {x} 620 l S")
    assert blocks(pdf)[0].split("\n") == [
        "| Region | 2023 Sales | 2023 Costs |", "| --- | --- | --- |",
        "| North | 10 | 8 |", "|  | 12 | 9 |",
    ]  # fmt: skip


def test_a_name_in_an_empty_column_is_that_of_the_numbers_beside_it() -> None:
    xs = (72, 172, 232, 272, 372)
    pdf = fill(grid(Pdf(), 3, xs=xs), "Plan|Price||Share", "Small||5|10", "Large||6|90", xs=xs)
    assert blocks(pdf)[0].split("\n") == [
        "| Plan | Price | Share |", "| --- | --- | --- |",
        "| Small | 5 | 10 |", "| Large | 6 | 90 |",
    ]  # fmt: skip


def test_a_sign_after_a_number_is_that_of_the_next_one() -> None:
    pdf = numbers("|2023|2022", "Sales|(12)|9", "Costs|(7)|6", "Profit|5|3")
    assert "| Sales | (12) | $ 9 |" in blocks(pdf.line("$", 687, x=303))[0]


def test_a_row_across_the_table_is_its_caption() -> None:
    pdf = fill(Pdf(), "Prices in euros", "Plan|Price", "Small|10", "Large|80", xs=(72, 172))
    for at in range(5):
        pdf.draw(f"72 {700 - 20 * at} m 272 {700 - 20 * at} l S")
    pdf.draw("72 700 m 72 620 l S").draw("272 700 m 272 620 l S").draw("172 680 m 172 620 l S")
    assert blocks(pdf) == [
        "Prices in euros",
        "| Plan | Price |\n| --- | --- |\n| Small | 10 |\n| Large | 80 |",
    ]


def test_signs_in_cells_of_their_own_belong_to_the_number() -> None:
    xs = (72, 172, 192, 272, 292, 372)
    pdf = fill(grid(Pdf(), 3, xs=xs), "Plan|Price||Share", "Small|$|10|5|%", "Large||80|90", xs=xs)
    assert blocks(pdf)[0].split("\n")[2:] == ["| Small | $ 10 | 5 % |", "| Large | 80 | 90 |"]


@pytest.mark.parametrize(
    "rows",
    [
        ("Small|5|10", "Large|50|80"),  # no header
        ("A long definition that goes on and on, as no name of a column|is|one", "b|c|d"),
        ("Plan", "Small", "Large"),  # one column
        ("a||b", "||c", "d||", "|e|"),  # a form
        ("Plan|Seats|Price", "Small|5      7|10"),  # a line is missing
    ],
)
def test_what_is_no_table_with_a_header_stays_text(rows: tuple[str, ...]) -> None:
    pdf = fill(grid(Pdf(), len(rows)), *rows)
    assert not any(block.startswith("|") for block in blocks(pdf))


def test_sentences_over_boxes_stay_text() -> None:
    pdf = grid(Pdf(), 2)
    for y in (686, 666):
        pdf.line("Words of a sentence run on over all of these boxes, from first to last", y, x=75)
    assert not any(block.startswith("|") for block in blocks(pdf))


def test_a_line_that_is_only_partly_in_the_table_keeps_all_as_text() -> None:
    pdf = fill(grid(Pdf(), 2), "Plan|Seats|Price", "Small|5|10")
    pdf.draw("BT /F 11 Tf 352 666 Td (12 and more words) Tj ET")
    assert not any(block.startswith("|") for block in blocks(pdf))


def test_columns_of_numbers_below_a_header_are_a_table() -> None:
    pdf = numbers(
        "Year ended|2023|2022", "Sales|$ 1,200|$ 900", "Costs|(700)|(650)", "Profit|500|250"
    )
    assert blocks(pdf) == [
        "| Year ended | 2023 | 2022 |\n| --- | --- | --- |\n| Sales | $ 1,200 | $ 900 |\n"
        "| Costs | (700) | (650) |\n| Profit | 500 | 250 |"
    ]


def test_header_lines_are_joined_and_name_what_they_are_over() -> None:
    pdf = Pdf().line("Three months", 713, x=300)
    for at, row in enumerate(
        ("|July 30|July 29", "Assets||", "Cash|10|20", "Other|11|21", "All|21|41")
    ):
        label, *cells = row.split("|")
        pdf.line(label, 700 - 13 * at) if label else None
        for column, cell in enumerate(cells):
            pdf.line(cell, 700 - 13 * at, x=290 + 70 * column) if cell else None
    table = blocks(pdf)[0]
    assert table.startswith("|  | Three months July 30 | Three months July 29 |")
    assert "\n| Assets |  |  |\n| Cash | 10 | 20 |\n" in table


def test_a_title_over_all_columns_names_each() -> None:
    rows = ("Plants|Ash|Oak|Yew", "Wood|1|2|3", "Leaf|4|5|6", "Root|7|8|")
    pdf = numbers(*rows).line("Kinds", 713, x=358)
    assert blocks(pdf)[0].startswith("| Plants | Kinds Ash | Kinds Oak | Kinds Yew |\n")


def test_a_column_may_begin_in_a_later_row() -> None:
    rows = ("Plants|Ash|Oak|Yew", "Wood|1|2|", "Leaf|4|5|6", "Root|7|8|9")
    assert blocks(numbers(*rows))[0].split("\n")[2:] == [
        "| Wood | 1 | 2 |  |", "| Leaf | 4 | 5 | 6 |", "| Root | 7 | 8 | 9 |",
    ]  # fmt: skip


def test_a_label_goes_on_in_small_letters() -> None:
    pdf = numbers(
        "|2023|2022",
        "Shares, issued and",
        "outstanding|22|21",
        "Taxes|5|6",
        "and fees",
        "All|27|27",
    )
    assert (
        "| Shares, issued and outstanding | 22 | 21 |\n| Taxes and fees | 5 | 6 |" in blocks(pdf)[0]
    )


def test_years_may_be_labels_of_rows() -> None:
    pdf = numbers("|Year|Ducks", "|2019|120", "|2020|135", "|2021|150")
    assert blocks(pdf) == [
        "| Year | Ducks |\n| --- | --- |\n| 2019 | 120 |\n| 2020 | 135 |\n| 2021 | 150 |"
    ]


@pytest.mark.parametrize(
    "rows",
    [
        ("Sales|12|9", "Costs|7|6", "Profit|5|3"),  # no header
        ("|2023|2022", "Sales|12|9", "Costs|7|6"),  # too few rows
        ("|2023|2022", "Sales|12|9", "Costs|7|", "Profit|5|", "Taxes|1|", "Fees|2|"),
        (
            "A sentence above that ends beside the columns of it all: yes|12|13",
            "a|2|3",
            "b|4|5",
            "c|6|7",
        ),
        (
            "|2023|2022",
            "Sales|12|9",
            "A long sentence that goes on beside the numbers of it|7|6",
            "b|1|2",
        ),
    ],
)
def test_uncertain_columns_stay_text(rows: tuple[str, ...]) -> None:
    assert not any(block.startswith("|") for block in blocks(numbers(*rows)))


@pytest.mark.parametrize(
    "sentence", ["", "These are all figures of the year; there are no others."]
)
def test_a_table_ends_at_a_wide_gap_and_at_a_sentence(sentence: str) -> None:
    rows = ("|2023|2022", "Sales|12|9", "Costs|7|6", "Profit|5|3")
    pdf = numbers(*rows)
    if sentence:
        pdf.line(sentence, 648)
    found = blocks(numbers(*rows, top=500, pdf=pdf))
    assert [block.startswith("|") for block in found] == [True, *[False] * bool(sentence), True]
    assert found[0] == found[-1]


def test_tables_beside_each_other_are_two() -> None:
    pdf = Pdf()
    for left, (plan, price) in ((72, ("Small", "10")), (300, ("Large", "80"))):
        xs = (left, left + 80, left + 160)
        fill(grid(pdf, 2, xs=xs), "Plan|Price", f"{plan}|{price}", xs=xs)
    grid(pdf, 1, top=100)
    assert blocks(pdf) == [
        "| Plan | Price |\n| --- | --- |\n| Small | 10 |",
        "| Plan | Price |\n| --- | --- |\n| Large | 80 |",
    ]


def test_a_page_turned_or_written_from_the_right_has_no_tables() -> None:
    pdf = fill(grid(Pdf(), 2), "Plan|Seats|Price", "Small|5|10").bytes()
    turned = pdf.replace(b"/MediaBox", b"/Rotate 90/MediaBox")
    assert not any(each.startswith("|") for each in texts(loaded(turned, "a.pdf")))


def test_upright_words_and_curves_do_not_disturb() -> None:
    pdf = fill(grid(Pdf(), 2), "Plan|Seats|Price", "Small|5|10")
    pdf.draw("BT /F 11 Tf 0 1 -1 0 60 650 Tm (Side) Tj ET")
    pdf.draw("0 0 m 10 10 20 20 30 30 c S").draw("5 5 m 6 5 l S").draw("72 100 m 372 100 l n")
    found = blocks(pdf)
    assert "| Plan | Seats | Price |\n| --- | --- | --- |\n| Small | 5 | 10 |" in found
    assert "Side" in "".join(found)


def test_the_words_of_a_table_are_marked_on_its_page() -> None:
    pdf = Pdf().line("2023", 713, x=300)
    fill(pdf, "Region|Sales|Costs", "North|10|8", "South|12|9")
    content = pdf.bytes()
    quote = "| Region | 2023 Sales | 2023 Costs |\n| --- | --- | --- |\n| South | 12 | 9 |"
    layout = find(content, number=1, quote=quote, before="")
    # The header is not one text on the page.
    assert len({round(box.top, -1) for box in layout.boxes}) == 1
    assert find(content, number=1, quote="| North | 10 | 8 |\n| South | 12 | 9 |", before="").boxes
    assert find(content, number=1, quote="South 12 10", before="").boxes == []


def test_a_word_that_a_line_cuts_is_made_whole() -> None:
    words = [Word(text, 0, 0, 0, 0, 0) for text in ("infor\x02", "mation", "desk")]
    assert text_of(words) == "information desk"
