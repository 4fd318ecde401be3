"""Word, Excel and PowerPoint of 1997 to 2003, Outlook's messages and Rich Text."""

from datetime import UTC, datetime, timedelta

import pytest

from corpus.errors import EmptyDocument, UnreadableFile, UnsupportedMediaType
from corpus.loaders import registry
from corpus.loaders.limits import LoaderLimits
from corpus.loaders.media_types import detect_media_type
from tests.unit.loaders import office97_files as old
from tests.unit.loaders.sample_files import headings, loaded, texts, xlsx, zip_with

pytestmark = pytest.mark.usefixtures("in_process")

# As Windows counts: tenths of microseconds from 1601 on.
SENT = (
    (datetime(2026, 5, 20, 10, 30, tzinfo=UTC) - datetime(1601, 1, 1, tzinfo=UTC))
    // timedelta(microseconds=1)
    * 10
)


def detected(content: bytes, filename: str) -> str:
    return detect_media_type(content, filename=filename, limits=LoaderLimits())


def test_word_97_headings_lists_and_tables_are_kept() -> None:
    row = old.IN_TABLE + old.ENDS_ROW
    document = loaded(
        old.doc(
            ("The title\r", old.TITLE, b""),
            ("One\r", old.HEADING_1, b""),
            ("Two\r", old.HEADING_2, b""),
            ("Text of it.\r", old.TEXT, b""),
            ("first\r", old.TEXT, old.IN_LIST),
            ("second\r", old.TEXT, old.IN_LIST),
            ("Name\x07", old.TEXT, old.IN_TABLE),
            ("Age\x07", old.TEXT, old.IN_TABLE),
            ("\x07", old.TEXT, row),
            ("Ada\rL.\x07", old.TEXT, old.IN_TABLE),
            ("36\x07", old.TEXT, old.IN_TABLE),
            ("\x07", old.TEXT, row),
        ),
        "a.doc",
    )
    assert headings(document) == [(1, "The title"), (1, "One"), (2, "Two")]
    assert document.title == "The title"
    assert texts(document)[3:] == [
        "Text of it.",
        "- first\n- second",
        "| Name | Age |\n| --- | --- |\n| Ada L. | 36 |",
    ]


def test_word_97_shows_what_fields_show_and_the_notes_behind_the_text() -> None:
    field = 'See \x13 HYPERLINK "http://a" \x14page\x0b7\x15 of it\x02.\r'
    document = loaded(old.doc((field, old.TEXT, b""), notes="\x02 Said 𝔘 once.\r"), "a.doc")
    assert texts(document) == ["See page\n7 of it.", "Said 𝔘 once."]


def test_old_office_files_with_a_password_are_unreadable() -> None:
    secret = ("x\r", old.TEXT, b"")
    for content, name in (
        (old.doc(secret, flags=0x0100), "a.doc"),
        (old.ppt(("a", "b", "c"), encrypted=True), "a.ppt"),
        (old.xls("S", ["a"], encrypted=True), "a.xls"),
    ):
        with pytest.raises(UnreadableFile, match="password"):
            loaded(content, name)


def test_word_95_is_refused_with_what_to_do() -> None:
    with pytest.raises(UnreadableFile, match="save it as DOCX"):
        loaded(old.doc(("x\r", old.TEXT, b""), version=0x65), "a.doc")


def test_excel_97_rows_say_their_columns_and_repeat_merged_cells() -> None:
    content = old.xls("Prices", ["Fruit", "Price"], ["Pear", 1.5], ["Fig", 0.1 + 0.2])
    document = loaded(content, "list.xls")
    assert texts(document) == ["Prices", "Fruit: Pear; Price: 1.5", "Fruit: Fig; Price: 0.3"]
    assert document.title == "list"
    document = loaded(
        old.xls(
            "Prices",
            ["Shelf", "Fruit", "Price"],
            ["A", "Pear", 2],
            ["", "Fig", 3],
            merged=(1, 2, 0, 0),
        ),
        "list.xls",
    )
    assert texts(document)[1:] == [
        "Shelf: A; Fruit: Pear; Price: 2",
        "Shelf: A; Fruit: Fig; Price: 3",
    ]


def test_a_binary_workbook_is_told_by_its_directory() -> None:
    content = zip_with(xlsx(""), {"xl/workbook.bin": "", "xl/workbook.xml": None})
    assert detected(content, "a.xlsx") == registry.XLSB
    with pytest.raises(UnreadableFile, match="save it as XLSX"):
        loaded(content, "a.xlsb")


def test_powerpoint_97_slides_have_titles_own_texts_and_notes() -> None:
    content = old.ppt(("First", "a\rb", "box"), ("Second", "c\x0bd", "box"), notes="Say it.")
    document = loaded(content, "a.ppt")
    assert [(b.text, b.heading_level, b.page) for b in document.blocks] == [
        ("First", 1, 1), ("a\nb", None, 1), ("box", None, 1),
        ("Second", 1, 2), ("c\nd", None, 2), ("box", None, 2), ("Say it.", None, 2),
    ]  # fmt: skip


def test_outlook_messages_are_read_as_mail_with_what_they_carry() -> None:
    inner = "__attach_version1.0_#00000001/__substg1.0_3701000D/"
    document = loaded(
        old.ole(
            {
                **old.msg(
                    {"0037": "Offer", "0C1A": "Ada", "5D01": "ada@example.org", "0E04": "Bob",
                     "1000": "Dear Bob,\r\n\r\nsee below."}, sent=SENT,
                ),
                **old.msg({"3707": "terms.txt"}, folder="__attach_version1.0_#00000000/"),
                "__attach_version1.0_#00000000/__substg1.0_37010102": b"Thirty days. " * 400,
                **old.msg({"0037": "Before", "1000": "Earlier words."}, folder=inner, narrow=True),
            }
        ),
        "a.msg",
    )  # fmt: skip
    assert document.title == "Offer"
    assert document.metadata["from"] == "Ada <ada@example.org>"
    assert document.metadata["created"] == "2026-05-20T10:30:00+00:00"
    assert [text for _, text in headings(document)] == [
        "Offer",
        "terms.txt",
        "Before.eml",
        "Before",
    ]
    assert "see below." in texts(document)
    assert "Earlier words." in texts(document)


def test_an_outlook_message_with_a_word_file_is_a_message() -> None:
    streams = old.msg({"0037": "x"}) | {"__substg1.0_1": "WordDocument".encode("utf-16-le")}
    assert detected(old.ole(streams), "") == registry.OUTLOOK
    assert detected(old.ole({"WordDocument": b"", "Workbook": b""}), "a.xls") == registry.XLS


RTF = r"""{\rtf1\ansi\ansicpg1251{\fonttbl{\f0\fcharset0 Times;}{\f1\fcharset204 Cyr;}}
{\stylesheet{\s0 Normal;}{\s1 heading 1;}{\s2\outlinelevel1 Kapitel;}{\*\cs3 Link;}}
{\info{\title Report \'e0}{\author Ada}{\keywords one, two}{\creatim\yr2024\mo3\dy9}}
{\header Page head}{\*\generator Riched}
\pard\s1 Heading\par\pard\s2 Below\par
\pard\plain\f1 \'cf\'f0\u1080?\u-10179?\u-8704?\f0 , 'x'\line next {\v hidden}{\b bold}{\pict 0a0b}.
\par{\listtext\bullet\tab}first\par{\listtext 2.\tab}second\par
\trowd\intbl Name\cell Age\cell\row\trowd\intbl Ada\par L.\cell 36\cell\row
\pard End{\footnote A note.}{\field{\*\fldinst HYPERLINK "a"}{\fldrslt link}}.\par}"""


def test_rich_text_keeps_headings_lists_tables_notes_and_letters() -> None:
    document = loaded(RTF, "a.rtf")
    assert headings(document) == [(1, "Heading"), (2, "Below")]
    assert texts(document)[2:] == [
        "При😀, 'x'\nnext bold.",
        "- first\n2. second",
        "| Name | Age |\n| --- | --- |\n| Ada L. | 36 |",
        "Endlink.",
        "A note.",
    ]
    assert document.title == "Report а"
    assert document.tags == ("one", "two")
    assert document.metadata == {"author": "Ada", "created": "2024-03-09"}


def test_rich_text_skips_binary_pictures_and_knows_east_asian_letters() -> None:
    content = (
        rb"{\rtf1{\fonttbl{\f2\fcharset128 M;}}{\pict\bin4 }\par}{\f2 \'93\'fa\'96{}" rb"{x}}}"
    )
    assert texts(loaded(content, "a.rtf"))[0].startswith("日")
    assert texts(loaded(rb"{\rtf1 {\pict\bin3 }}}}kept\par}", "a.rtf")) == ["kept"]


def test_what_is_named_as_old_office_and_is_none_is_read_as_what_it_is() -> None:
    assert detected(b"<html><table><tr><td>1</table>", "export.xls") == registry.HTML
    assert detected(b"a\tb\n1\t2\n", "export.xls") == registry.PLAIN
    assert detected(b"{\\rtf1 words}", "a.doc") == registry.RTF


@pytest.mark.parametrize(
    ("content", "advice"),
    [
        (old.ole({"VisioDocument": b""}), "save it as DOCX"),
        (b"\xffWPC words", "LibreOffice"),
        (b"AT&TFORM words", "ddjvu"),
    ],
)
def test_what_is_not_read_is_refused_with_how_to_convert_it(content: bytes, advice: str) -> None:
    with pytest.raises(UnsupportedMediaType, match=advice):
        detected(content, "a")


@pytest.mark.parametrize("name", ["a.doc", "a.xls", "a.ppt", "a.msg"])
def test_old_files_that_are_cut_off_or_spoilt_are_refused_or_read(name: str) -> None:
    content = {
        "a.doc": old.doc(("One\r", old.HEADING_1, b""), ("Two.\r", old.TEXT, b"")),
        "a.xls": old.xls("S", ["a", "b"], ["c", 1]),
        "a.ppt": old.ppt(("First", "a", "b"), notes="n"),
        "a.msg": old.ole(old.msg({"0037": "Offer", "1000": "Text."})),
    }[name]
    spoilt = [content[: len(content) * part // 8] for part in range(1, 8)]
    for at in range(0, 3000, 37):
        spoilt.append(content[:at] + b"\xff\x7f" + content[at + 2 :])
    for one in spoilt:
        try:
            assert loaded(one, name).blocks
        except (UnreadableFile, UnsupportedMediaType, EmptyDocument):
            continue
