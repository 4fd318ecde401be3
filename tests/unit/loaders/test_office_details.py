"""What is less common in Word, Excel and PowerPoint files."""

import pytest

from corpus.errors import UnreadableFile
from corpus.loaders.blocks import Block
from tests.unit.loaders.sample_files import (
    OFFICE,
    SHEET,
    cell,
    docx,
    loaded,
    paragraph,
    pptx,
    relations,
    shape,
    table_xlsx,
    texts,
    xlsx,
    zip_of,
    zip_with,
)  # fmt: skip

pytestmark = pytest.mark.usefixtures("in_process")

MATH = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
CHART = (
    'xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" '
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
)
COMPATIBLE = 'xmlns:c="http://schemas.openxmlformats.org/markup-compatibility/2006"'
DRAWN = (
    f"<c:chartSpace {CHART}><c:chart><c:title><a:t>Birds</a:t></c:title></c:chart>"
    "<c:ser><c:val><c:pt><c:v>135</c:v></c:pt></c:val></c:ser></c:chartSpace>"
)
DRAWN_TEXTS = ["Birds", "135"]


def of(name: str, *inside: str) -> str:
    """An element of an equation."""
    return f"<m:{name}>{''.join(inside)}</m:{name}>"


def said(text: str) -> str:
    return of("r", of("t", text))


def with_value(name: str, value: str) -> str:
    return f'<m:{name} m:val="{value}"/>'


@pytest.mark.parametrize(
    ("equation", "tex"),
    [
        (
            of(
                "nary", of("naryPr", with_value("chr", "∑")),
                of("sub", said("i")), of("sup", said("n")), of("e", said("x")),
            ),
            r"\sum_{i}^{n} x",
        ),
        (of("nary", of("e", said("x"))), r"\int x"),
        (of("d", of("e", said("a")), of("e", said("b"))), "(a|b)"),
        (
            of("d", of("dPr", with_value("begChr", "["), with_value("endChr", "]")),
               of("e", said("a"))),
            "[a]",
        ),
        (of("func", of("fName", said("sin")), of("e", said("x"))), r"\sin{x}"),
        (of("func", of("fName", said("log 2")), of("e", said("x"))), "log 2 x"),
        (of("limLow", of("e", said("lim")), of("lim", said("n"))), "lim_{n}"),
        (of("limUpp", of("e", said("max")), of("lim", said("k"))), "max^{k}"),
        (
            of("m", of("mr", of("e", said("1")), of("e", said("0"))),
               of("mr", of("e", said("0")), of("e", said("1")))),
            r"\begin{matrix}1 & 0 \\ 0 & 1\end{matrix}",
        ),
        (of("eqArr", of("e", said("a=b")), of("e", said("c=d"))), r"a=b \\ c=d"),
        (of("r", of("rPr", of("sty", said("bold"))), of("t", "z")), "z"),
    ],
    ids=[
        "sum", "integral", "parted brackets", "other brackets", "function", "named otherwise",
        "below", "above", "matrix", "lines", "properties",
    ],
)  # fmt: skip
def test_equations_are_tex(equation: str, tex: str) -> None:
    body = f"<w:p {MATH}>{of('oMath', equation)}</w:p>"
    assert texts(loaded(docx(body), "a.docx")) == [f"${tex}$"]


def test_word_content_controls_are_looked_into() -> None:
    row = f"<w:sdt><w:sdtContent><w:tr><w:tc>{paragraph('a')}</w:tc>"
    row += f"<w:tc>{paragraph('b')}</w:tc></w:tr></w:sdtContent></w:sdt>"
    body = f"<w:sdt><w:sdtContent>{paragraph('Inside')}</w:sdtContent></w:sdt><w:tbl>{row}</w:tbl>"
    assert texts(loaded(docx(body), "a.docx")) == ["Inside", "| a | b |\n| --- | --- |"]


def test_a_word_table_of_no_cells_is_nothing() -> None:
    body = f"<w:tbl><w:tr/></w:tbl>{paragraph('Text')}"
    assert texts(loaded(docx(body), "a.docx")) == ["Text"]


def test_word_lists_count_by_letters() -> None:
    numbering = (
        '<w:abstractNum w:abstractNumId="1"><w:lvl w:ilvl="0"><w:numFmt w:val="lowerLetter"/>'
        '<w:lvlText w:val="%1)"/></w:lvl></w:abstractNum>'
        '<w:num w:numId="1"><w:abstractNumId w:val="1"/></w:num>'
    )
    item = '<w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr>'
    body = paragraph("one", properties=item) + paragraph("two", properties=item)
    assert texts(loaded(docx(body, numbering=numbering), "a.docx")) == ["a) one\nb) two"]


CORE = (
    '<cp:coreProperties xmlns:dc="http://purl.org/dc/elements/1.1/" '
    'xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties">'
    "<dc:title>Ducks</dc:title><dc:creator>Ann</dc:creator><dc:subject> </dc:subject>"
    "<cp:keywords>birds, , Water</cp:keywords></cp:coreProperties>"
)
OFFICE_FILES = {
    "a.docx": docx(paragraph("Text")),
    "a.pptx": pptx(shape("Text")),
    "a.xlsx": table_xlsx([["Text"]]),
}


@pytest.mark.parametrize("filename", OFFICE_FILES)
def test_office_properties_are_metadata_and_tags(filename: str) -> None:
    content = zip_with(OFFICE_FILES[filename], {"docProps/core.xml": CORE})
    document = loaded(content, filename)
    assert document.title == "Ducks"
    assert document.metadata == {"author": "Ann"}
    assert document.tags == ("birds", "Water")


def test_a_chart_that_is_not_there_does_no_harm() -> None:
    links = relations(("r1", "chart", "charts/absent.xml"))
    content = zip_with(docx(paragraph("Text")), {"word/_rels/document.xml.rels": links})
    assert texts(loaded(content, "a.docx")) == ["Text"]


@pytest.mark.parametrize(
    ("folder", "filename", "kind"),
    [("ppt", "a.pptx", "PowerPoint"), ("xl", "a.xlsx", "Excel")],
)
def test_an_office_file_without_its_main_part_is_unreadable(
    folder: str, filename: str, kind: str
) -> None:
    content = zip_of({"[Content_Types].xml": "", f"{folder}/other.xml": "<x/>"})
    with pytest.raises(UnreadableFile, match=f"The {kind} file has no"):
        loaded(content, filename)


def test_a_slide_without_shapes_is_left_out() -> None:
    content = zip_with(pptx("", shape("Text")), {"ppt/slides/slide1.xml": "<x/>"})
    assert loaded(content, "a.pptx").blocks == (Block("Text", page=2),)


def test_slide_alternatives_are_read_once() -> None:
    run = "<a:r><a:t>{}</a:t></a:r>".format
    choice = f"<c:Choice>{run('one')}</c:Choice><c:Fallback>{run('other')}</c:Fallback>"
    line = f"<a:p><c:AlternateContent>{choice}</c:AlternateContent><a:br/>{run('two')}</a:p>"
    body = f"<p:sp {COMPATIBLE}><p:txBody>{line}</p:txBody></p:sp>"
    outer = f"<c:AlternateContent {COMPATIBLE}><c:Choice>{body}</c:Choice></c:AlternateContent>"
    assert texts(loaded(pptx(outer), "a.pptx")) == ["one\ntwo"]


def test_slide_equations_are_tex() -> None:
    line = f"<a:p {MATH}><a:r><a:t>So </a:t></a:r>{of('oMath', said('x'))}</a:p>"
    slide = f"<p:sp><p:txBody>{line}</p:txBody></p:sp>"
    assert texts(loaded(pptx(slide), "a.pptx")) == ["So $x$"]


def test_slide_lists_have_their_marks() -> None:
    lines = [
        ("<a:pPr><a:buAutoNum/></a:pPr>", "first"),
        ('<a:pPr lvl="1"><a:buAutoNum/></a:pPr>', "inner"),
        ("<a:pPr><a:buAutoNum/></a:pPr>", "second"),
        ('<a:pPr lvl="1"><a:buAutoNum/></a:pPr>', "counted anew"),
        ("<a:pPr><a:buChar/></a:pPr>", "bullet"),
        ("<a:pPr><a:buNone/></a:pPr>", "plain"),
        ("<a:pPr/>", "as the shape has it"),
        ("", " "),
    ]
    body = "".join(f"<a:p>{mark}<a:r><a:t>{text}</a:t></a:r></a:p>" for mark, text in lines)
    slide = f"<p:sp><p:txBody>{body}</p:txBody></p:sp>"
    assert texts(loaded(pptx(slide), "a.pptx")) == [
        "1. first\n  1. inner\n2. second\n  1. counted anew\n- bullet\nplain\nas the shape has it"
    ]


def test_slide_cells_that_span_are_repeated() -> None:
    def row(*cells: tuple[str, str]) -> str:
        inside = "".join(
            f"<a:tc {span}><a:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></a:txBody></a:tc>"
            for text, span in cells
        )
        return f"<a:tr>{inside}</a:tr>"

    rows = row(("a", ""), ("b", "")) + row(("", 'vMerge="1"'), ("c", ""))
    rows += row(("wide", ""), ("", 'hMerge="1"'))
    slide = f"<p:graphicFrame><a:tbl>{rows}</a:tbl></p:graphicFrame>"
    assert texts(loaded(pptx(slide), "a.pptx")) == [
        "| a | b |\n| --- | --- |\n| a | c |\n| wide | wide |"
    ]


def test_slides_have_their_charts_and_comments() -> None:
    frame = f'<p:graphicFrame><c:chart {CHART} r:id="r1"/></p:graphicFrame>'
    parts = {
        "ppt/slides/_rels/slide1.xml.rels": relations(
            ("r1", "chart", "../charts/c.xml"), ("r2", "comments", "../comments/c.xml")
        ),
        "ppt/_rels/presentation.xml.rels": relations(
            ("r1", "slide", "slides/slide1.xml"), ("r9", "commentAuthors", "authors.xml")
        ),
        "ppt/authors.xml": '<l><a id="1" name="Ann" initials="A"/><a id="2" name="Bo"/></l>',
        "ppt/charts/c.xml": DRAWN,
        "ppt/comments/c.xml": '<l><cm authorId="1" dt="2024-01-02"><text>Why?</text></cm>'
        '<cm authorId="2"><text>Ask.</text></cm><cm authorId="9"><text>Who?</text></cm></l>',
    }
    document = loaded(zip_with(pptx(shape("Text") + frame), parts), "a.pptx")
    assert texts(document) == [
        "Text",
        *DRAWN_TEXTS,
        "Comment by Ann (A), 2024-01-02: Why?",
        "Comment by Bo: Ask.",
        "Comment: Who?",
    ]
    assert {block.page for block in document.blocks} == {1}


def test_sheets_have_their_charts_and_comments() -> None:
    parts = {
        "xl/worksheets/_rels/s.xml.rels": relations(
            ("r1", "drawing", "../drawings/d.xml"), ("r2", "comments", "../comments.xml"),
            ("r3", "threadedComment", "../threaded.xml"), ("r4", "comments", "../absent.xml"),
        ),
        "xl/drawings/_rels/d.xml.rels": relations(
            ("r1", "chart", "../charts/c.xml"), ("r2", "image", "../media/i.png")
        ),
        "xl/charts/c.xml": DRAWN,
        "xl/comments.xml": "<l><authors><author>Bo</author></authors>"
        '<comment authorId="0"><t>Old.</t></comment>'
        '<comment authorId="0"><t>[Threaded comment] as new programs show it</t></comment></l>',
        "xl/threaded.xml": '<l><threadedComment personId="p1"><text>New.</text>'
        "</threadedComment></l>",
        "xl/_rels/workbook.xml.rels": relations(
            ("r1", "worksheet", "worksheets/s.xml"), ("r2", "person", "persons.xml")
        ),
        "xl/persons.xml": '<l><person id="p1" displayName="Cy"/></l>',
    }  # fmt: skip
    document = loaded(zip_with(xlsx(""), parts), "b.xlsx")
    assert texts(document) == [
        "Ducks",
        *DRAWN_TEXTS,
        "Comment by Bo: Old.",
        "Comment by Cy: New.",
    ]


def row_of(*cells: str) -> str:
    return f'<row r="1">{"".join(cells)}</row>'


def shown(content: bytes) -> list[str]:
    """The values of a workbook's one row; a number is no column's name."""
    (table,) = texts(loaded(content, "b.xlsx"))[1:]
    return [value.strip() for value in table.split("\n")[0].strip("| ").split("|")]


def test_excel_values_of_other_kinds_are_as_shown() -> None:
    styles = '<numFmts><numFmt numFmtId="164" formatCode="0.0%"/></numFmts>'
    styles += '<cellXfs><xf numFmtId="164"/><xf numFmtId="14"/></cellXfs>'
    cells = [
        cell("A1", "1", "b"), cell("B1", "0", "b"), cell("C1", "0.125", "n", 0),
        cell("D1", "1e300", "n", 1), cell("E1", "nonsense", "n"), '<c t="str"><v>last</v></c>',
    ]  # fmt: skip
    assert shown(xlsx(row_of(*cells), styles=styles)) == [
        "TRUE", "FALSE", "12.5%", "1e300", "nonsense", "last",
    ]  # fmt: skip


def test_the_second_of_two_cells_in_one_place_counts() -> None:
    assert shown(
        xlsx(row_of(cell("A1", "1", "n"), cell("B1", "2", "n"), cell("A1", "3", "n")))
    ) == [
        "3",
        "2",
    ]


def test_excel_shared_strings_are_read_without_their_readings() -> None:
    strings = f"<sst {SHEET}><si><t>東京</t><rPh><t>トウキョウ</t></rPh></si></sst>"
    content = xlsx(row_of(cell("A1", "0", "s"), cell("B1", "1", "n")))
    assert shown(zip_with(content, {"xl/sharedStrings.xml": strings})) == ["東京", "1"]


def test_a_workbook_without_styles_or_with_a_lost_sheet_is_read() -> None:
    content = xlsx(row_of(cell("A1", "1", "n"), cell("B1", "2", "n")))
    assert shown(zip_with(content, {"xl/styles.xml": None})) == ["1", "2"]
    lost = (
        f'<workbook {SHEET} xmlns:r="{OFFICE}"><sheets><sheet name="Lost" sheetId="2" r:id="r2"/>'
        '<sheet name="Ducks" sheetId="1" r:id="r1"/></sheets></workbook>'
    )
    links = relations(
        ("r1", "worksheet", "worksheets/s.xml"), ("r2", "worksheet", "worksheets/lost.xml")
    )
    parts = {"xl/workbook.xml": lost, "xl/_rels/workbook.xml.rels": links}
    assert shown(zip_with(content, parts)) == ["1", "2"]


def test_excel_forms_are_left_together() -> None:
    rows = "".join(
        f'<row r="{n}">{cell(f"A{n}", name)}{cell(f"C{n}", value)}</row>'
        for n, name, value in ((1, "Age", "33"), (2, "Height", "170"))
    )
    assert texts(loaded(xlsx(rows), "b.xlsx"))[1:] == [
        "| Age | 33 |\n| --- | --- |\n| Height | 170 |"
    ]
