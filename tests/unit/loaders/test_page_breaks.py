"""Sentences that the end of a page cuts, and what only looks like one."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from corpus.ingestion.normal_form import join_blocks
from corpus.loaders.blocks import Block
from corpus.loaders.formats.pdf.layout import blocks_from_pages
from corpus.loaders.formats.pdf.lines import Line
from corpus.loaders.formats.pdf.rendering import find
from corpus.loaders.ocr.reading_order import sort_lines
from tests.unit.loaders.sample_files import Pdf, loaded
from tests.unit.loaders.scanned_files import scan_of

# As wide as each line of the texts here is.
COLUMN = 400.0
ABOVE = "Each pump waits for an answer, and the default timeout is"
BELOW = "measured in seconds, unless the table of pumps says more."
WHOLE = f"{ABOVE} {BELOW}"
NEXT = "The next paragraph is about valves and how they are set."


def line(text: str, *, left: float = 50, width: float = COLUMN, size: float = 10) -> Line:
    return Line(text, size, 400, left, left + width, 0, size)


def page(*paragraphs: str | Line | Iterable[str | Line]) -> list[Line]:
    """Lines from the top down, an empty line between paragraphs."""
    bottom, lines = 800.0, []
    for paragraph in paragraphs:
        for each in [paragraph] if isinstance(paragraph, str | Line) else paragraph:
            set_at = line(each) if isinstance(each, str) else each
            lines.append(replace(set_at, bottom=bottom, top=bottom + set_at.size))
            bottom -= 12
        bottom -= 12
    return lines


def read(*pages: list[Line]) -> list[Block]:
    return blocks_from_pages(dict(enumerate(pages, start=1)), {})


def texts(*pages: list[Line]) -> list[str]:
    return [block.text for block in read(*pages)]


def test_a_sentence_that_a_page_cuts_is_whole_and_knows_both_pages() -> None:
    first, cut, last = read(page(NEXT, ABOVE), page(BELOW, NEXT))
    assert [first.text, cut.text, last.text] == [NEXT, WHOLE, NEXT]
    assert (first.page, cut.page, last.page) == (1, 1, 2)
    assert cut.page_starts == ((len(ABOVE) + 1, 2),)
    assert cut.text[cut.page_starts[0][0] :] == BELOW


def test_a_word_that_a_page_cuts_is_made_whole() -> None:
    (block,) = read(page("Each pump waits for an answer, which is the appli-"),
                    page("cation of the rule that was told in the part before."))  # fmt: skip
    assert "is the application of the rule" in block.text
    assert block.text[block.page_starts[0][0] :].startswith("cation of")


def test_a_hyphen_that_the_document_uses_elsewhere_stays_over_pages() -> None:
    above = page("Each pump waits for an answer of a well-")
    text, *_ = texts(above, page("known kind, as told in the part before.", "A well-known fact."))
    assert "of a well-known kind" in text


@pytest.mark.parametrize(
    "below",
    ["30 seconds, unless the table of pumps says that it is more.",
     "(unless the table of pumps says more) a half of a minute.",
     "Orsolya’s, unless the table of pumps says that it is more."],
)  # fmt: skip
def test_what_has_no_small_letter_goes_on_where_the_line_was_full(below: str) -> None:
    assert texts(page(ABOVE), page(below)) == [f"{ABOVE} {below}"]
    assert texts(page(line(ABOVE), line(ABOVE, width=250)), page(below))[-1] == below


def test_a_paragraph_may_go_on_over_many_pages() -> None:
    said = [f"{word} and all the pumps of the coast wait for their answer," for word in "abc"]
    (block,) = read(*map(page, said))
    assert [number for _, number in block.page_starts] == [2, 3]
    assert block.text == " ".join(said)


NO_SENTENCE = {
    "ended": (page(f"{ABOVE} long."), page(BELOW)),
    "ended with a note": (page(f"{ABOVE} “long.” 12"), page(BELOW)),
    "announced": (page(f"{ABOVE} as follows:"), page(BELOW)),
    "an item": (page(ABOVE), page(f"• {BELOW}")),
    "a numbered item": (page(ABOVE), page(f"b) {BELOW}")),
    "larger letters": (page(ABOVE), page(line(BELOW, size=12), [NEXT] * 9)),
    "set in": (page([ABOVE, ABOVE]), page([line(BELOW, left=70), BELOW])),
    "another edge": (page([ABOVE, ABOVE]), page(line(BELOW, left=110), NEXT)),
    "another sentence": (page([ABOVE, line(ABOVE, width=150)]), page(NEXT)),
    "one line that is short": (page(NEXT, line(ABOVE, width=150)), page(BELOW)),
    "an item without a stop": (page("• files of all packages that are there"), page(NEXT)),
    "a title": (page(ABOVE), page("THE TIDES OF THE COAST AT BAVOKE, AND ITS PUMPS", NEXT)),
    "rows": (page(["pump valve", "m640p ATmega640P"]),
             page(["m649 ATmega649", "m6490 ATmega6490"])),
    "code": (page(["size = <num> ; # of bytes", "rate = <num> ; # a count"]),
             page(["boot = <num> ; # address", "lock = <num> ; # of bits"])),
    "a table": (page(NEXT, "Heart 72 of 90 bpm", "Mean 80 kg"), page(BELOW)),
}  # fmt: skip


@pytest.mark.parametrize("case", NO_SENTENCE)
def test_what_is_no_cut_sentence_stays_apart(case: str) -> None:
    above, below = NO_SENTENCE[case]
    assert all(block.page_starts == () for block in read(above, below))


def test_a_heading_neither_goes_on_nor_is_gone_on_with() -> None:
    body = [NEXT] * 9
    heading = line("Pumps of the coast and all that they", size=14)
    for pages in ((page(body, heading), page(BELOW)), (page(body, ABOVE), page(heading, BELOW))):
        assert all(not block.page_starts for block in read(*pages))


FOOTNOTES = [line("1 As told by the maker, who has", size=8), line("been asked.", size=8, width=50)]
FIGURE = [line("pump", width=30), line("valve", left=200, width=30)]
CAPTION = "Figure 2: A pump with its valve and what holds the two."


@pytest.mark.parametrize(
    ("above", "below", "expected"),
    [
        ([ABOVE, FOOTNOTES], [BELOW], [WHOLE, "1 As told by the maker, who has been asked."]),
        ([ABOVE, "- 12 -"], ["13", BELOW], [WHOLE, "- 12 -", "13"]),
        ([ABOVE, "Page 12 of 40"], [BELOW], [WHOLE, "Page 12 of 40"]),
        (["Pumps 12", ABOVE], ["Pumps 13", BELOW], ["Pumps 12", WHOLE, "Pumps 13"]),
        ([ABOVE], [CAPTION, BELOW], [WHOLE, CAPTION]),
        ([ABOVE, CAPTION], [BELOW], [WHOLE, CAPTION]),
        ([ABOVE], [*FIGURE, CAPTION, BELOW], [WHOLE, "pump", "valve", CAPTION]),
        ([ABOVE], ["Abb. 3: Eine Pumpe", BELOW], [WHOLE, "Abb. 3: Eine Pumpe"]),
        ([ABOVE], [line("of pumps", size=8), BELOW, [NEXT] * 3],
         [WHOLE, "of pumps", " ".join([NEXT] * 3)]),
    ],
    ids=["footnote", "numbers", "page of", "head", "caption", "caption before", "figure",
         "another language", "label"],
)  # fmt: skip
def test_what_stands_between_comes_behind(
    above: list[str | Line], below: list[str | Line], expected: list[str]
) -> None:
    found = read(page(*above), page(*below))
    assert [block.text for block in found] == expected
    _, outline = join_blocks(found)
    assert {number for _, number in outline.pages} == {1, 2}


def test_a_figure_without_a_caption_may_be_anything() -> None:
    assert WHOLE not in texts(page(ABOVE), page(*FIGURE, BELOW))


def test_a_page_of_a_figure_is_passed_over() -> None:
    found = read(page(ABOVE), page(*FIGURE, CAPTION), page(BELOW))
    assert found[0].text == WHOLE
    assert (found[0].page, found[0].page_starts[0][1]) == (1, 3)
    assert [block.page for block in found] == [1, 2, 2, 2]


def test_of_a_page_that_says_nothing_or_is_missing_none_is_passed_over() -> None:
    assert WHOLE not in texts(page(ABOVE), [], page(BELOW))
    apart = blocks_from_pages({1: page(ABOVE), 3: page(BELOW)}, {})
    assert [block.text for block in apart] == [ABOVE, BELOW]
    assert WHOLE not in texts(page(ABOVE), page([NEXT] * 2), page(BELOW))


def test_a_sentence_goes_on_in_the_first_column() -> None:
    column = [line(f"{ABOVE[:40]} {word}", width=200) for word in ("one", "two", "three", "four")]
    right = [replace(each, left=300, right=500, text=ABOVE) for each in column]
    found = read([*page(column), *page(right)], page(line(BELOW, width=200)))
    assert found[-1].text.endswith(WHOLE)
    few = [*page(column[:2]), *page(right)]
    assert all(not block.page_starts for block in read(few, page(line(BELOW, width=200))))


def test_left_and_right_pages_have_other_margins() -> None:
    moved = [replace(each, left=each.left + 40, right=each.right + 40) for each in page(BELOW)]
    assert texts(page([ABOVE, ABOVE]), moved) == [f"{ABOVE} {WHOLE}"]


def test_a_last_line_that_was_cut_short_goes_on_in_small_letters() -> None:
    assert texts(page([ABOVE, line(ABOVE, width=200)]), page(BELOW))[0].endswith(BELOW)


def test_scripts_without_capitals_go_on_where_the_line_was_full() -> None:
    above, below = (
        "감염병의 예방 및 관리에 관한 법률을 보면 약관은 ",
        "작성자인 사업자에 의하여 일방적으로 유리하게",
    )
    assert texts(page(above), page(below)) == [above + below]
    short = page([above, line(above, width=100)])
    assert texts(short, page(below))[-1] == below


def test_from_right_to_left_lines_end_at_the_left() -> None:
    above, below = "ينتظر كل مضخة جوابا والوقت المحدد لها", "بالثواني ما لم يذكر الجدول أكثر"
    full = Line(above, 10, 400, 450, 50, 0, 10)
    short = replace(full, right=300)
    after = page(replace(full, text=below))
    assert texts(page([full, full]), after)[0].endswith(below)
    assert texts(page([full, short]), after)[-1] == below


def test_scanned_pages_are_joined_with_the_places_of_both() -> None:
    rows = [(ABOVE, 50.0, 100.0 + 30 * row) for row in range(3)]
    pages = [scan_of(*rows), scan_of((BELOW, 50.0, 100.0))]
    (block,) = read(*map(sort_lines, pages))
    text, outline = join_blocks([block])
    assert block.page_starts[0][1] == 2
    last = outline.scanned[-1]
    assert text[last.start : last.end] == BELOW[:-1]
    assert outline.page_at(last.start) == 2
    assert outline.page_at(last.start - 1) == 1


def test_a_row_of_a_table_in_a_scan_does_not_go_on() -> None:
    row = [("the pumps of the coast are", 50.0, 100.0), ("all of the older kind", 500.0, 100.0)]
    pages = [scan_of(*row), scan_of((BELOW, 50.0, 100.0))]
    assert all(not block.page_starts for block in read(*map(sort_lines, pages)))


@pytest.mark.usefixtures("in_process")
def test_both_parts_of_a_quote_are_found_on_their_pages() -> None:
    pdf = Pdf().line("The pumps of Bavoke.", 740, size=20)
    pdf.line(NEXT, 700).line(ABOVE, 660).line(NEXT[:-10] + " are", 647)
    content = pdf.page().line(BELOW, 740).line(NEXT, 700).bytes()
    text, outline = join_blocks(loaded(content, "pumps.pdf").blocks)
    start, end = text.index(ABOVE), text.index(BELOW) + len(BELOW)
    assert outline.pages_of(start, end) == [1, 2]
    for number, lines in ((1, 2), (2, 1)):
        ((first, last),) = outline.spans_of_page(number, char_count=len(text))
        quote = text[max(first, start) : min(last, end)]
        assert len(find(content, number=number, quote=quote, before="").boxes) == lines
