import zlib

import pytest

from corpus.errors import (
    BinaryText,
    EmptyDocument,
    TooLarge,
    UnreadableFile,
    UnsupportedMediaType,
)
from corpus.loaders import load_file, registry, supported_extensions
from corpus.loaders.limits import LoaderLimits
from corpus.loaders.media_types import detect_media_type
from tests.unit.loaders import sample_files


def detected(content: bytes | str, filename: str = "", declared: str = "") -> str:
    return detect_media_type(
        sample_files.as_bytes(content), filename=filename, declared=declared, limits=LoaderLimits()
    )


RST = "Title\n=====\n\nText with :ref:`a link`.\n\n.. note:: Mind the gap.\n"
MAIL = "From: a@example.org\nTo: b@example.org\nSubject: Hi\nDate: now\n\nHello"


@pytest.mark.parametrize(
    ("content", "filename", "expected"),
    [
        ("words", "a.txt", registry.PLAIN),
        ("words", "", registry.PLAIN),
        ("words", "LICENSE", registry.PLAIN),
        ("words without a mark".encode("utf-16-le"), "a.txt", registry.PLAIN),
        ("all: build", "Makefile", registry.CODE),
        ("x = 1", "a.PY", registry.CODE),
        ("# a", "a.md", registry.MARKDOWN),
        ("<!DOCTYPE html><p>a", "a.txt", registry.HTML),
        ("<!-- hi -->\n<html><p>a", "", registry.HTML),
        ("<?xml version='1.0'?><html><body/></html>", "a.xml", registry.HTML),
        ("<?xml version='1.0'?><feed/>", "feed", registry.XML),
        ("<html> in prose", "a.md", registry.MARKDOWN),
        (RST, "a.txt", registry.RESTRUCTUREDTEXT),
        ("Title\n=====\n\nNo other sign of reST.", "a.txt", registry.PLAIN),
        (MAIL, "", registry.EMAIL),
        (MAIL, "a.txt", registry.EMAIL),
        ("WEBVTT\n\n", "", registry.SUBTITLES),
        ("a,b\n1,2", "a.csv", registry.CSV),
        ("%PDF-1.4 ...", "a.txt", registry.PDF),
        ("junk before\n%PDF-1.4 ...", "", registry.PDF),
    ],
)
def test_content_is_asked_first_then_the_name(content: str, filename: str, expected: str) -> None:
    assert detected(content, filename) == expected


def test_office_files_are_told_by_their_directory_whatever_their_name() -> None:
    assert detected(sample_files.docx(""), "a.zip") == registry.DOCX
    assert detected(sample_files.xlsx(""), "") == registry.XLSX
    assert detected(sample_files.pptx(""), "a.docx") == registry.PPTX
    assert detected(sample_files.odf("text", ""), "") == registry.ODT
    assert detected(sample_files.odf("spreadsheet", ""), "") == registry.ODS
    assert detected(sample_files.odf("presentation", ""), "") == registry.ODP
    assert detected(sample_files.epub({}, spine=()), "") == registry.EPUB


def test_the_declared_type_decides_where_content_and_name_say_nothing() -> None:
    assert detected("# Title", "upload", "text/markdown; charset=utf-8") == registry.MARKDOWN
    assert detected("# Title", "a.rst", "text/markdown") == registry.RESTRUCTUREDTEXT
    assert detected("words", "upload", "text/x-unheard-of") == registry.PLAIN
    assert detected("words", "upload", "application/octet-stream") == registry.PLAIN


def test_a_declared_type_that_is_no_text_and_unknown_is_unsupported() -> None:
    with pytest.raises(UnsupportedMediaType, match="x-unheard-of"):
        detected("words", "upload", "application/x-unheard-of")


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"GIF89a\x01\x00\x01\x00\x00\x00\x00", "image/gif"),
        (b"\x1f\x8b\x08\x00" + zlib.compress(b"x"), "gzip"),
        (sample_files.zip_of({"a.txt": "a"}), "zip archive"),
        (bytes(range(256)) * 8, "binary"),
    ],
)
def test_what_no_loader_reads_is_named_with_what_is_supported(content: bytes, what: str) -> None:
    with pytest.raises(UnsupportedMediaType, match=what) as caught:
        detected(content, "file")
    assert "Markdown" in str(caught.value)
    assert "PDF" in str(caught.value)


def test_a_picture_named_as_text_is_still_a_picture() -> None:
    with pytest.raises(UnsupportedMediaType, match="image/gif"):
        detected(b"GIF89a\x01\x00\x01\x00\x00\x00\x00", "a.txt")


def test_nul_bytes_in_text_are_binary() -> None:
    with pytest.raises(BinaryText):
        detected(b"a\x00b\x00\x00" * 99, "a.txt")


def test_office_files_locked_truncated_or_of_too_many_parts_are_refused() -> None:
    with pytest.raises(UnreadableFile, match="password"):
        detected(
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"), "a.docx"
        )
    with pytest.raises(UnreadableFile, match="damaged"):
        detected(sample_files.docx("")[:-40], "a.docx")
    with pytest.raises(UnreadableFile, match="entries"):
        detected(sample_files.zip_of({f"word/{n}": "" for n in range(10_001)}))


@pytest.mark.parametrize("content", [b"", b" \n\t "])
def test_an_empty_file_is_an_empty_document(content: bytes) -> None:
    with pytest.raises(EmptyDocument):
        load_file(content, filename="a.txt")


def test_a_file_over_the_limit_is_too_large() -> None:
    with pytest.raises(TooLarge, match="11 bytes"):
        load_file(b"hello world", filename="a.txt", limits=sample_files.limits(max_file_bytes=10))


def test_load_file_says_as_what_it_read_the_file() -> None:
    document, media_type = load_file(b"# Title\n\nText", filename="a.md")
    assert media_type == registry.MARKDOWN
    assert document.title == "Title"


def test_every_registered_module_exists_and_loads() -> None:
    for media_type in registry.FORMATS:
        assert callable(registry.loader_for(media_type).load)


def test_extensions_are_listed_once() -> None:
    listed = [e for known in registry.FORMATS.values() for e in known.extensions]
    assert len(listed) == len(set(listed))
    assert {"md", "pdf", "docx", "eml"} <= set(supported_extensions())
