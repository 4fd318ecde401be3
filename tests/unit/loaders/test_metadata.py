"""What files state of themselves: who wrote it, when, in which language."""

from datetime import UTC, date, datetime
from typing import Any

import pytest

from corpus.ingestion.submission import Attributes
from corpus.loaders.blocks import LoadedDocument
from corpus.loaders.metadata import (
    MAX_AUTHORS,
    MAX_ENTRIES,
    MAX_KEY_CHARS,
    MAX_TEXT_CHARS,
    document_date,
    earliest_datetime,
    normalize_date,
    normalize_language,
    normalize_metadata,
)
from tests.unit.loaders.sample_files import loaded

pytestmark = pytest.mark.usefixtures("in_process")


@pytest.mark.parametrize(
    ("stated", "moment"),
    [
        ("2013-12-23T23:15:00Z", "2013-12-23T23:15:00Z"),
        ("2026-06-09 14:50:11.888942000+02:00", "2026-06-09T14:50:11+02:00"),
        ("2024-01-02T03:04", "2024-01-02T03:04:00"),
        (2024, "2024"),
        ("2024-03", "2024-03"),
        ("3. Mar. 2024", "2024-03-03"),
        ("March 3rd, 2024, noon", "2024-03-03"),
        ("24.12.2024", "2024-12-24"),
        ("2024/3/4", "2024-03-04"),
        ("Wed, 20 May 2026 10:30:00 +0000", "2026-05-20T10:30:00+00:00"),
    ],
)
def test_dates_are_brought_into_one_form(stated: object, moment: str) -> None:
    assert normalize_date(stated) == moment
    assert earliest_datetime(moment) is not None


@pytest.mark.parametrize(
    "stated",
    ["", None, "soon", "0001-01-01", "9999-12-31", "2024-02-31", "12 Foo 2024", "31/12/2024",
     "1" * 9, "2024-01-01T00:00:00+99:99", "Wed, 20 May 0999 10:30:00 +0000", "Wed, 99 May",
     "x" * 10**6],
)  # fmt: skip
def test_what_is_no_date_of_a_document_is_none(stated: object) -> None:
    assert normalize_date(stated) == ""


@pytest.mark.parametrize(
    ("stated", "language"),
    [
        ("de-CH", "de"), ("EN_us", "en"), ("ger", "de"), ("gsw", "gsw"), (["fr", "de"], "fr"),
        ("und", ""), ("python", ""), ("x" * 10**6, ""), ([], ""),
        (None, ""), (-1, ""),
    ],
)  # fmt: skip
def test_languages_are_told_by_their_tags(stated: object, language: str) -> None:
    assert normalize_language(stated) == language


@pytest.mark.parametrize(
    ("stated", "author"),
    [
        ({"author": " Ada\nL. "}, "Ada L."),
        ({"authors": ["Ada", {"name": "Bo"}, "Ada", {}, 5]}, ["Ada", "Bo"]),
        ({"author": "https://example.org/ada", "creator": "Ada"}, "Ada"),
        ({"author": "python-docx"}, None),
        ({"author": "Microsoft Office User"}, None),
        ({"from": '"L., Ada" <ada@example.org>'}, "L., Ada"),
        ({"from": "ada@example.org"}, "ada@example.org"),
    ],
)
def test_authors_are_people(stated: dict[str, Any], author: object) -> None:
    assert normalize_metadata(stated).get("author") == author


def test_what_a_hostile_file_states_stays_in_bounds() -> None:
    deep: Any = "end"
    for _ in range(99):
        deep = {"a": [deep]}
    metadata = normalize_metadata(
        {
            "description": "x" * 10**6,
            "k" * 10**6: 1,
            "authors": [f"Author {n}" for n in range(10**4)],
            "rows": list(range(10**5)),
            "deep": deep,
            **{f"key {n}": n for n in range(10**4)},
        }
    )
    assert len(metadata["description"]) == MAX_TEXT_CHARS
    assert max(map(len, metadata)) == MAX_KEY_CHARS
    assert len(metadata["author"]) == MAX_AUTHORS
    assert len(metadata["rows"]) == MAX_ENTRIES
    assert len(metadata) <= MAX_ENTRIES
    assert '"end"' not in str(metadata["deep"])
    assert normalize_metadata({"a": [[[[]]]], "b": {"c": None}}) == {
        "a": [[[[]]]],
        "b": {"c": None},
    }


def test_what_is_given_with_a_file_wins_over_what_it_states() -> None:
    of_file: Any = {"name": "", "media_type": "", "size_bytes": 0}
    stated = LoadedDocument((), metadata={"created": "2024-03", "author": "Ada"})
    given = Attributes(user_created_at=datetime(2020, 1, 1, tzinfo=UTC), metadata={"author": "Bo"})
    assert given.filled_from(stated, **of_file).user_created_at == given.user_created_at
    assert given.filled_from(stated, **of_file).metadata["author"] == "Bo"
    filled = Attributes().filled_from(stated, **of_file)
    assert filled.user_created_at == datetime(2024, 3, 1, tzinfo=UTC)
    assert Attributes().filled_from(LoadedDocument(()), **of_file).user_created_at is None


def test_each_format_states_author_date_and_language() -> None:
    for content, filename, stated in (
        (
            '<html lang="de-CH"><meta name=dcterms.creator content=Ada>'
            "<meta name=citation_publication_date content=2024/3/4><p>Text",
            "a.html", ("Ada", "2024-03-04", "de"),
        ),
        (
            "---\nauthors: [Ada, Bo]\ndate: 2024-03-04\nlang: ger\n---\nText",
            "a.md", (["Ada", "Bo"], "2024-03-04", "de"),
        ),
        (
            "Title\n=====\n\n:Author: Ada\n:Date: March 4, 2024\n:Language: de\n\nText",
            "a.rst", ("Ada", "2024-03-04", "de"),
        ),
        (
            "= Title\nAda L. <ada@example.org>\nv1.2, 2024-03-04\n:lang: de\n:toc:\n\nText",
            "a.adoc", ("Ada L.", "2024-03-04", "de"),
        ),
        (
            "= Title\n:author: Ada\n:revdate: 2024\n:lang: de\n\nText",
            "a.adoc", ("Ada", "2024", "de"),
        ),
        ("Text\n= Title\n:author: Ada", "a.adoc", (None, None, None)),
        (
            "From: Ada <a@example.org>\nDate: Mon, 4 Mar 2024 05:06:07 +0000\n"
            "Content-Language: de\n\nText",
            "a.eml", ("Ada", "2024-03-04T05:06:07+00:00", "de"),
        ),
        (
            '<article xml:lang="de"><front><contrib contrib-type="author"><name>'
            "<surname>L</surname><given-names>Ada</given-names></name></contrib><pub-date><day>4</day><month>3</month>"
            "<year>2024</year></pub-date></front><body><p>Text</p></body></article>",
            "a.xml", ("Ada L", "2024-03-04", "de"),
        ),
        (
            "<rss><channel><language>de</language><pubDate>Mon, 4 Mar 2024 05:06:07 GMT</pubDate>"
            "<item><title>Text</title></item></channel></rss>",
            "a.rss", (None, "2024-03-04T05:06:07+00:00", "de"),
        ),
        (r"{\rtf1\deflang1031{\info{\author Ada}{\creatim\yr2024\mo3\dy4}}Text\par}", "a.rtf",
         ("Ada", "2024-03-04", None)),
    ):  # fmt: skip
        found = loaded(content, filename).metadata
        assert (found.get("author"), found.get("created"), found.get("language")) == stated, (
            filename
        )


DAYS: dict[str, tuple[dict[str, Any], datetime | None, str]] = {
    "given": ({}, datetime(2024, 3, 4, tzinfo=UTC), "2024-03-04"),
    "stated": ({"created": "2024-03-04T10:00:00"}, None, "2024-03-04"),
    "a month": ({"created": "2024-03"}, datetime(2024, 3, 1, tzinfo=UTC), "2024-03"),
    "given otherwise": ({"created": "2024-03"}, datetime(2019, 5, 1, tzinfo=UTC), "2019-05-01"),
    "changed since": (
        {"created": "2015", "modified": "2024-03-04"},
        datetime(2015, 1, 1, tzinfo=UTC),
        "2024-03-04",
    ),
    "changed before": ({"modified": "2014"}, datetime(2015, 1, 1, tzinfo=UTC), "2015-01-01"),
    "nothing": ({}, None, ""),
    "to come": ({"created": "2031-01-01"}, datetime(2031, 1, 1, tzinfo=UTC), ""),
    "changed on a day to come": ({"created": "2024", "modified": "2030-05-06"}, None, "2024"),
    "tomorrow": ({}, datetime(2030, 5, 5, tzinfo=UTC), "2030-05-05"),
    "this year": ({"modified": "2030"}, None, "2030"),
    "no dates": ({"created": ["?"], "modified": {"by": "Ida"}}, None, ""),
}  # fmt: skip


@pytest.mark.parametrize("case", DAYS)
def test_a_document_is_of_the_day_that_is_said_of_it(case: str) -> None:
    metadata, created_at, day = DAYS[case]
    assert document_date(metadata, created_at, today=date(2030, 5, 4)) == day
