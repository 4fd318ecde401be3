from email.message import EmailMessage

import pytest

from corpus.errors import UnreadableFile
from corpus.loaders.blocks import Block
from tests.unit.loaders.sample_files import (
    Pdf,
    docx,
    epub,
    headings,
    loaded,
    odf,
    paragraph,
    texts,
)  # fmt: skip
from tests.unit.loaders.scanned_files import packed, picture_of_text

pytestmark = pytest.mark.usefixtures("in_process")


def test_odt_headings_lists_and_tables_are_read() -> None:
    inside = (
        '<text:h text:outline-level="2">Part</text:h><text:p>One<text:s text:c="2"/>two'
        "<text:tab/>three<text:line-break/>four</text:p><text:list><text:list-item><text:p>a"
        "</text:p><text:list><text:list-item><text:p>b</text:p></text:list-item></text:list>"
        "</text:list-item></text:list><table:table><table:table-row><table:table-cell><text:p>x"
        '</text:p></table:table-cell><table:table-cell table:number-columns-repeated="2"><text:p>y'
        "</text:p></table:table-cell></table:table-row></table:table>"
    )
    document = loaded(odf("text", inside), "a.odt")
    assert document.blocks == (
        Block("Part", 2, "Part"),
        Block("One  two\tthree\nfour"),
        Block("- a\n  - b"),
        Block("| x | y | y |\n| --- | --- | --- |", labels=("x | y | y",)),
    )


def test_odt_leaves_out_what_was_deleted_and_keeps_notes() -> None:
    inside = (
        "<text:tracked-changes><text:p>gone</text:p></text:tracked-changes><text:p>Text"
        "<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>A note"
        "</text:p></text:note-body></text:note></text:p>"
    )
    assert texts(loaded(odf("text", inside), "a.odt")) == ["Text", "A note"]


def test_ods_rows_are_kept_with_their_header() -> None:
    def row(*cells: str) -> str:
        inside = "".join(
            f"<table:table-cell><text:p>{c}</text:p></table:table-cell>" for c in cells
        )
        filler = '<table:table-cell table:number-columns-repeated="16000"/>'
        return f"<table:table-row>{inside}{filler}</table:table-row>"

    many = 'table:number-rows-repeated="1048000"'
    filler = f"<table:table-row {many}><table:table-cell/></table:table-row>"
    table = f'<table:table table:name="Ducks">{row("Year", "Count")}{row("2020", "7")}{filler}'
    document = loaded(odf("spreadsheet", table + "</table:table>"), "b.ods")
    assert texts(document) == ["Ducks", "Year: 2020; Count: 7"]
    assert document.title == "b"


def test_odp_slides_are_pages() -> None:
    def slide(title: str, text: str) -> str:
        return (
            f'<draw:page><draw:frame presentation:class="title"><draw:text-box><text:p>{title}'
            f"</text:p></draw:text-box></draw:frame><draw:frame><draw:text-box><text:p>{text}"
            "</text:p></draw:text-box></draw:frame></draw:page>"
        )

    document = loaded(odf("presentation", slide("One", "a") + slide("Two", "b")), "a.odp")
    assert document.blocks == (
        Block("One", 1, "One", 1),
        Block("a", page=1),
        Block("Two", 1, "Two", 2),
        Block("b", page=2),
    )


def test_opendocument_metadata_is_kept() -> None:
    meta = "<office:meta><dc:title>On Ducks</dc:title><dc:creator>Ann</dc:creator><meta:keyword>" \
           "bird</meta:keyword></office:meta>"  # fmt: skip
    document = loaded(odf("text", "<text:p>x</text:p>", meta=meta), "a.odt")
    assert (document.title, document.metadata, document.tags) == (
        "On Ducks",
        {"author": "Ann"},
        ("bird",),
    )


def test_an_opendocument_with_a_password_is_unreadable() -> None:
    with pytest.raises(UnreadableFile, match="password"):
        loaded(odf("text", "", manifest="<encryption-data/>"), "a.odt")


def test_books_are_read_in_the_order_of_the_spine() -> None:
    chapters = {
        "b": "<html><body><h1>Second</h1><p>Then.</p></body></html>",
        "a": "<!DOCTYPE html><html><body><h1>First</h1><p>Once.</p></body></html>",
        "unused": "<html><body><p>Not in the spine</p></body></html>",
    }
    document = loaded(epub(chapters, spine=("a", "b")), "a.epub")
    assert texts(document) == ["First", "Once.", "Second", "Then."]
    assert headings(document) == [(1, "First"), (1, "Second")]
    assert (document.title, document.metadata) == ("Ducks", {"author": "Ann Mallard"})


def test_a_book_is_unreadable_where_more_than_its_fonts_is_encrypted() -> None:
    locked = '<encryption><CipherReference URI="OEBPS/a.xhtml"/></encryption>'
    with pytest.raises(UnreadableFile, match="protected"):
        loaded(epub({"a": "garbage"}, spine=("a",), extra=locked), "a.epub")
    locked = '<encryption><CipherReference URI="OEBPS/font.otf"/></encryption>'
    book = epub({"a": "<p>Once.</p>"}, spine=("a",), extra=locked)
    assert texts(loaded(book, "a.epub")) == ["Once."]


def mail(subject: str = "Grüße", text: str = "Hello Bob,\n\nsee you.") -> EmailMessage:
    message = EmailMessage()
    message["From"] = "Ann <ann@example.org>"
    message["To"] = "bob@example.org"
    message["Subject"] = subject
    message["Date"] = "Tue, 02 Jan 2024 03:04:05 +0100"
    message.set_content(text)
    return message


def test_a_mail_gives_its_headers_and_its_text() -> None:
    document = loaded(bytes(mail()), "a.eml")
    assert document.title == "Grüße"
    assert document.metadata == {
        "from": "Ann <ann@example.org>", "to": "bob@example.org", "author": "Ann",
        "created": "2024-01-02T03:04:05+01:00", "attachments": [],
    }  # fmt: skip
    assert texts(document) == [
        "Grüße",
        "From: Ann <ann@example.org>\nTo: bob@example.org\nDate: Tue, 02 Jan 2024 03:04:05 +0100",
        "Hello Bob,",
        "see you.",
    ]


def test_the_plain_rendering_is_preferred_to_html() -> None:
    message = mail(text="Plain words, as many as there are in the other one.")
    message.add_alternative("<p>HTML words, as many as in the other.</p>", subtype="html")
    assert texts(loaded(bytes(message), "a.eml"))[2:] == [
        "Plain words, as many as there are in the other one."
    ]


def test_html_is_read_where_the_plain_rendering_says_nothing() -> None:
    message = mail(text="See HTML.")
    message.add_alternative(f"<h2>News</h2><p>{'Many words. ' * 20}</p>", subtype="html")
    document = loaded(bytes(message), "a.eml")
    assert headings(document)[1:] == [(2, "News")]


def test_attachments_are_read_by_their_own_loaders() -> None:
    message = mail()
    message.add_attachment(
        docx(paragraph("In the Word file")), maintype="application", subtype="octet-stream",
        filename="report.docx",
    )  # fmt: skip
    message.add_attachment(Pdf().line("In the PDF", 700).bytes(), maintype="application",
                           subtype="pdf", filename="paper.pdf")  # fmt: skip
    document = loaded(bytes(message), "a.eml")
    assert texts(document)[-4:] == ["report.docx", "In the Word file", "paper.pdf", "In the PDF"]
    assert headings(document)[1:] == [(2, "report.docx"), (2, "paper.pdf")]


def test_an_attachment_that_cannot_be_read_is_named_with_its_reason() -> None:
    message = mail()
    message.add_attachment(b"\x89PNG\r\n\x1a\n\x00\x00", maintype="image", subtype="png",
                           filename="x.png")  # fmt: skip
    (entry,) = loaded(bytes(message), "a.eml").metadata["attachments"]
    assert entry["filename"] == "x.png"
    assert "damaged" in entry["error"]


def test_a_scan_in_a_message_is_named_and_not_read() -> None:
    message = mail()
    message.add_attachment(packed(picture_of_text(), "PNG"), maintype="image", subtype="png",
                           filename="x.png")  # fmt: skip
    (entry,) = loaded(bytes(message), "a.eml").metadata["attachments"]
    assert entry["error"] == "Scanned, and not read inside a message: pages 1."


def test_attached_messages_are_read() -> None:
    message = mail(subject="Outer")
    message.add_attachment(mail(subject="Inner", text="Deep words"))
    document = loaded(bytes(message), "a.eml")
    assert texts(document)[-1] == "Deep words"
    assert (2, "Inner.eml") in headings(document)


def test_a_body_in_an_old_encoding_is_decoded() -> None:
    head = "From: a\nSubject: =?koi8-r?B?8NLJ18XU?=\nDate: x\n"
    body = "Content-Type: text/plain; charset=koi8-r\nContent-Transfer-Encoding: 8bit\n\n"
    document = loaded((head + body).encode() + "Привет, мир".encode("koi8-r"), "a.eml")
    assert (document.title, texts(document)[-1]) == ("Привет", "Привет, мир")


def test_headers_that_are_broken_do_not_keep_a_mail_out() -> None:
    source = b"From: \xff\xfe <>\nSubject: =?x-unknown?Q?a=FF?= =?utf-8?B?!!!?=\nDate: never\n\nHi"
    assert texts(loaded(source, "a.eml"))[-1] == "Hi"


def test_a_file_that_is_no_mail_is_unreadable() -> None:
    with pytest.raises(UnreadableFile, match="no headers"):
        loaded("just words", "a.eml")
