import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.errors import BinaryText
from corpus.loaders.charset import declared_encoding, decode

GERMAN = "Größe, Äpfel und Öl: für jeden etwas dabei, sagte der Müller über den Fluß. " * 4
CZECH = "Příliš žluťoučký kůň úpěl ďábelské ódy, řekl šéf a odešel do lesa. " * 4
POLISH = "Zażółć gęślą jaźń, powiedział ktoś na łące przy źródle. " * 4
FRENCH = "L'été dernier, le garçon a reçu une lettre où l'on parlait de forêt. " * 4
TURKISH = "Şimdi gökyüzü açık, çocuklar bahçede oynuyor ve ağaçlar yeşil. " * 4
RUSSIAN = "Съешь же ещё этих мягких французских булок, да выпей чаю. " * 4
JAPANESE = "これは日本語の文章です。昔々、ある所に老夫婦が住んでいた。" * 4
CHINESE = "这是一个中文句子，用来测试编码的识别。天气很好，我们去公园散步。" * 4


@pytest.mark.parametrize(
    "encoding", ["utf-8-sig", "utf-16", "utf-32", "utf-16-le", "utf-16-be", "utf-32-le"]
)
def test_unicode_is_read_with_and_without_a_mark(encoding: str) -> None:
    assert decode(FRENCH.encode(encoding)) == FRENCH


def test_utf_16_big_endian_with_a_mark_is_read() -> None:
    assert decode(codecs.BOM_UTF16_BE + JAPANESE.encode("utf-16-be")) == JAPANESE


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (GERMAN, "iso8859-1"),
        (FRENCH, "cp1252"),
        (CZECH, "cp1250"),
        (CZECH, "iso8859-2"),
        (POLISH, "iso8859-2"),
        (POLISH, "cp1250"),
        (TURKISH, "cp1254"),
        (RUSSIAN, "koi8-r"),
        (RUSSIAN, "cp1251"),
        (JAPANESE, "shift_jis"),
        (JAPANESE, "euc_jp"),
        (JAPANESE, "iso2022_jp"),
        (CHINESE, "gb18030"),
        (CHINESE, "gb2312"),
    ],
)
def test_undeclared_encodings_are_recognised(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)) == text


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("İyi günler. İçeri girin.", "cp1254"),
        ("Şehrin en güzel bahçesi İstanbul'da, İzmir'de ve Iğdır'dadır.", "cp1254"),
        *(
            (text, encoding)
            for text in ("Привет, как дела?", "Завтра встреча в десять часов.")
            for encoding in ("koi8-r", "cp1251", "cp866", "iso8859-5")
        ),
    ],
)
def test_a_short_text_is_read_by_the_letters_of_its_language(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)) == text


@pytest.mark.parametrize(
    "head",
    [
        b'<html><head><meta charset="koi8-r">',
        b'<meta http-equiv="Content-Type" content="text/html; charset=koi8-r">',
        b'<?xml version="1.0" encoding="koi8-r"?>',
        b"# -*- coding: koi8-r -*-\n",
    ],
)
def test_a_declared_encoding_is_used(head: bytes) -> None:
    assert "привет" in decode(head + "привет".encode("koi8-r"))


def test_the_surroundings_declare_and_do_not_spoil_utf_8() -> None:
    assert decode("привет".encode("cp866"), declared="ibm866") == "привет"
    assert "é" in decode('<meta charset="iso-8859-1">é'.encode())


@pytest.mark.parametrize("label", ["x-sjis", "Shift_JIS"])
def test_labels_that_only_browsers_know_are_known(label: str) -> None:
    assert decode("①日本".encode("cp932"), declared=label) == "①日本"


@pytest.mark.parametrize("label", ["hex", "zlib", "rot13", "unicode_escape", "no-such", "\x00"])
def test_a_label_that_is_no_text_encoding_is_ignored(label: str) -> None:
    assert decode(b"plain text", declared=label) == "plain text"


def test_stray_bytes_in_utf_8_are_read_as_windows_1252() -> None:
    mixed = "Größe für jeden".encode() + b" \x93quoted\x94 " + "und Öl über Straßen".encode()
    assert decode(mixed) == "Größe für jeden “quoted” und Öl über Straßen"


@pytest.mark.parametrize("content", [b"a\x00b" * 50, b"hello\x00"])
def test_nul_bytes_are_binary(content: bytes) -> None:
    with pytest.raises(BinaryText):
        decode(content)


def test_a_declaration_is_found_only_in_the_head() -> None:
    assert declared_encoding(b" " * 5000 + b'<meta charset="koi8-r">') == ""


@given(st.text(st.characters(codec="utf-8", exclude_characters="\x00\x1b")))
def test_utf_8_comes_back_as_it_was(text: str) -> None:
    encoded = text.encode()
    # The text may begin with what is a mark of an encoding, or name one.
    if not encoded.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        assert decode(encoded) == text
