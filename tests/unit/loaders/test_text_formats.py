import json

import pytest

from corpus.errors import EmptyDocument, UnreadableFile
from corpus.loaders.blocks import Block, LoadedDocument
from tests.unit.loaders.sample_files import headings, loaded, texts

pytestmark = pytest.mark.usefixtures("in_process")


def test_plain_text_is_cut_at_empty_lines_and_page_breaks() -> None:
    document = loaded("One\ntwo\n \t\n\n  Indented\r\n\r\nThree\fFour\n", "a.txt")
    assert texts(document) == ["One\ntwo", "  Indented", "Three", "Four"]


def test_a_line_with_a_rule_as_long_as_it_is_a_heading_of_plain_text() -> None:
    source = "A Guide\n=======\n\n1. Start\n~~~~~~~~\nNow.\n\nName\n----------------\nx"
    document = loaded(source.encode(), "guide.txt")
    assert headings(document) == [(1, "A Guide"), (2, "1. Start")]
    assert document.title == "guide"
    assert texts(document)[1:3] == ["1. Start\n~~~~~~~~", "Now."]


def test_source_code_keeps_its_lines() -> None:
    assert texts(loaded("def f():\n    # why\n    return 1\n", "a.py")) == [
        "def f():\n    # why\n    return 1"
    ]


def test_rest_titles_are_told_by_their_underlines_in_order_of_appearance() -> None:
    source = "=====\nTitle\n=====\n\nPart\n====\n\nText\n\nDetail\n------\n\nMore\n\nNext\n====\n"
    document = loaded(source, "a.rst")
    assert headings(document) == [(1, "Title"), (2, "Part"), (3, "Detail"), (2, "Next")]
    assert texts(document) == ["Title", "Part", "Text", "Detail", "More", "Next"]


def test_rest_headings_lose_their_roles_but_not_their_words() -> None:
    document = loaded("The ``F()`` of :class:`~a.B` and :ref:`links <x>`\n" + "=" * 50, "a.rst")
    assert headings(document) == [(1, "The F() of ~a.B and links")]


def test_rest_keeps_what_is_indented_with_what_stands_above() -> None:
    source = "Like so::\n\n    code\n\n    more\n\nAfter\n\n.. note::\n\n   Mind the gap.\n"
    assert texts(loaded(source, "a.rst")) == [
        "Like so::\n\n    code\n\n    more",
        "After",
        ".. note::\n\n   Mind the gap.",
    ]


def test_rest_tables_are_no_titles() -> None:
    source = "Text\n\n=====  =====\nA      B\n=====  =====\n1      2\n=====  =====\n"
    assert headings(loaded(source, "a.rst")) == []


def test_rest_labels_are_dropped_and_docinfo_becomes_metadata() -> None:
    document = loaded("T\n====\n\n:Author: Ann\n:Date: 2024-01-02\n\n.. _label:\n\nText", "a.rst")
    assert document.metadata == {"author": "Ann", "created": "2024-01-02"}
    assert ".. _label:" not in texts(document)


def test_asciidoc_titles_are_headings_but_not_in_listings() -> None:
    source = "= Title\n\nText\n== Part ==\n* item\n\n----\n== no title\n----\n"
    document = loaded(source, "a.adoc")
    assert headings(document) == [(1, "Title"), (2, "Part")]
    assert texts(document)[-1] == "----\n== no title\n----"


def test_subtitles_are_what_is_said_by_whom() -> None:
    source = (
        "WEBVTT\n\nNOTE a comment\n\n1\n00:00:01.000 --> 00:00:02.000\n<v Ann>Hello, <b>Bob</b>!"
        "\n\n00:02.000 --> 00:03.000\n<v Bob>Hi &amp; bye\n"
    )
    assert texts(loaded(source, "a.vtt")) == ["Ann: Hello, Bob!", "Bob: Hi & bye"]
    source = "WEBVTT\n\n00:01.000 --> 00:02.000\n<b></b>\n\n00:02.000 --> 00:03.000\n<v Bob>Hi\n"
    assert texts(loaded(source, "a.vtt")) == ["Bob: Hi"]
    source = "1\n00:00:01,000 --> 00:00:02,000\nHello\nthere\n\n2\n00:00:03,000 --> 00:00:04,0\nBye"
    assert texts(loaded(source, "a.srt")) == ["Hello there\nBye"]


LINE = "It is said so slowly that nobody can follow it for long, or wants to. "


def times(document: LoadedDocument) -> list[tuple[str, ...]]:
    return [block.labels for block in document.blocks]


def test_subtitles_stand_under_the_time_at_which_they_begin() -> None:
    cues = [f"{n}\n0{n}:12:31,500 --> 0{n}:12:40,000\n{LINE * 3}" for n in range(5)]
    document = loaded("\n\n".join(cues), "a.srt")
    assert times(document) == [("00:12:31",), ("02:12:31",), ("04:12:31",)]
    assert times(loaded("1\n500:12:31,500 --> 500:12:40,000\nWords", "a.srt")) == [()]


def test_subviewer_and_substation_subtitles_are_read() -> None:
    source = "0:00:01.000,0:00:03.000\nHello\n\n0:01:04.000,0:01:05.000\nthere\n"
    assert texts(loaded(source, "a.sbv")) == ["Hello\nthere"]
    source = (
        "[Script Info]\nTitle: x\n\n[Events]\nFormat: Layer, Start, End, Style, Name, ...\n"
        "Dialogue: 0,0:01:04.00,0:01:05.00,Default,Bob,0,0,0,,Yes, {\\i1}Ann{\\i0}.\n"
        "Dialogue: 0,0:00:01.00,0:00:03.00,Default,Ann,0,0,0,,Hello\\NBob?\n"
    )
    document = loaded(source, "a.ass")
    assert texts(document) == ["Ann: Hello Bob?", "Bob: Yes, Ann."]
    assert times(document) == [("00:00:01",), ("00:01:04",)]


@pytest.mark.parametrize("form", ["[{}] Ann: {}", "{} {}", "({}) {}", "{} - {}", "Ann  {}\n{}"])
def test_transcripts_stand_under_their_times(form: str) -> None:
    source = "Meeting\n\n" + "\n".join(form.format(f"00:{n:02}:05", LINE * 4) for n in range(2, 7))
    document = loaded(source, "a.txt")
    assert times(document)[1:] == [("00:04:05",), ("00:06:05",)]
    assert LINE.strip() in texts(document)[-1]


def test_minutes_and_seconds_begin_near_the_start_of_a_recording() -> None:
    recorded = "\n".join(f"{n}:30 {LINE}" for n in range(6))
    assert times(loaded(recorded, "a.txt")) == [("00:00:30",)]
    at_nine = "\n".join(f"{n}:30 {LINE}" for n in range(9, 16))
    assert times(loaded(at_nine, "a.txt")) == [()]


@pytest.mark.parametrize(
    ("source", "filename"),
    [
        ("\n".join(f"00:{n:02}:05 started" for n in range(9)), "a.log"),
        ("\n".join(f"0:{n:02} x" for n in (1, 5, 2, 9, 8)), "a.txt"),
        ("\n".join(["words"] * 99 + [f"0:{n:02} x" for n in range(9)]), "a.txt"),
        ("\n".join(["0:01 the same"] * 9), "a.txt"),
    ],
)
def test_times_that_stand_for_something_else_make_no_transcript(source: str, filename: str) -> None:
    assert times(loaded(source, filename)) == [()]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_csv_rows_are_kept_with_their_header(delimiter: str) -> None:
    rows = [["Name", "City, country", "Age"], ["Ann", "Bern", "7"], ["Bob", "", "9"]]
    source = "\n".join(delimiter.join(f'"{cell}"' for cell in row) for row in rows)
    document = loaded(source, "a.csv")
    assert texts(document) == [
        "Name: Ann; City, country: Bern; Age: 7",
        "Name: Bob; Age: 9",
    ]
    assert document.metadata == {"columns": ["Name", "City, country", "Age"]}


def test_csv_rows_without_a_header_or_longer_than_it_lose_nothing() -> None:
    assert texts(loaded("1,2,3\n4,5\n6,7,8,9\n", "a.csv")) == ["1; 2; 3", "4; 5", "6; 7; 8; 9"]
    assert texts(loaded("a,b\nx,y,z\n", "a.csv")) == ["a: x; b: y; z"]


def test_csv_with_an_endless_field_is_unreadable() -> None:
    with pytest.raises(UnreadableFile, match="field"):
        loaded('a,b\n"' + "x" * 1_100_000, "a.csv")


def test_json_values_are_lines_with_their_paths() -> None:
    value = {
        "title": "Ducks", "count": 3, "none": None, "yes": True, "list": ["a", "b"],
        "nested": {"deep": {"x": 1.50}}, "items": [{"id": 1, "tags": []}, {"id": 2}],
    }  # fmt: skip
    document = loaded(json.dumps(value), "a.json")
    assert document.title == "Ducks"
    assert texts(document) == [
        "title: Ducks\ncount: 3\nyes: true\nlist: a, b",
        "nested.deep.x: 1.5",
        "items[0].id: 1",
        "items[1].id: 2",
    ]


def test_json_numbers_stay_digit_by_digit() -> None:
    assert texts(loaded('{"a": 1.10, "b": 123456789012345678901234567890}', "a.json")) == [
        "a: 1.10\nb: 123456789012345678901234567890"
    ]


def test_objects_in_a_list_or_on_lines_are_a_block_each() -> None:
    assert texts(loaded('[{"a": "x"}, {"a": "y", "b": "z"}]', "a.json")) == ["a: x", "a: y\nb: z"]
    assert texts(loaded('{"a": "x"}\n{"a": "y"}\n', "a.json")) == ["a: x", "a: y"]


@pytest.mark.parametrize("source", ["{", '{"a": 1,}', "hello"])
def test_broken_json_is_unreadable(source: str) -> None:
    with pytest.raises(UnreadableFile, match="JSON"):
        loaded(source, "a.json")


@pytest.mark.parametrize("source", ["{}", "[]", "null", '{"a": null}'])
def test_json_without_values_is_empty(source: str) -> None:
    with pytest.raises(EmptyDocument, match="no text"):
        loaded(source, "a.json")


def test_json_lines_name_the_broken_line() -> None:
    assert texts(loaded('{"a": "x"}\n\n{"a": "y"}', "a.jsonl")) == ["a: x", "a: y"]
    with pytest.raises(UnreadableFile, match="Line 2"):
        loaded('{"a": 1}\n{', "a.jsonl")


def test_a_lone_surrogate_is_replaced() -> None:
    document = loaded(r'{"a": "x\ud800y", "title": "\udfff"}', "a.json")
    assert texts(document) == ["a: x\ufffdy\ntitle: \ufffd"]
    assert document.title == "\ufffd"


def notebook(*cells: tuple[str, str]) -> str:
    made = [
        {"cell_type": kind, "source": source.splitlines(keepends=True), "outputs": ["SECRET"]}
        for kind, source in cells
    ]
    metadata = {"title": "My notebook", "language_info": {"name": "python"}}
    return json.dumps({"cells": made, "metadata": metadata, "nbformat": 4})


def test_notebooks_give_markdown_and_code_without_outputs() -> None:
    document = loaded(
        notebook(("markdown", "# Title\n\nText"), ("code", "# not a title\nprint(1)")), "a.ipynb"
    )
    assert document.blocks == (
        Block("# Title", 1, "Title"),
        Block("Text"),
        Block("# not a title\nprint(1)"),
    )
    assert document.title == "My notebook"
    assert document.metadata == {"programming_language": "python"}


def test_notebooks_of_format_3_are_read() -> None:
    cells = [
        {"cell_type": "heading", "level": 2, "source": "Old"},
        {"cell_type": "code", "input": "x = 1"},
    ]
    document = loaded(json.dumps({"worksheets": [{"cells": cells}]}), "a.ipynb")
    assert document.blocks == (Block("Old", 2, "Old"), Block("x = 1"))


@pytest.mark.parametrize("source", ["[]", "{}", '{"cells": 1}'])
def test_json_that_is_no_notebook_is_unreadable(source: str) -> None:
    with pytest.raises(UnreadableFile, match="notebook"):
        loaded(source, "a.ipynb")
