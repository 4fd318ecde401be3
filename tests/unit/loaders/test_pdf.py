import pytest
from pypdfium2 import PdfDocument, PdfiumError

from corpus.errors import EmptyDocument, UnreadableFile
from corpus.loaders.blocks import Block
from corpus.loaders.formats.pdf.layout import blocks_from_pages, find_title
from corpus.loaders.formats.pdf.lines import Line
from tests.unit.loaders.sample_files import Pdf, headings, loaded, texts

pytestmark = pytest.mark.usefixtures("in_process")

SENTENCE = "A line of text that is as wide as the column it stands in"


def line(text: str, bottom: float, *, size: float = 10, weight: int = 400, left: float = 50,
         right: float = 350) -> Line:  # fmt: skip
    return Line(text, size, weight, left, right, bottom, bottom + size)


def layout(*lines: Line) -> list[Block]:
    return blocks_from_pages({1: list(lines)}, {})


def test_each_block_knows_its_page() -> None:
    pdf = Pdf().line("First page", 700).page().page().line("Third page", 700)
    assert [(b.text, b.page) for b in loaded(pdf.bytes(), "a.pdf").blocks] == [
        ("First page", 1),
        ("Third page", 3),
    ]


def test_lines_become_paragraphs_at_gaps() -> None:
    pdf = Pdf().line(SENTENCE, 700).line(SENTENCE, 687).line(SENTENCE + ".", 674)
    pdf.line("Next paragraph.", 640).line("Last one.", 600)
    assert texts(loaded(pdf.bytes(), "a.pdf")) == [
        f"{SENTENCE} {SENTENCE} {SENTENCE}.",
        "Next paragraph.",
        "Last one.",
    ]


def test_larger_lines_are_headings_by_rank() -> None:
    pdf = Pdf().line("Title", 740, size=24)
    for at, part in enumerate(("One", "Two")):
        pdf.line(part, 700 - at * 100, size=16)
        pdf.line(SENTENCE, 670 - at * 100).line(SENTENCE, 657 - at * 100)
    document = loaded(pdf.bytes(), "a.pdf")
    assert headings(document) == [(1, "Title"), (2, "One"), (2, "Two")]
    assert document.title == "Title"


def test_bold_lines_of_body_size_are_headings_below_the_large_ones() -> None:
    pdf = Pdf().line("Title", 740, size=20).line("Section", 700, bold=True)
    for at in range(10):
        pdf.line(SENTENCE, 680 - at * 13)
    assert headings(loaded(pdf.bytes(), "a.pdf")) == [(1, "Title"), (2, "Section")]


def test_a_line_that_only_begins_in_bold_is_no_heading() -> None:
    pdf = Pdf().line("Title", 740, size=20).line("Size:", 700, bold=True, x=50)
    pdf.line("what a file may have", 700, x=90)
    for at in range(10):
        pdf.line(SENTENCE, 680 - at * 13)
    assert headings(loaded(pdf.bytes(), "a.pdf")) == [(1, "Title")]


def test_an_outline_decides_over_sizes() -> None:
    pdf = Pdf().line("Large but no heading", 740, size=20).line("1 Introduction", 700)
    pdf.line(SENTENCE, 680).page().line("2 Methods", 700).line(SENTENCE, 680)
    pdf.outline(("1 Introduction", 1), ("2 Methods", 2))
    assert headings(loaded(pdf.bytes(), "a.pdf")) == [(1, "1 Introduction"), (1, "2 Methods")]


def test_an_outline_that_names_other_words_is_ignored() -> None:
    pdf = Pdf().line("Title", 740, size=20).line(SENTENCE, 680).line(SENTENCE, 660)
    pdf.outline(("Bookmark", 1), ("Another", 1))
    assert headings(loaded(pdf.bytes(), "a.pdf")) == [(1, "Title")]


def test_a_word_cut_at_a_line_end_is_made_whole() -> None:
    (block,) = layout(line("about the infor-", 100), line("mation in it", 88))
    assert block.text == "about the information in it"
    (block,) = layout(line("감염병의 예방 및 관", 100), line("리에 관한 법률", 88))
    assert block.text == "감염병의 예방 및 관리에 관한 법률"
    (block,) = layout(
        line("a well-known fact is well-", 100), line("known and its hyphen stays", 88)
    )
    assert block.text == "a well-known fact is well-known and its hyphen stays"


def test_short_lines_items_and_rows_of_numbers_keep_their_line_breaks() -> None:
    (block,) = layout(
        line("Dear reader", 100, right=120),
        line("this is a long line up to the edge", 88),
        line("• an item", 76),
    )
    assert block.text == "Dear reader\nthis is a long line up to the edge\n• an item"
    (block,) = layout(line("Revenue 2023 100", 100), line("Revenue 2022 90", 88))
    assert block.text == "Revenue 2023 100\nRevenue 2022 90"


def test_ligatures_and_word_bullets_are_spelled_out() -> None:
    (block,) = layout(line("\uf0b7 e\ufb03cient \ufb01sh\x07", 100))
    assert block.text == "• efficient fish"


def test_running_heads_are_kept_once() -> None:
    pages = {
        n: [line("Annual report 2023", 780), line(f"Text {'abcdef'[n]}", 400), line(f"{n}", 20)]
        for n in range(1, 6)
    }
    found = [block.text for block in blocks_from_pages(pages, {})]
    assert found.count("Annual report 2023") == 1
    assert [t for t in found if t.startswith("Text")] == [f"Text {c}" for c in "bcdef"]


def test_running_heads_of_chapters_are_known_by_their_page_number() -> None:
    def head(n: int) -> Line:
        return line(f"Chapter {1 + n // 4}: {'Use' if n < 4 else 'Care'} {n + 2}", 780)

    pages = {n: [head(n), line(f"Text {'abcdefgh'[n]}", 400)] for n in range(8)}
    found = [block.text for block in blocks_from_pages(pages, {})]
    assert [t for t in found if not t.startswith("Text")] == [
        "Chapter 1: Use 2",
        "Chapter 2: Care 6",
    ]


def test_lines_that_only_end_in_numbers_are_kept() -> None:
    pages = {n: [line(f"Step {n * n}", 780), line("Text", 400)] for n in range(1, 9)}
    found = [block.text for block in blocks_from_pages(pages, {})]
    assert [t for t in found if t.startswith("Step")] == [f"Step {n * n}" for n in range(1, 9)]


def test_the_properties_give_title_and_metadata() -> None:
    pdf = Pdf().line("Text", 700)
    pdf.info = "/Title(On Ducks)/Author(Ann)/CreationDate(D:20240102030405+01'00')"
    document = loaded(pdf.bytes(), "a.pdf")
    assert document.title == "On Ducks"
    assert document.metadata == {
        "page_count": 1, "author": "Ann", "created": "2024-01-02T03:04:05+01:00",
    }  # fmt: skip


@pytest.mark.parametrize("title", ["Microsoft Word - draft.doc", "0000764478-23-000006", "a.indd"])
def test_a_title_that_programs_put_is_no_title(title: str) -> None:
    pdf = Pdf().line("Text", 700)
    pdf.info = f"/Title({title})"
    assert loaded(pdf.bytes(), "report.pdf").title == "report"


def test_a_line_of_blanks_in_a_pdf_is_no_text() -> None:
    pdf = Pdf().line("Above", 700).line("   ", 650).line("Below", 600)
    assert texts(loaded(pdf.bytes(), "a.pdf")) == ["Above", "Below"]


def test_a_pdf_with_nothing_on_its_pages_is_empty() -> None:
    with pytest.raises(EmptyDocument, match="no text on the 2 pages"):
        loaded(Pdf().page().bytes(), "a.pdf")


def test_an_encrypted_pdf_asks_for_a_password() -> None:
    pdf = Pdf().line("Secret", 700)
    key = "00" * 32
    pdf.trailer = f"/Encrypt<</Filter/Standard/V 1/R 2/O<{key}>/U<{key}>/P -4>>/ID[<00><00>]"
    with pytest.raises(UnreadableFile, match="password"):
        loaded(pdf.bytes(), "a.pdf")


@pytest.mark.parametrize("share", [0.1, 0.3])
def test_a_truncated_pdf_is_unreadable(share: float) -> None:
    content = Pdf().line("Text", 700).bytes()
    with pytest.raises(UnreadableFile, match="damaged"):
        loaded(content[: int(len(content) * share)], "a.pdf")


def test_a_file_that_only_claims_to_be_a_pdf_is_unreadable() -> None:
    with pytest.raises(UnreadableFile):
        loaded("hello world", "a.pdf")


def test_a_pdf_with_a_false_page_count_is_read() -> None:
    content = Pdf().line("Text", 700).bytes().replace(b"/Count 1>>", b"/Count 9>>")
    assert texts(loaded(content, "a.pdf")) == ["Text"]


@pytest.mark.parametrize(
    ("above", "below", "expected"),
    [
        ("and goes on", "in the next column", ["First", "and goes on\nin the next column"]),
        ("and ends.", "here as well", ["First", "and ends.", "here as well"]),
        ("and breaks off", "Another one", ["First", "and breaks off", "Another one"]),
    ],
    ids=["goes on", "ended", "begins anew"],
)
def test_a_paragraph_goes_on_in_the_next_column_where_no_sentence_ended(
    above: str, below: str, expected: list[str]
) -> None:
    found = layout(line("First", 200), line(above, 150), line(below, 200, left=360, right=660))
    assert [block.text for block in found] == expected


def test_an_outline_that_cannot_be_read_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: PdfDocument, **_: object) -> None:
        raise PdfiumError("broken")

    monkeypatch.setattr(PdfDocument, "get_toc", fail)
    pdf = Pdf().line("First", 700, size=20).line(SENTENCE, 650).line(SENTENCE, 637)
    pdf.line(SENTENCE, 624).line(SENTENCE, 611).outline(("First", 1))
    assert headings(loaded(pdf.bytes(), "a.pdf")) == [(1, "First")]


def test_a_stated_title_is_the_title() -> None:
    assert titled(line("Large", 700, size=30), stated="Field Guide") == "Field Guide"


@pytest.mark.parametrize(
    "stated",
    ["", "untitled", "Microsoft Word - a.doc", "(anonymous)", "about:blank", "a.indd", "12-3"],
)
def test_without_a_sensible_title_the_largest_words_of_page_one_are_it(stated: str) -> None:
    lines = line("ACME", 760, size=12), *wide("The Tide", "Tables*"), line(SENTENCE, 600)
    assert titled(*lines, stated=stated) == "The Tide Tables"


@pytest.mark.parametrize("words", ["1. Introduction", "Contents", "Abstract", "Chapter 3", "2"])
def test_the_heading_of_a_part_is_no_title(words: str) -> None:
    assert titled(*wide(words), line(SENTENCE, 600)) == "tide-tables"


def test_a_stamp_along_the_margin_is_no_title() -> None:
    stamp = line("arXiv:1706.03762v5 [cs.CL]", 300, size=40, left=20, right=60)
    assert titled(stamp, *wide("Attention"), line(SENTENCE, 600)) == "Attention"


def test_words_from_right_to_left_may_be_a_title() -> None:
    assert titled(line("مواعيد المد", 700, size=24, left=500, right=300), line(SENTENCE, 600))


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param([], id="no-text-on-page-one"),
        pytest.param([line(SENTENCE, 700), line(SENTENCE, 680)], id="all-of-one-size"),
        pytest.param(
            [line("Long " * 50, 700, size=20, right=999), line("x" * 300, 600)], id="a-paragraph"
        ),
    ],
)
def test_without_any_of_them_the_file_names_it(lines: list[Line]) -> None:
    assert titled(*lines) == "tide-tables"


def test_the_first_heading_of_a_pdf_does_not_name_it() -> None:
    pdf = Pdf().line("1. Introduction", 740, size=24)
    for at in range(6):
        pdf.line(SENTENCE, 700 - at * 13)
    document = loaded(pdf.bytes(), "tides.pdf")
    assert (document.title, headings(document)) == ("tides", [(1, "1. Introduction")])


def wide(*words: str) -> list[Line]:
    """Lines so large that nothing else on the page is."""
    return [line(said, 700 - at * 30, size=24, right=350) for at, said in enumerate(words)]


def titled(*lines: Line, stated: str = "") -> str:
    return find_title(stated, {1: list(lines)}, filename="tide-tables.pdf")
