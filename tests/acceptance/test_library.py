"""The library: its list, what is done at once to many documents, what is being processed."""

import re
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from procrastinate.contrib.django.models import ProcrastinateJob

from corpus.catalogue import create_collection, delete_collection
from corpus.errors import PkbError
from corpus.invariants import find_violations
from corpus.jobs.kinds.edit_job import start_edit
from corpus.jobs.run import run_job_slice
from corpus.loaders import load_file
from corpus.models import Chunk, Collection, Document, Job, TermCount
from corpus.models.document import SORTS
from corpus.queue import RUN_JOB
from tests.support.client import upload
from tests.support.database import execute
from tests.support.documents import BAKERY, LIGHTHOUSE, Ingest, ingest_text_of
from tests.support.jobs import run_job
from web.templatetags.pages import advice, short_reason

pytestmark = pytest.mark.usefixtures("cheap_model")

NAMES = ["alder", "Birch", "cedar", "Dogwood", "elm"]


def made(collection: Collection, count: int = 5, **fields: Any) -> list[Document]:
    """Documents of which nothing but the row is there; every second one has pages."""
    return Document.objects.bulk_create(
        Document(
            collection=collection,
            title=NAMES[number % len(NAMES)],
            size_bytes=number * 100,
            page_count=number % 2,
            status="failed",
            error="It is damaged.",
            **fields,
        )
        for number in range(count)
    )


def titles(page: str) -> list[str]:
    return re.findall(r'<a class="name" href="[^"]+">([^<]*)</a>', page)


def listed(client: Client, **query: str) -> list[str]:
    return titles(client.get("/ui/library", query).content.decode())


def bulk(client: Client, act: str, documents: list[Document], **fields: str) -> Any:
    sent = {"act": act, "id": [str(document.pk) for document in documents], **fields}
    return client.post("/ui/library/bulk", sent)


def names_of_tags(document: Document) -> set[str]:
    return set(document.tags.values_list("name", flat=True))


@pytest.fixture
def two(ingest: Ingest) -> list[Document]:
    ingest(LIGHTHOUSE, title="Bavoke", tags=("coast",))
    ingest(BAKERY, title="Lindow", tags=("bread",))
    return list(Document.objects.order_by("title"))


# The list


def test_the_list_is_sorted_by_name_in_any_case(client: Client, collection: Collection) -> None:
    made(collection)
    assert listed(client, sort="name") == NAMES
    assert listed(client, sort="-name") == NAMES[::-1]
    assert listed(client, sort="size") == NAMES


@pytest.mark.parametrize("sort", [sign + name for name in SORTS for sign in ("", "-")])
def test_pages_in_either_direction_are_the_list(collection: Collection, sort: str) -> None:
    made(collection, 23)
    order = {"sort": sort.lstrip("-"), "descending": sort.startswith("-")}
    whole = Document.objects.page(**order, size=100)  # type: ignore[arg-type]
    assert (len(whole.documents), whole.previous, whole.next) == (23, "", "")
    pages = [Document.objects.page(**order, size=5)]  # type: ignore[arg-type]
    while pages[-1].next:
        after = pages[-1].next
        pages.append(Document.objects.page(**order, size=5, after=after))  # type: ignore[arg-type]
    assert [d.pk for page in pages for d in page.documents] == [d.pk for d in whole.documents]
    for earlier, later in pairwise(pages):
        back = Document.objects.page(**order, size=5, before=later.previous)  # type: ignore[arg-type]
        assert back.documents == earlier.documents


@pytest.mark.parametrize("sort", list(SORTS))
def test_a_page_is_read_from_an_index(collection: Collection, sort: str) -> None:
    """Among equal values too: what is before the page is not read."""
    made(collection, 400)
    execute("ANALYZE corpus_document")
    execute("SET LOCAL enable_seqscan = off")
    first = Document.objects.page(sort=sort, descending=True, size=300)
    with CaptureQueriesContext(connection) as asked:
        Document.objects.page(sort=sort, descending=True, size=5, after=first.next)
    plan = "\n".join(line for (line,) in execute(f"EXPLAIN {asked.captured_queries[0]['sql']}"))
    assert "Index Scan" in plan
    assert "Sort" not in plan
    assert "Index Cond: (ROW(" in plan


@pytest.mark.parametrize("cursor", ["x", "W10=", "WzEsMl0=", "eyJhIjoxfQ==", "é"])
def test_a_place_of_another_list_is_refused(client: Client, cursor: str) -> None:
    for sort in ("name", "size", "added"):
        assert client.get("/ui/library", {"sort": sort, "after": cursor}).status_code == 400


def test_the_list_is_filtered_by_type_state_tag_and_words(
    client: Client, collection: Collection, two: list[Document]
) -> None:
    made(collection, 1, media_type="application/pdf")
    assert listed(client, type="application/pdf") == ["alder"]
    assert listed(client, status="failed") == ["alder"]
    assert sorted(listed(client, status="completed")) == ["Bavoke", "Lindow"]
    assert listed(client, type="text/plain", tag="bread") == ["Lindow"]
    assert listed(client, q="caraway") == ["Lindow"]
    assert "No documents match" in client.get("/ui/library", {"q": "quince"}).content.decode()
    assert client.get("/ui/library", {"type": "no/type"}).status_code == 400


def test_a_larger_list_is_led_through_by_links(client: Client, collection: Collection) -> None:
    made(collection, 120)
    page = client.get("/ui/library", {"sort": "size", "status": "failed"}).content.decode()
    seen = titles(page)
    while found := re.search(r'rel="next" href="([^"]+)"', page):
        assert "status=failed" in found[1]
        page = client.get(f"/ui/library{found[1].replace('&amp;', '&')}").content.decode()
        seen += titles(page)
    assert len(seen) == 120
    assert "120 documents" in page


def test_a_document_shows_its_file_its_size_and_its_pages(client: Client, uploads: Path) -> None:
    run_job_slice(upload(client, "Coast notes.md", b"# Tides\n\n" + LIGHTHOUSE.encode()).pk)
    page = client.get("/ui/library").content.decode()
    assert titles(page) == ["Tides"]
    assert "Coast notes.md</span>" in page
    assert f"{len(LIGHTHOUSE) + 9} bytes" in page.replace("\xa0", " ")


# Many at once


def test_documents_are_tagged_and_untagged(client: Client, two: list[Document]) -> None:
    bulk(client, "tag", two, tags="Old, north")
    assert [names_of_tags(each) for each in two] == [
        {"coast", "old", "north"}, {"bread", "old", "north"},
    ]  # fmt: skip
    bulk(client, "untag", two, tags="old, bread")
    assert [names_of_tags(each) for each in two] == [{"coast", "north"}, {"north"}]
    chunk = Chunk.objects.filter(document=two[1]).first()
    assert chunk is not None
    assert [tag.name for tag in chunk.tags.all()] == ["north"]
    assert {job.status for job in Job.objects.all()} == {"succeeded"}


def test_a_job_that_a_worker_left_to_the_page_waits_for_workers_again(
    client: Client, two: list[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    def start_and_leave(*args: Any, **given: Any) -> list[Job]:
        jobs = start_edit(*args, **given)
        # A worker took it from the queue, and found that the page was at it.
        ProcrastinateJob.objects.all()._raw_delete(using="default")
        return jobs

    monkeypatch.setattr("web.views.bulk_pages.start_edit", start_and_leave)
    monkeypatch.setattr("corpus.jobs.run.RUN_NOW_S", -1)
    bulk(client, "tag", two, tags="coast")
    job = Job.objects.get()
    assert job.is_unfinished
    assert [row.args for row in ProcrastinateJob.objects.filter(task_name=RUN_JOB)] == [
        {"job_id": str(job.pk)}
    ]


def test_a_deletion_is_confirmed_first(client: Client, two: list[Document]) -> None:
    asked = bulk(client, "delete", two, back="sort=name").content.decode()
    assert "Delete 2 documents?" in asked
    assert "Bavoke" in asked
    assert Document.objects.count() == 2
    done = bulk(client, "delete", two, confirmed="on", back="sort=name")
    assert done["Location"] == "/ui/library?sort=name"
    assert Document.objects.count() == 0
    assert not TermCount.objects.exclude(chunk_count=0).exclude(lexeme="").exists()


def test_moved_documents_stay_what_they_are(client: Client, two: list[Document]) -> None:
    create_collection("archive", chunking={"strategy": "sentence", "size": 40})
    texts = [each.content.text for each in two]
    bulk(client, "move", two, to="archive")
    assert set(Document.objects.values_list("collection__name", flat=True)) == {"default"}
    assert run_job_slice(Job.objects.get().pk)
    moved = list(Document.objects.order_by("title"))
    assert [each.pk for each in moved] == [each.pk for each in two]
    assert {each.collection.name for each in moved} == {"archive"}
    assert [names_of_tags(each) for each in moved] == [{"coast"}, {"bread"}]
    assert [each.content.text for each in moved] == texts
    assert set(Chunk.objects.values_list("collection__name", flat=True)) == {"archive"}
    assert moved[0].chunk_count > two[0].chunk_count
    assert list(find_violations()) == []
    assert listed(client, collection="archive", q="lighthouse") == ["Bavoke"]
    assert listed(client, collection="default") == []


def test_what_the_other_collection_holds_already_is_not_moved(
    client: Client, two: list[Document]
) -> None:
    stored = ingest_text_of(create_collection("archive"))(LIGHTHOUSE, title="The same")
    bulk(client, "move", two, to="archive")
    job = Job.objects.get()
    run_job(job)
    assert (job.done, job.failed) == (1, 1)
    page = client.get("/ui/library").content.decode()
    assert f'Same content as <a href="/ui/documents/{stored.document_id}">The same</a>' in page
    assert list(find_violations()) == []


def test_an_upload_outlives_the_collection_that_it_left(
    client: Client, uploads: Path, django_capture_on_commit_callbacks: Any
) -> None:
    create_collection("first")
    create_collection("second")
    run_job_slice(upload(client, "a.md", LIGHTHOUSE.encode(), collection="first").pk)
    bulk(client, "move", list(Document.objects.all()), to="second")
    assert run_job_slice(Job.objects.latest("created_at").pk)
    with django_capture_on_commit_callbacks(execute=True):
        delete_collection("first")
    assert client.get(f"/documents/{Document.objects.get().pk}/original").status_code == 200


def test_documents_are_embedded_anew_by_a_worker(client: Client, two: list[Document]) -> None:
    Collection.objects.update(chunk_size=30)
    bulk(client, "reembed", two)
    job = Job.objects.get()
    assert job.status == Job.Status.QUEUED
    assert run_job_slice(job.pk)
    assert Document.objects.get(title="Bavoke").chunk_count > two[0].chunk_count


@pytest.mark.parametrize(
    "sent",
    [
        {"act": "tag", "tags": "a"},
        {"act": "tag", "tags": " , ", "id": str(uuid4())},
        {"act": "move", "id": str(uuid4())},
        {"act": "burn", "id": str(uuid4())},
        {"act": "delete", "id": "x"},
        {"act": "delete", "id": [str(uuid4()) for _ in range(501)]},
    ],
)
def test_what_makes_no_sense_is_refused(client: Client, sent: dict[str, Any]) -> None:
    assert client.post("/ui/library/bulk", sent).status_code == 400
    assert Job.objects.count() == 0


def test_a_collection_that_is_not_there_takes_nothing(client: Client, two: list[Document]) -> None:
    assert bulk(client, "move", two, to="nowhere").status_code == 404
    assert Job.objects.count() == 0


def test_documents_that_are_gone_meanwhile_are_passed_over(client: Client) -> None:
    reply = client.post("/ui/library/bulk", {"act": "tag", "tags": "a", "id": str(uuid4())})
    assert reply.status_code == 302


# Processing


def test_finished_work_is_cleared_and_unfinished_is_not(client: Client, uploads: Path) -> None:
    run_job_slice(upload(client, "done.md", LIGHTHOUSE.encode()).pk)
    upload(client, "waiting.md", BAKERY.encode())
    assert "Clear finished" in client.get("/ui/library").content.decode()
    client.post("/ui/library/clear")
    page = client.get("/ui/library").content.decode()
    work = page[page.index('id="work"') : page.index('id="filter"')]
    assert "done.md" not in work
    assert "waiting.md" in work
    assert "Clear finished" not in work


def test_a_duplicate_is_named_by_what_it_equals(client: Client, uploads: Path) -> None:
    run_job_slice(upload(client, "a.md", b"# Tides\n\n" + LIGHTHOUSE.encode()).pk)
    run_job_slice(upload(client, "b.md", b"# Tides\n\n" + LIGHTHOUSE.encode()).pk)
    document = Document.objects.get()
    page = client.get("/ui/library").content.decode()
    assert f'Same content as <a href="/ui/documents/{document.pk}">Tides</a>' in page


def test_a_failure_says_what_to_do(client: Client, uploads: Path) -> None:
    run_job_slice(upload(client, "a.docx", b"PK\x05\x06" + b"\0" * 18).pk)
    run_job_slice(upload(client, "a.zip", b"PK\x03\x04 torn").pk)
    page = client.get("/ui/library").content.decode()
    assert "Pack its files anew, or upload them unpacked." in page
    assert "unpack it and add the files inside) is not supported.</span>" in page.replace(
        ' <span class="advice">', "</span>"
    )
    assert "Supported are" not in page
    assert "/ui/library/formats" in page
    assert "Jupyter notebook" in client.get("/ui/library/formats").content.decode()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.pdf", b"%PDF-1.4 and nothing of the kind"),
        ("a.wpd", b"\xffWPC hello"),
        ("a.txt", b""),
        ("a.docx", b"PK\x03\x04 torn"),
        ("a.xml", b"<a><b></a>"),
        ("a.md", b"text\0" * 9),
        ("a.html", b"<html><body></body></html>"),
    ],
)
def test_there_is_advice_for_what_loaders_refuse(name: str, content: bytes) -> None:
    with pytest.raises(PkbError) as caught:
        load_file(content, filename=name)
    assert advice(str(caught.value)) is not None
    assert len(short_reason(str(caught.value))) < 160


def test_there_is_no_advice_for_what_nobody_knows() -> None:
    assert advice("It was begun 3 times and the work never came to its end.") is None


# Collections


def test_a_collection_is_made_with_model_and_chunking(client: Client) -> None:
    form = {
        "name": "letters", "description": "Of the keeper", "embedding_model": "hashing-64",
        "language": "german", "strategy": "recursive", "size": "300", "unit": "characters",
        "overlap": "30",
    }  # fmt: skip
    assert client.post("/ui/library/collection", form).status_code == 302
    made = Collection.objects.get(name="letters")
    assert (made.embedding_model, made.language) == ("hashing-64", "german")
    assert (made.chunk_strategy, made.chunk_size, made.chunk_overlap) == ("recursive", 300, 30)


def test_what_is_left_empty_is_by_default(client: Client) -> None:
    empty = {"strategy": "auto", "size": "", "unit": "", "overlap": "", "overlap_sentences": ""}
    client.post("/ui/library/collection", {"name": "letters", **empty})
    made, default = Collection.objects.get(name="letters"), Collection.objects.get(name="default")
    assert (made.chunk_size, made.chunk_unit) == (default.chunk_size, default.chunk_unit)


@pytest.mark.parametrize(
    "wrong", [{"name": "9 lives"}, {"size": "3"}, {"embedding_model": "none"}, {"overlap": "900"}]
)
def test_a_collection_that_cannot_be_is_refused(client: Client, wrong: dict[str, str]) -> None:
    reply = client.post("/ui/library/collection", {"name": "letters", **wrong})
    assert reply.status_code == 400
    assert 'class="problem"' in reply.content.decode()
