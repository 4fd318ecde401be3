"""What is less common in pages, books, mails, PDFs and files of plain text."""

import pytest

from corpus.errors import EmptyDocument, UnreadableFile, UnsupportedMediaType
from corpus.loaders import load_file
from corpus.loaders.blocks import Block
from corpus.loaders.charset import decode
from corpus.loaders.formats import html_blocks, html_loader
from corpus.loaders.formats.html_loader import load as load_html
from corpus.loaders.formats.pdf_loader import _MAX_OUTLINE, _MAX_PAGES
from tests.unit.loaders.sample_files import (
    Pdf,
    epub,
    headings,
    loaded,
    odf,
    texts,
    zip_of,
    zip_with,
)  # fmt: skip

pytestmark = pytest.mark.usefixtures("in_process")

PROSE = "Mallards are large ducks of ponds and slow rivers, and they are seen all year. "
MENU = "<nav>" + "<p><a href='/x'>Menu item</a></p>" * 20 + "</nav>"


def blocks(source: str) -> tuple[Block, ...]:
    return loaded(f"<html><body>{source}</body></html>", "a.html").blocks


def test_line_breaks_in_a_listing_are_lines() -> None:
    assert blocks("<pre>one<br>two</pre>") == (Block("one\ntwo"),)


def test_math_stands_in_paragraphs_cells_and_items() -> None:
    math = "<math alttext='x^2'></math>"
    row = f"<tr><td>So {math}</td><td>1</td></tr>"
    assert texts(loaded(f"<ul><li>It is {math}.</li></ul><table>{row}</table>", "a.html")) == [
        "- It is x^2.",
        "| So x^2 | 1 |\n| --- | --- |",
    ]


def test_lists_right_inside_lists_go_further_in_and_hidden_items_out() -> None:
    source = "<ol><li>a</li><li hidden>gone</li><ul><li>b</li></ul><li>c</li></ol>"
    assert blocks(source) == (Block("1. a\n  - b\n2. c"),)


def test_a_table_around_a_table_lays_out_a_page() -> None:
    inner = "<table><tr><td>1</td><td>2</td></tr></table>"
    assert texts(loaded(f"<table><tr><td>Left</td><td>{inner}</td></tr></table>", "a.html")) == [
        "Left",
        "| 1 | 2 |\n| --- | --- |",
    ]


def test_cells_that_claim_to_span_a_thousand_rows_stay_small(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(html_blocks, "_MAX_SPANNED_CELLS", 2)
    rows = "<tr><td rowspan=3>a</td><td>b</td></tr><tr><td>c</td><td>d</td></tr>"
    (table,) = blocks(f"<table>{rows}</table>")
    assert table.text == "| a | b |\n| --- | --- |\n| c | d |"


def test_a_page_of_nothing_has_no_elements() -> None:
    with pytest.raises(EmptyDocument, match="no elements"):
        load_html(b"<!-- nothing -->", filename="a.html")


def test_a_page_too_large_to_search_keeps_all_its_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html_loader, "_MAX_ELEMENTS", 10)
    document = loaded(f"<body>{MENU}<p>By Ann</p><p>{PROSE}</p></body>", "a.html")
    assert texts(document) == ["By Ann", PROSE.strip()]


def test_short_main_text_beside_the_long_one_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    main = f"In short\n{PROSE}\nThe end."
    monkeypatch.setattr("trafilatura.extract", lambda root, **options: main)
    body = f"{MENU}<p>Imprint</p><p>In short</p><p>{PROSE}</p><p>The end.</p><p>Cookies</p>"
    found = texts(loaded(f"<body>{body}</body>", "a.html"))
    assert found == ["In short", PROSE.strip(), "The end."]


def test_what_the_main_text_leaves_out_in_its_middle_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All but what is only links; and the heading above with its lead."""
    parts = [f"{number}: {PROSE}".strip() for number in range(3)]
    main = f"{parts[1]}\n{parts[2]}"
    monkeypatch.setattr("trafilatura.extract", lambda root, **options: main)
    links = "<p><a href='/x'>Swans, geese and whatever else there is on ponds and on rivers</a></p>"
    middle = f"{links}<p>Short.</p><h2>Range</h2>"
    body = f"<h1>Mallards</h1><p>{parts[0]}</p><p>By Ann</p><p>{parts[1]}</p>{middle}"
    document = loaded(f"<body>{MENU}{body}<p>{parts[2]}</p></body>", "a.html")
    assert texts(document) == ["Mallards", parts[0], parts[1], "Short.", "Range", parts[2]]


def test_list_items_boxes_and_shapes_are_read_in_odt() -> None:
    item = '<text:list-item><text:h text:outline-level="1">Part</text:h></text:list-item>'
    assert headings(loaded(odf("text", f"<text:list>{item}</text:list>"), "a.odt")) == [(1, "Part")]
    box = "<draw:frame><draw:text-box><text:p>In the box</text:p></draw:text-box></draw:frame>"
    inside = f"<text:p>one<text:line-break/>two<text:span>{box}</text:span></text:p>"
    assert texts(loaded(odf("text", inside), "a.odt"))[-1] == "In the box"


def test_what_is_no_cell_of_an_ods_row_is_left_out() -> None:
    row = "<table:table-row><text:soft-page-break/><table:table-cell><text:p>x</text:p>"
    table = f"<table:table>{row}</table:table-cell></table:table-row></table:table>"
    assert texts(loaded(odf("spreadsheet", table), "a.ods"))[-1] == "x"


def test_an_opendocument_or_a_book_without_content_is_unreadable() -> None:
    content = zip_with(odf("text", ""), {"content.xml": "<x/>"})
    with pytest.raises(UnreadableFile, match="no content"):
        loaded(content, "a.odt")
    with pytest.raises(UnreadableFile, match="no package"):
        loaded(zip_of({"mimetype": "application/epub+zip"}), "a.epub")


def test_a_book_leaves_out_chapters_that_are_not_there() -> None:
    page = "<html><body><p>Text</p></body></html>"
    assert texts(loaded(epub({"one": page}, spine=["absent", "one"]), "a.epub")) == ["Text"]


MAIL = "From: a\nTo: b\nDate: now\nSubject: {}\nContent-Type: multipart/mixed; boundary=x\n\n"


def test_pictures_shown_in_a_mail_are_no_attachments() -> None:
    picture = "Content-Type: image/png\nContent-Transfer-Encoding: base64\n\nAAECAwAB\n"
    parts = f"--x\n\nHello\n--x\n{picture}--x--\n"
    document = loaded(MAIL.format("Hi") + parts, "a.eml")
    assert texts(document)[-1] == "Hello"
    assert document.metadata["attachments"] == []


def test_a_part_of_a_mail_that_is_no_text_does_not_hide_the_others() -> None:
    broken = b"--x\nContent-Type: text/plain\nContent-Transfer-Encoding: base64\n\nAAECAwAB\n"
    content = MAIL.format("Hi").encode() + broken + b"--x\n\nHello\n--x--\n"
    assert texts(loaded(content, "a.eml"))[-1] == "Hello"


def test_a_subject_that_cannot_be_decoded_stays_as_it_is() -> None:
    subject = "=?utf-8?b?AAA?="
    assert loaded(MAIL.format(subject) + "--x\n\nHello\n--x--\n", "a.eml").title == subject


def test_messages_attached_too_deeply_are_named_with_the_reason() -> None:
    inner = "From: a\nSubject: deepest\n\nThe end\n"
    for depth in range(5):
        inner = f"From: a\nSubject: {depth}\nContent-Type: message/rfc822\n\n{inner}"
    document = loaded(inner, "a.eml")
    assert "The end" not in texts(document)
    (attached,) = document.metadata["attachments"]
    assert attached["media_type"] == "message/rfc822"


def test_an_old_office_file_of_no_known_kind_is_named() -> None:
    with pytest.raises(UnsupportedMediaType, match="old Office container"):
        load_file(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x01" * 600, filename="a")


def test_lists_of_objects_inside_others_are_numbered_in_json() -> None:
    source = '{"a": {"b": [{"c": 1}, {"c": [{"d": 2}]}]}, "e": "x"}'
    assert texts(loaded(source, "a.json")) == ["e: x", "a.b[0].c: 1\na.b[1].c[0].d: 2"]


def test_front_matter_that_is_no_toml_is_text() -> None:
    document = loaded("+++\nthis is no toml\n+++\n\nText", "a.md")
    assert document.metadata == {}
    assert "Text" in texts(document)


def test_cells_of_a_notebook_of_no_known_kind_are_text() -> None:
    source = '{"cells": [7, {"cell_type": "raw", "source": "One.\\n\\nTwo."}]}'
    assert texts(loaded(source, "a.ipynb")) == ["One.", "Two."]


def test_a_table_inside_a_paragraph_comes_before_its_words() -> None:
    table = "<table><tr><td>a</td><td>b</td></tr></table>"
    assert texts(loaded(f"<doc><sec><p>As in {table}</p></sec></doc>", "a.xml")) == [
        "| a | b |\n| --- | --- |",
        "As in",
    ]


@pytest.mark.parametrize("name", ["utf-32-be", "utf-32-le", "utf-16-be", "utf-16-le"])
def test_wide_characters_without_a_mark_are_told_from_their_nuls(name: str) -> None:
    assert decode("Some plain words".encode(name)) == "Some plain words"


def test_text_that_its_stated_encoding_does_not_fit_is_guessed() -> None:
    said = "Größe und Höhe über die Straße"
    assert decode(said.encode("cp1252"), declared="euc_jp") == said


def test_a_pdf_of_more_pages_than_are_allowed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corpus.loaders.formats.pdf_loader._MAX_PAGES", 1)
    assert _MAX_PAGES > 1
    with pytest.raises(UnreadableFile, match="claims 2 pages"):
        loaded(Pdf().line("One", 700).page().line("Two", 700).bytes(), "a.pdf")


def test_a_pdf_whose_pages_are_no_pages_is_damaged() -> None:
    content = Pdf().line("One", 700).bytes().replace(b"/Type/Page/Parent", b"/Type/Pogo/Parent")
    with pytest.raises(UnreadableFile, match="damaged"):
        loaded(content, "a.pdf")


def test_only_so_much_of_an_outline_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corpus.loaders.formats.pdf_loader._MAX_OUTLINE", 0)
    assert _MAX_OUTLINE > 0
    pdf = Pdf().line("First", 700).line("Text of it.", 650).page().line("Second", 700)
    pdf.line("Text of that.", 650).outline(("First", 1), ("Second", 2))
    assert headings(loaded(pdf.bytes(), "a.pdf")) == [(1, "First")]
