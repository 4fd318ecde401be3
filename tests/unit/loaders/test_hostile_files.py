import io
import random
import time
import zipfile
from collections.abc import Iterator

import pytest

from corpus.errors import EmptyDocument, PkbError, TextTooLong, UnreadableFile
from corpus.loaders import load_file
from corpus.loaders.archives import check_zip, unpacked_bytes
from tests.unit.loaders.sample_files import (
    LAUGHS,
    WORD,
    Pdf,
    deflated,
    docx,
    limits,
    loaded,
    odf,
    paragraph,
    pdf_of,
    pptx,
    table_xlsx,
    xlsx,
    zip_of,
)  # fmt: skip

MAX_SECONDS = 20.0  # five on an idle machine; tests share theirs


@pytest.fixture(autouse=True)
def soon() -> Iterator[None]:
    began = time.monotonic()
    yield
    assert time.monotonic() - began < MAX_SECONDS


@pytest.fixture(params=["guarded", "in this process"])
def either_way(request: pytest.FixtureRequest) -> None:
    """Read files that do no harm with and without the guarding process."""
    if request.param != "guarded":
        request.getfixturevalue("in_process")


either = pytest.mark.usefixtures("either_way")


@either
def test_a_zip_bomb_is_refused_by_its_directory() -> None:
    with pytest.raises(UnreadableFile, match="100 times"):
        loaded(docx(paragraph("x") * 100_000), "a.docx")


@either
def test_an_archive_over_the_size_limit_is_refused() -> None:
    content = docx(paragraph("word"))
    with pytest.raises(UnreadableFile, match="unpacks to"):
        load_file(content, filename="a.docx", limits=limits(max_unpacked_bytes=100))


@either
def test_an_archive_of_too_many_entries_is_refused() -> None:
    content = docx(paragraph("word"))
    with pytest.raises(UnreadableFile, match="more than 2 entries"):
        load_file(content, filename="a.docx", limits=limits(max_entries=2))
    with pytest.raises(UnreadableFile, match="more than 2 entries"):
        check_zip(content, limits=limits(max_entries=2))


def test_what_an_archive_unpacks_to_is_read_from_its_directory() -> None:
    assert unpacked_bytes(zip_of({"a": "x" * 500, "b": "y" * 7})) == 507


@either
def test_an_encrypted_entry_is_refused() -> None:
    content = bytearray(docx(paragraph("word")))
    at = content.index(b"PK\x01\x02")
    content[at + 8] |= 1
    with pytest.raises(UnreadableFile, match="encrypted"):
        loaded(bytes(content), "a.docx")


@either
@pytest.mark.parametrize("source", ["<x>", "<x/><y/>", "\x01"])
def test_office_parts_that_are_no_xml_are_refused(source: str) -> None:
    content = zip_of({"[Content_Types].xml": "", "word/document.xml": source})
    with pytest.raises(UnreadableFile, match="not well-formed"):
        loaded(content, "a.docx")


@either
@pytest.mark.parametrize(("sheet", "reason"), [(LAUGHS, "DTD"), ("<x>", "not well-formed")])
def test_sheets_that_are_no_plain_xml_are_refused(sheet: str, reason: str) -> None:
    with zipfile.ZipFile(io.BytesIO(xlsx(""))) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    with pytest.raises(UnreadableFile, match=reason):
        loaded(zip_of({**entries, "xl/worksheets/s.xml": sheet}), "a.xlsx")


@either
def test_an_entry_that_holds_more_than_it_says_is_refused() -> None:
    content = docx(paragraph("word") * 500)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        size = archive.getinfo("word/document.xml").file_size
    lied = content.replace(size.to_bytes(4, "little"), (100).to_bytes(4, "little"))
    with pytest.raises(UnreadableFile):
        loaded(lied, "a.docx")


@either
@pytest.mark.parametrize("name", ["../evil", "/etc/evil", "a/../../evil", "..\\evil"])
def test_paths_outside_the_archive_are_refused(name: str) -> None:
    with pytest.raises(UnreadableFile, match="outside"):
        loaded(
            zip_of({"[Content_Types].xml": "", "word/document.xml": "<x/>", name: "x"}), "a.docx"
        )


@either
def test_unusual_packing_is_refused() -> None:
    content = zip_of({"[Content_Types].xml": "", "word/document.xml": "x"}, method=zipfile.ZIP_LZMA)
    with pytest.raises(UnreadableFile, match="unusual"):
        loaded(content, "a.docx")


@either
@pytest.mark.parametrize(
    ("content", "name"),
    [
        (zip_of({"[Content_Types].xml": "", "word/document.xml": LAUGHS}), "a.docx"),
        (
            zip_of(
                {
                    "[Content_Types].xml": "",
                    "word/document.xml": (
                        '<?xml version="1.0" encoding="utf-16"?>' + LAUGHS
                    ).encode("utf-16"),
                }
            ),
            "a.docx",
        ),
    ],
)
def test_entities_in_office_files_are_refused(content: bytes, name: str) -> None:
    with pytest.raises(UnreadableFile, match="DTD"):
        loaded(content, name)


def test_deep_nesting_in_office_files_is_refused() -> None:
    opened, closed = "<w:sdt><w:sdtContent>" * 20_000, "</w:sdtContent></w:sdt>" * 20_000
    with pytest.raises(UnreadableFile, match="deep"):
        loaded(docx(opened + closed), "a.docx")


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ("[" * 200_000, "a.json"),
        ('{"a":' * 5_000 + "1" + "}" * 5_000, "a.json"),
        ('{"cells":' + "[" * 200_000, "a.ipynb"),
        ("<a>" * 50_000 + "</a>" * 50_000, "a.xml"),
        ("<div>" * 100_000, "a.html"),
    ],
)
def test_deep_nesting_is_refused_with_a_reason(content: str, name: str) -> None:
    with pytest.raises(UnreadableFile, match="deep"):
        loaded(content, name)


@pytest.mark.parametrize(
    "content",
    [
        ">" * 100_000 + "x",
        "[" * 100_000,
        "`" * 100_000,
        "- " * 40_000 + "x",
        "a**b" * 30_000,
        "# " + "*a " * 30_000,
        "<!--\n" * 20_000,
        "|a" * 1000 + "|\n" + "|-" * 1000 + "|\n" + "|x\n" * 2000,
    ],
)
def test_markdown_made_to_be_slow_is_read_in_time(content: str) -> None:
    assert loaded(content, "a.md").blocks


def test_subtitles_made_to_be_slow_are_read_in_time() -> None:
    source = "WEBVTT\n\n00:01.000 --> 00:02.000\n" + "<a" * 500_000
    assert loaded(source, "a.vtt").blocks


@either
def test_a_thousand_comments_before_html_do_not_stop_detection() -> None:
    with pytest.raises(EmptyDocument):
        loaded("<!---->" * 1100 + "<x>", "a.html")


def test_a_pdf_that_unpacks_to_a_gigabyte_is_refused_or_found_empty() -> None:
    bomb = deflated(deflated(b" " * 300_000_000))
    with pytest.raises((UnreadableFile, EmptyDocument)):
        loaded(pdf_of(bomb, "/Filter[/FlateDecode/FlateDecode]"), "a.pdf")


@either
def test_a_mail_of_many_parts_is_refused() -> None:
    head = "From: a\nSubject: b\nContent-Type: multipart/mixed; boundary=x\n\n"
    with pytest.raises(UnreadableFile, match="parts"):
        loaded(head + "--x\nContent-Type: text/plain\n\nhi\n" * 2000, "a.eml")


@either
def test_mails_inside_mails_are_read_to_a_depth() -> None:
    head = "From: a\nSubject: b\nTo: c\nContent-Type: message/rfc822\n\n"
    document = loaded(head * 50, "a.eml")
    assert len(document.blocks) < 20


def test_text_over_the_limit_is_too_long() -> None:
    with pytest.raises(TextTooLong, match="1,002"):
        load_file(b"x" * 1000, filename="a.txt", limits=limits(max_chars=1000))


def outcome_of(content: bytes, name: str) -> str:
    """The text or the reason; a parser that fails in an unforeseen way gives neither."""
    try:
        return "".join(block.text for block in loaded(content, name).blocks)
    except PkbError as error:
        return "" if "in the parser" in str(error) else str(error)


def test_any_damage_to_a_file_ends_in_a_document_or_a_reason() -> None:
    files = {
        "a.docx": docx(paragraph("word")),
        "a.xlsx": table_xlsx([["a", "b"], ["1", "2"]]),
        "a.pptx": pptx("<p:sp/>"),
        "a.odt": odf("text", "<text:p>x</text:p>"),
        "a.pdf": Pdf().line("Text", 700).bytes(),
        "a.eml": b"From: a\nSubject: b\nContent-Type: multipart/mixed; boundary=x\n\n--x\n\nhi\n",
        "a.ipynb": b'{"cells": [{"cell_type": "code", "source": ["x"]}]}',
    }
    dice = random.Random(7)  # noqa: S311 - no secret
    for name, content in files.items():
        for _ in range(25):
            damaged = bytearray(content)
            for _ in range(dice.randint(1, 20)):
                damaged[dice.randrange(len(damaged))] = dice.randrange(256)
            assert outcome_of(bytes(damaged), name)


@either
def test_wide_word_tables_stay_small() -> None:
    cell = '<w:tc><w:tcPr><w:gridSpan w:val="999999999"/></w:tcPr><w:p/></w:tc>'
    body = f"<w:tbl {WORD}><w:tr>{cell}</w:tr></w:tbl>" + paragraph("Text")
    assert [b.text for b in loaded(docx(body), "a.docx").blocks] == ["Text"]


@either
def test_merged_cells_of_a_whole_sheet_stay_small() -> None:
    merged = '<mergeCells><mergeCell ref="A1:XFD1048576"/></mergeCells>'
    row = '<row r="1"><c r="A1" t="inlineStr"><is><t>x</t></is></c></row>'
    assert loaded(xlsx(row, after=merged), "a.xlsx").blocks[-1].text == "x"
