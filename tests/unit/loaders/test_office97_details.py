"""What old Office files seldom hold, and what only broken ones do."""

import struct
from datetime import datetime
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from corpus.errors import UnreadableFile, UnsupportedMediaType
from corpus.loaders.formats.office97 import (
    doc_loader,
    msg_loader,
    ppt_loader,
    rtf_loader,
    xls_loader,
)
from corpus.loaders.formats.office97.container import charset_of, read_properties
from corpus.loaders.table_blocks import MergedCells
from tests.unit.loaders import office97_files as old
from tests.unit.loaders.sample_files import headings, loaded, odf, texts, zip_of, zip_with

pytestmark = pytest.mark.usefixtures("in_process")


def naive(*parts: int) -> datetime:
    """A moment as these files have it, of no zone."""
    return datetime(*parts)  # type: ignore[arg-type]  # noqa: DTZ001


def properties(**stated: Any) -> Any:
    """What olefile gives of a file's properties."""
    names = ("title", "author", "subject", "keywords", "create_time", "last_saved_time")
    found = SimpleNamespace(codepage=1252, **{name: stated.get(name) for name in names})
    return SimpleNamespace(exists=lambda name: True, get_metadata=lambda: found)


def test_properties_are_cleaned_and_moments_that_never_were_left_out() -> None:
    stated = read_properties(
        properties(
            title=b"B\xf6ats\0",
            create_time=naive(2001, 2, 3, 4, 5, 6, 7),
            last_saved_time=naive(1601, 1, 1),
        )
    )
    assert stated == {"title": "Böats", "created": "2001-02-03T04:05:06Z"}
    assert charset_of(31_000) == "cp1252"


@pytest.mark.parametrize(
    ("loader", "content"),
    [(ppt_loader, old.ppt(("First", "a", "b"))), (xls_loader, old.xls("S", ["a"]))],
    ids=["ppt", "xls"],
)
def test_keywords_are_tags(
    loader: ModuleType, content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    stated = {"title": "Boats", "keywords": "sea, , Wood"}
    monkeypatch.setattr(loader, "read_properties", lambda container: stated)
    document = loader.load(content, filename="a")
    assert (document.title, document.tags, document.metadata) == ("Boats", ("sea", "Wood"), {})


def test_word_pieces_of_one_byte_and_with_shared_properties_are_read() -> None:
    narrow = struct.pack("<BIIIHIH", 2, 16, 0, 3, 0, 2 * 100 | 0x40000000, 0)
    shared = struct.pack("<BHx", 1, 1)
    assert list(doc_loader._pieces(shared + narrow)) == [doc_loader._Piece(0, 3, 100, 1)]
    word = doc_loader._Word.__new__(doc_loader._Word)
    word._main = bytes(100) + b"caf\xe9"
    assert word._text(doc_loader._Piece(0, 4, 100, 1)) == "café"


def test_word_files_that_contradict_themselves_are_unreadable() -> None:
    with pytest.raises(UnreadableFile, match="no Word document"):
        loaded(old.ole({"WordDocument": bytes(2_000), "0Table": b""}), "a.doc")
    content = bytearray(old.doc(("Text.\r", old.TEXT, b"")))
    pieces = struct.pack("<BIII", 2, 16, 0, len("Text.\r"))
    at = content.index(pieces)
    struct.pack_into("<I", content, at + 9, 500_000_000)
    with pytest.raises(UnreadableFile, match="more text than it holds"):
        loaded(bytes(content), "a.doc")


def test_word_tables_of_styles_and_paragraphs_may_be_missing_or_cut() -> None:
    assert doc_loader._style_kinds(b"") == []
    assert doc_loader._style_kinds(struct.pack("<HHH", 2, 3, 0)) == [0]
    assert list(doc_loader._kinds_of_page(b"short")) == []
    page = struct.pack("<II", 5, 9) + bytes(503) + b"\x01"
    assert list(doc_loader._kinds_of_page(page)) == [(5, doc_loader._Kind())]
    shape = struct.pack("<HH", doc_loader._TABLE_SHAPE, 1)
    assert list(doc_loader._properties(shape)) == [(doc_loader._TABLE_SHAPE, shape[2:])]


def test_word_paragraphs_with_an_outline_level_are_headings() -> None:
    level_2 = struct.pack("<HB", 0x2640, 1)
    document = loaded(old.doc(("Below\r", old.TEXT, level_2), ("Text.\r", old.TEXT, b"")), "a.doc")
    assert headings(document) == [(2, "Below")]


def test_an_outlook_message_may_have_html_and_an_absurd_date() -> None:
    streams = old.msg({"0037": "Offer", "1000": "Words."}, sent=2**63)
    streams["__substg1.0_10130102"] = b"<p>Words of HTML.</p>"
    mail = msg_loader.to_email(old.ole(streams))
    assert b"text/html" in mail
    assert b"Date:" not in mail
    with pytest.raises(UnreadableFile, match="no Outlook message"):
        msg_loader.to_email(old.ole({"Other": b"x"}))


def test_a_presentation_without_its_document_is_unreadable() -> None:
    stream = ppt_loader._Stream(b"")
    assert stream.record(5) is None
    damaged = SimpleNamespace(places=lambda edit: ({}, 1), record=stream.record)
    with pytest.raises(UnreadableFile, match="where its slides are"):
        list(ppt_loader._blocks(damaged, 0))  # type: ignore[arg-type]


def test_texts_of_slides_may_be_narrow() -> None:
    content = old._atom(0x0FA8, b"caf\xe9\x0bbar") + old._atom(0x1, b"??")
    stream = ppt_loader._Stream(content)
    narrow, other = stream.record(0), stream.record(8 + 8)
    assert narrow is not None
    assert other is not None
    assert (stream._words(narrow), stream._words(other)) == ("café\nbar", "")


def test_rich_text_of_other_forms_is_read_and_of_none_refused() -> None:
    content = rb"{\rtf1{\fonttbl{\f1\fcharset77 Mac;}{\f2\cpg1251 C;}}{\*\mine\b no}one\~two\
\f2 \'cf{\footnote a\par b}\par}"
    found = " ".join(texts(loaded(content, "a.rtf")))
    assert "one\u00a0two" in found or "one two" in found
    assert "П" in found
    with pytest.raises(UnreadableFile, match="no Rich Text"):
        rtf_loader.load(b"words {\\rtf1 x}", filename="a.rtf")
    with pytest.raises(UnreadableFile, match="nested too deeply"):
        rtf_loader.load(b"{\\rtf1 " + b"{" * 200_000, filename="a.rtf")


def test_cells_of_old_sheets_are_shown_as_excel_does() -> None:
    shown: list[Any] = [True, 1.5, naive(2024, 3, 4), naive(2024, 3, 4, 5, 6), "x"]
    assert list(map(xls_loader._shown, shown)) == [
        "TRUE", "1.5", "2024-03-04", "2024-03-04 05:06:00", "x",
    ]  # fmt: skip
    row = ["x", ""]
    MergedCells([(0, 0, 1_000_000, 1_000)]).fill(0, row)
    assert row == ["x", ""]


def test_files_of_apples_programs_are_refused_with_what_to_do() -> None:
    with pytest.raises(UnsupportedMediaType, match="Keynote"):
        loaded(zip_of({"Index/Document.iwa": b"x"}), "a.pages")


def test_an_odf_file_without_a_language_has_none() -> None:
    styles = (
        '<office:document-styles xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"'
        ' xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0"><style:default-style'
        ' style:family="paragraph"/></office:document-styles>'
    )
    content = odf("text", "<text:p>Text.</text:p>")
    for sheet in (styles, "<a/>"):
        document = loaded(zip_with(content, {"styles.xml": sheet}), "a.odt")
        assert document.metadata.get("language", "") == ""


def test_the_language_of_an_odf_file_is_that_of_its_paragraphs() -> None:
    oasis = "urn:oasis:names:tc:opendocument:xmlns"
    styles = (
        f'<office:document-styles xmlns:office="{oasis}:office:1.0" xmlns:style="{oasis}:style:1.0"'
        f' xmlns:fo="{oasis}:xsl-fo-compatible:1.0"><style:default-style style:family="paragraph">'
        '<style:text-properties fo:language="de"/></style:default-style></office:document-styles>'
    )
    content = zip_with(odf("text", "<text:p>Text.</text:p>"), {"styles.xml": styles})
    assert loaded(content, "a.odt").metadata["language"] == "de"


def test_the_messages_of_a_digest_are_its_text() -> None:
    inner = "Content-Type: message/rfc822\n\nFrom: {0}\nSubject: {1}\nDate: {2}\n\n{3}\n"
    parts = [
        inner.format("Ann <ann@example.org>", "Berths", "Mon, 02 Mar 2026 10:00:00 +0000", "Nine."),
        inner.format("", "", "", "Of nobody."),
    ]
    content = (
        "From: list@example.org\nSubject: Digest\nContent-Type: multipart/digest; boundary=b\n\n"
        + "".join(f"--b\n{part}" for part in parts)
        + "--b--\n"
    )
    document = loaded(content, "a.eml")
    assert [name for _, name in headings(document)] == ["Digest", "Ann, 2026-03-02", "Message"]
    assert "Nine." in "\n".join(texts(document))
