import pytest

from corpus.errors import EmptyDocument, UnreadableFile
from corpus.loaders.blocks import Block
from tests.unit.loaders.sample_files import (
    OFFICE,
    cell,
    docx,
    headings,
    loaded,
    paragraph,
    pptx,
    relations,
    shape,
    table_xlsx,
    texts,
    xlsx,
    zip_of,
)  # fmt: skip

pytestmark = pytest.mark.usefixtures("in_process")

STYLES = (
    '<w:style w:styleId="H1"><w:name w:val="heading 1"/></w:style>'
    '<w:style w:styleId="Mine"><w:name w:val="Kapitel"/><w:basedOn w:val="Lvl"/></w:style>'
    '<w:style w:styleId="Lvl"><w:pPr><w:outlineLvl w:val="1"/></w:pPr></w:style>'
    '<w:style w:styleId="T"><w:name w:val="Title"/></w:style>'
)
NUMBERING = (
    '<w:abstractNum w:abstractNumId="1">'
    '<w:lvl w:ilvl="0"><w:numFmt w:val="decimal"/><w:lvlText w:val="%1."/></w:lvl>'
    '<w:lvl w:ilvl="1"><w:numFmt w:val="decimal"/><w:lvlText w:val="%1.%2"/></w:lvl>'
    '</w:abstractNum><w:abstractNum w:abstractNumId="2">'
    '<w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/></w:lvl></w:abstractNum>'
    '<w:num w:numId="1"><w:abstractNumId w:val="1"/></w:num>'
    '<w:num w:numId="2"><w:abstractNumId w:val="2"/></w:num>'
)


def item(text: str, number: int, depth: int = 0) -> str:
    properties = f'<w:numPr><w:ilvl w:val="{depth}"/><w:numId w:val="{number}"/></w:numPr>'
    return paragraph(text, properties=properties)


def word_table(*rows: str) -> str:
    return f"<w:tbl>{''.join(f'<w:tr>{row}</w:tr>' for row in rows)}</w:tbl>"


def word_cell(text: str, properties: str = "") -> str:
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{paragraph(text)}</w:tc>"


def test_word_headings_follow_outline_levels_names_and_base_styles() -> None:
    body = (
        paragraph("The Title", "T") + paragraph("One", "H1") + paragraph("Two", "Mine")
        + paragraph("Three", properties='<w:outlineLvl w:val="2"/>') + paragraph("Text")
    )  # fmt: skip
    document = loaded(docx(body, styles=STYLES), "a.docx")
    assert headings(document) == [(1, "The Title"), (1, "One"), (2, "Two"), (3, "Three")]
    assert document.title == "The Title"
    assert document.blocks[-1] == Block("Text")


def test_word_lists_are_one_block_with_the_numbers_as_printed() -> None:
    body = (
        item("a", 1) + item("b", 1, 1) + item("c", 1, 1) + item("d", 1) + paragraph("Text")
        + item("x", 2) + item("y", 2)
    )  # fmt: skip
    assert texts(loaded(docx(body, numbering=NUMBERING), "a.docx")) == [
        "1. a\n  1.1 b\n  1.2 c\n2. d",
        "Text",
        "- x\n- y",
    ]


def test_word_tables_repeat_merged_cells() -> None:
    wide, first, rest = (
        '<w:gridSpan w:val="2"/>', '<w:vMerge w:val="restart"/>', "<w:vMerge/>"
    )  # fmt: skip
    body = word_table(
        word_cell("A") + word_cell("B", wide),
        word_cell("1", first) + word_cell("2") + word_cell("3"),
        word_cell("", rest) + word_cell("4") + word_cell("5"),
    )
    assert texts(loaded(docx(body), "a.docx")) == [
        "| A | B | B |\n| --- | --- | --- |\n| 1 | 2 | 3 |\n| 1 | 4 | 5 |"
    ]


def test_word_text_is_as_printed() -> None:
    run = (
        "<w:p><w:r><w:t>one</w:t><w:tab/><w:t>two</w:t><w:br/><w:t>a</w:t><w:noBreakHyphen/></w:r>"
    )
    body = (
        run + "<w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:ins><w:r><w:t>new</w:t>"
        "</w:r></w:ins><w:r><w:instrText>PAGE</w:instrText></w:r><w:hyperlink><w:r><w:t> link"
        "</w:t></w:r></w:hyperlink></w:p>"
    )
    assert texts(loaded(docx(body), "a.docx")) == ["one\ttwo\na-new link"]


def test_word_equations_are_tex() -> None:
    math = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
    run = "<m:r><m:t>{}</m:t></m:r>".format
    fraction = f"<m:f><m:num>{run('a')}</m:num><m:den>{run('b')}</m:den></m:f>"
    power = f"<m:sSup><m:e>{run('x')}</m:e><m:sup>{run('2')}</m:sup></m:sSup>"
    root = f"<m:rad><m:deg/><m:e>{run('y')}</m:e></m:rad>"
    body = f"<w:p {math}><m:oMath>{fraction}{run('+')}{power}{root}</m:oMath></w:p>"
    assert texts(loaded(docx(body), "a.docx")) == [r"$\frac{a}{b}+x^{2}\sqrt{y}$"]


def test_word_text_boxes_are_read_once_though_stored_twice() -> None:
    box = f"<w:txbxContent>{paragraph('In the box')}</w:txbxContent>"
    compatible = 'xmlns:c="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    body = (
        f"<w:p {compatible}><w:r><w:t>Text</w:t><c:AlternateContent><c:Choice>{box}</c:Choice>"
        f"<c:Fallback>{box}</c:Fallback></c:AlternateContent></w:r></w:p>"
    )
    assert texts(loaded(docx(body), "a.docx")) == ["Text", "In the box"]


def test_word_footnotes_and_comments_come_last() -> None:
    notes = (
        f'<w:footnote w:type="separator">{paragraph("---")}</w:footnote>'
        f"<w:footnote>{paragraph('A note')}</w:footnote>"
    )
    comments = f'<w:comment w:author="Ann" w:date="2024-01-02">{paragraph("Why?")}</w:comment>'
    document = loaded(docx(paragraph("Text"), footnotes=notes, comments=comments), "a.docx")
    assert texts(document) == ["Text", "A note", "Comment by Ann, 2024-01-02: Why?"]


def test_a_strict_word_file_whose_document_has_another_name_is_read() -> None:
    strict = 'xmlns:w="http://purl.oclc.org/ooxml/wordprocessingml/main"'
    content = zip_of(
        {
            "[Content_Types].xml": "",
            "_rels/.rels": relations(("r1", "officeDocument", "word/other.xml")),
            "word/other.xml": f"<w:document {strict}><w:body>{paragraph('Text')}</w:body>"
            "</w:document>",
        }
    )
    assert texts(loaded(content, "a.docx")) == ["Text"]


def test_a_word_file_without_text_or_body_is_refused() -> None:
    with pytest.raises(EmptyDocument, match="Word"):
        loaded(docx(paragraph("")), "a.docx")
    content = zip_of({"[Content_Types].xml": "", "word/document.xml": "<x/>"})
    with pytest.raises(UnreadableFile, match="body"):
        loaded(content, "a.docx")


def test_excel_rows_are_kept_with_their_header_below_the_sheet_name() -> None:
    document = loaded(table_xlsx([["Year", "Ducks"], ["2020", "135"], ["2021", "150"]]), "b.xlsx")
    assert document.blocks[0] == Block("Ducks", 2, "Ducks")
    assert texts(document)[1:] == ["Year: 2020; Ducks: 135", "Year: 2021; Ducks: 150"]
    assert document.title == "b"


def test_excel_titles_above_a_table_and_tables_below_are_told_apart() -> None:
    rows = [["Ducks by year", ""], ["Year", "Ducks"], ["2020", "135"], [], ["Town", "Size"],
            ["Bern", "big"]]  # fmt: skip
    assert texts(loaded(table_xlsx(rows), "b.xlsx"))[1:] == [
        "Ducks by year",
        "Year: 2020; Ducks: 135",
        "Town: Bern; Size: big",
    ]


def test_excel_tables_side_by_side_are_told_apart() -> None:
    rows = [["A", "B", "", "C", "D"], ["1", "2", "", "3", "4"]]
    assert texts(loaded(table_xlsx(rows), "b.xlsx"))[1:] == ["A: 1; B: 2", "C: 3; D: 4"]


def test_excel_numbers_are_shown_as_dates_and_percentages() -> None:
    styles = (
        '<numFmts><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd\\ h:mm"/></numFmts>'
        '<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="10"/><xf numFmtId="164"/>'
        '<xf numFmtId="20"/></cellXfs>'
    )
    row = "".join(
        cell(f"{column}1", value, "n", style)
        for column, value, style in (
            ("A", "44927", 1), ("B", "0.125", 2), ("C", "44927.5", 3), ("D", "0.25", 4),
            ("E", "0.1", 0),
        )
    )  # fmt: skip
    (table,) = texts(loaded(xlsx(f'<row r="1">{row}</row>', styles=styles), "b.xlsx"))[1:]
    assert table.split("\n")[0] == (
        "| 2023-01-01 | 12.50% | 2023-01-01 12:00:00 | 06:00:00 | 0.1 |"
    )


def test_excel_merged_cells_are_repeated() -> None:
    rows = (
        f'<row r="1">{cell("A1", "Town")}{cell("B1", "Bird")}</row>'
        f'<row r="2">{cell("A2", "Bern")}{cell("B2", "Duck")}</row>'
        f'<row r="3"><c r="A3"/>{cell("B3", "Swan")}</row>'
    )
    merged = '<mergeCells><mergeCell ref="A2:A3"/></mergeCells>'
    assert texts(loaded(xlsx(rows, after=merged), "b.xlsx"))[1:] == [
        "Town: Bern; Bird: Duck",
        "Town: Bern; Bird: Swan",
    ]


def test_numbers_that_files_only_claim_do_no_harm() -> None:
    rows = f'<row r="{"9" * 5000}">{cell("A1", "x")}<c r="B" t="s"><v>{"9" * 30}</v></c></row>'
    assert texts(loaded(xlsx(rows), "b.xlsx"))[1:] == ["x"]
    rows = "".join(f'<row r="{n}">{cell(f"XFD{n}", "x")}</row>' for n in range(1, 2000))
    assert len(loaded(xlsx(rows), "b.xlsx").blocks) > 1


def test_slides_are_pages_with_their_title_first() -> None:
    document = loaded(
        pptx(
            shape("Body one\nBody two", "body") + shape("The title", "title"),
            shape("Alone") + shape("7", "sldNum"),
            notes={2: "Say hello"},
        ),
        "a.pptx",
    )
    assert document.blocks == (
        Block("The title", 1, "The title", 1),
        Block("- Body one\n- Body two", page=1),
        Block("Alone", page=2),
        Block("Notes: Say hello", page=2),
    )


def test_slide_tables_and_groups_are_read() -> None:
    cells = "".join(f"<a:tc><a:txBody><a:p><a:r><a:t>{t}</a:t></a:r></a:p></a:txBody></a:tc>"
                    for t in "ab")  # fmt: skip
    table = (
        f"<p:graphicFrame><a:tbl><a:tr>{cells}</a:tr><a:tr>{cells}</a:tr></a:tbl></p:graphicFrame>"
    )
    document = loaded(pptx(f"<p:grpSp>{shape('Grouped')}</p:grpSp>{table}"), "a.pptx")
    assert texts(document) == ["Grouped", "| a | b |\n| --- | --- |\n| a | b |"]


def test_charts_give_their_numbers() -> None:
    chart = 'xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart"'
    points = "<c:pt><c:v>{}</c:v></c:pt><c:pt><c:v>{}</c:v></c:pt>".format
    series = (
        f"<c:ser><c:tx>{'<c:v>Ducks</c:v>'}</c:tx><c:cat>{points(2020, 2021)}</c:cat>"
        f"<c:val>{points(135, 150)}</c:val></c:ser>"
    )
    body = paragraph("Text")
    content = zip_of(
        {
            "[Content_Types].xml": "",
            "word/document.xml": '<w:document xmlns:w="http://schemas.openxmlformats.org/'
            f'wordprocessingml/2006/main" xmlns:r="{OFFICE}"><w:body>{body}</w:body></w:document>',
            "word/_rels/document.xml.rels": relations(("r1", "chart", "charts/c.xml")),
            "word/charts/c.xml": f"<c:chartSpace {chart}>{series}</c:chartSpace>",
        }
    )
    assert texts(loaded(content, "a.docx")) == [
        "Text",
        "|  | Ducks |\n| --- | --- |\n| 2020 | 135 |\n| 2021 | 150 |",
    ]
