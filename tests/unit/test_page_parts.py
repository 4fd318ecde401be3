"""What pages are made of: marked terms, overlaid chunks, charts."""

from dataclasses import replace
from datetime import UTC, date, datetime

import pytest

from corpus.jobs.kinds.edit_job import Act
from corpus.models import Document, Job
from qa.context import EXTRACTIVE
from tests.support.documents import SHORT_ANSWER, UNSURE_ANSWER, record_of
from web.answer_presenter import NOTHING_PROVED, STOOD_IN, Turn
from web.templatetags.pages import (
    about,
    job_figures,
    job_name,
    place_name,
    type_name,
    without_markup,
)
from web.views.quality_pages import AXIS, MARGIN, day_bars
from web.views.search_pages import find_terms


@pytest.mark.parametrize(
    ("text", "query", "hits"),
    [
        pytest.param("It bakes rye bread.", "baking rye", ["bakes", "rye"], id="endings"),
        pytest.param("the cat and the hat", "the hat", ["hat"], id="common-words"),
        pytest.param("<b>Rye</b>", "RYE", ["Rye"], id="markup-and-case"),
        pytest.param("nothing here", "else", [], id="none"),
    ],
)
def test_words_of_the_query_are_marked(text: str, query: str, hits: list[str]) -> None:
    assert [text[start:end] for start, end in find_terms(text, query)] == hits


@pytest.mark.parametrize(
    ("begin", "shown"),
    [
        (
            "## How to\n\nUse **bold** [links](https://x.example) in `code`",
            "How to Use bold links in code",
        ),
        ("See [the manual](https://long.exam", "See the manual"),
        ("See [the man", "See the man"),
        ("| Boat | Fee |\n|---|---|\n| Dinghy | 1", "Boat Fee Dinghy 1"),
        ("It is **very impor", "It is very impor"),
    ],
)
def test_a_part_of_a_text_is_shown_without_markup(begin: str, shown: str) -> None:
    document = Document(media_type="text/markdown")
    assert without_markup(begin, document) == shown
    plain = Document(media_type="text/plain")
    assert without_markup("a  **b**", plain) == "a **b**"
    page = Document(media_type="text/html")
    assert without_markup("| Boat | F*e |\n| --- |", page) == "Boat F*e"


def test_bars_of_days_grow_from_the_axis() -> None:
    bars = day_bars([(date(2026, 3, 9), 4, 2)], last=date(2026, 3, 10), days=3)
    assert [bar.day.day for bar in bars] == [8, 9, 10]
    assert [bar.up_height for bar in bars] == [0, AXIS - MARGIN, 0]
    assert bars[1].up_top == MARGIN
    assert bars[1].down_height == bars[1].up_height / 2


def test_items_that_were_refused_are_no_failure_of_a_job() -> None:
    job = Job(status=Job.Status.SUCCEEDED, total=5, done=3, failed=2)
    assert job_figures(job) == "3 of 5"  # its state says the others
    job.status = Job.Status.FAILED
    assert job_figures(job) == "3 of 5, 2 failed"
    assert job_figures(Job(total=5, done=3)) == "3 of 5"


@pytest.mark.parametrize(
    ("count", "name"),
    [(1, "a0.md"), (3, "a0.md, a1.md, a2.md"), (5, "a0.md, a1.md, a2.md and 2 more")],
)
def test_a_job_of_an_upload_names_its_files(count: int, name: str) -> None:
    paths = [f"/srv/uploads/1/a{number}.md" for number in range(count)]
    job = Job(kind=Job.Kind.SYNC, arguments={"source": "upload", "paths": paths})
    assert job_name(job) == f"Upload {name}"


def test_a_page_says_what_became_of_the_model_s_text() -> None:
    record = replace(record_of(SHORT_ANSWER), answerer=EXTRACTIVE)
    assert Turn(record).lm_notice == ""
    stood_in = Turn(replace(record, fallback="openai/m failed: timed out"))
    assert stood_in.lm_notice == f"{STOOD_IN} (openai/m failed: timed out)"
    unsure = replace(record_of(UNSURE_ANSWER), answerer="openai/m")
    assert Turn(unsure).lm_notice == NOTHING_PROVED


@pytest.mark.parametrize(
    ("uri", "place"),
    [
        ("file:///srv/manuals/How%20to.pdf", "manuals/How to.pdf"),
        ("file:///srv/handbook/benefits/index.md", "benefits/index.md"),
        ("https://coast.example/towers/bavoke?x=1", "coast.example/bavoke"),
        ("https://coast.example", "coast.example"),
        ("srv/inbox/notes/a.md", "srv/inbox/notes/a.md"),
        ("ticket 12", "ticket 12"),
        ("", ""),
    ],
)
def test_a_document_is_placed_by_file_folder_or_host(uri: str, place: str) -> None:
    assert place_name(Document(source_uri=uri)) == place


def test_types_have_the_names_that_people_use() -> None:
    assert type_name(Document(media_type="application/pdf")) == "PDF"
    assert type_name(Document(media_type="x/y")) == "x/y"


@pytest.mark.parametrize(
    ("act", "total", "name"),
    [
        (Act.TAG, 1, "Tag 1 document a, b"),
        (Act.UNTAG, 2, "Remove a, b from 2 documents"),
        (Act.MOVE, 2, "Move 2 documents to archive"),
        (Act.REEMBED, 2, "Re-embed 2 documents"),
        (Act.DELETE, 2, "Delete 2 documents"),
    ],
)
def test_a_job_says_what_is_done_to_documents(act: Act, total: int, name: str) -> None:
    arguments = {"act": act.value, "tags": ["a", "b"], "collection": "archive"}
    assert job_name(Job(kind=Job.Kind.EDIT, total=total, arguments=arguments)) == name


@pytest.mark.parametrize(
    ("metadata", "created_at", "shown"),
    [
        ({"author": "Ada", "language": "de"}, None, "by Ada · German"),
        (
            {"author": ["A", "B", "C", "D"], "created": "2024-03"},
            None,
            "by A, B, C and others · 2024-03",
        ),
        ({"created": "2024-03-04"}, datetime(2024, 3, 4, tzinfo=UTC), "4 Mar 2024"),
        ({"author": {"no": "name"}, "language": ["x"], "created": []}, None, "by {'no': 'name'}"),
        ({}, None, ""),
    ],
)
def test_a_page_says_who_wrote_a_document_and_when(
    metadata: dict[str, object], created_at: datetime | None, shown: str
) -> None:
    assert about(Document(metadata=metadata, user_created_at=created_at)) == shown
