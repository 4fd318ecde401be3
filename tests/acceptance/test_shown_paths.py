"""Nobody who asks over HTTP is told where on the server a file is."""

import re
from collections.abc import Iterator
from inspect import unwrap
from pathlib import Path
from typing import Any

import pytest
from django.urls import URLPattern, URLResolver, get_resolver

from corpus.jobs.run import run_job_slice
from corpus.models import Chunk, Collection, Document, Job
from qa.api.mcp.tools import fetch, search
from qa.models import Answer, Citation
from tests.support.client import Api
from tests.support.documents import BAKERY, LIGHTHOUSE, LIGHTHOUSE_QUESTION
from tests.support.sync_tree import sync_tree


@pytest.fixture
def place(tmp_path: Path, settings: Any) -> Path:
    """A folder with two roots, and one that only the terminal knows."""
    for folder in ("inbox/my notes", "other/inbox", "home"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "inbox/my notes/a.md").write_text(f"# Bavoke\n\n{LIGHTHOUSE}\n")
    (tmp_path / "inbox/my notes/empty.txt").write_text("")
    (tmp_path / "other/inbox/b.txt").write_text(BAKERY)
    (tmp_path / "home/c.txt").write_text("The bakery opens at five in the morning.")
    settings.PKB_INGEST_ROOTS = [tmp_path / "inbox", tmp_path / "other" / "inbox"]
    settings.DATA_DIR = tmp_path / "data"
    settings.IS_DEV = True
    return tmp_path


@pytest.fixture
def filled(api: Api, place: Path, collection: Collection) -> Path:
    """What came in by every door, with a file that was refused and a job that failed."""
    for folder in ("my notes", place / "other" / "inbox"):
        body = {"directory_path": str(folder), "index_name": "default"}
        reply = api.post("/encode_batch", body)
        run_job_slice(Job.objects.get(pk=reply.json()["job_id"]).pk)
    sync_tree(place / "home", collection=collection)
    reply = api.post("/ingest", {"content_path": "my notes"})
    (place / "inbox" / "my notes").rename(place / "inbox" / "letters")
    run_job_slice(Job.objects.get(pk=reply.json()["id"]).pk)
    (place / "inbox" / "letters").rename(place / "inbox" / "my notes")
    assert Document.objects.filter(status="failed").count() == 1
    assert Job.objects.filter(status="failed").count() == 1
    api.get("/answer", {"q": LIGHTHOUSE_QUESTION})
    assert Citation.objects.exists()
    return place


def readable(patterns: Any, before: str = "") -> Iterator[str]:
    """Every route of the service but those of the admin, which may tell."""
    for pattern in patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver) and not route.startswith("admin"):
            yield from readable(pattern.url_patterns, route)
        elif isinstance(pattern, URLPattern):
            yield route


def addresses(collection: Collection) -> Iterator[str]:
    """The routes, with every id there is in them."""
    ids = {
        "document_id": Document.objects.values_list("pk", flat=True),
        "chunk_id": Chunk.objects.values_list("pk", flat=True),
        "job_id": Job.objects.values_list("pk", flat=True),
        "answer_id": Answer.objects.values_list("pk", flat=True),
        "name": [collection.name],
    }
    for route in readable(get_resolver().url_patterns):
        asked = re.search(r"<(?:\w+:)?(\w+)>", route)
        if asked is None:
            yield route
        for key in ids.get(asked[1], []) if asked else []:
            yield re.sub(r"<[^>]*>", str(key), route, count=1)


# For those that need something to look for.
QUERY = {"q": LIGHTHOUSE_QUESTION, "start": "0", "end": "20"}
POSTED = {
    "search": {"query": LIGHTHOUSE_QUESTION, "top_k": 50},
    "query": {"query": LIGHTHOUSE_QUESTION, "index_name": "default", "top_k": 50},
    "ask": {"question": LIGHTHOUSE_QUESTION},
    "claims/verify": {"claim": LIGHTHOUSE, "collection": "default"},
    "v1/chat/completions": {
        "model": "pkb/default", "messages": [{"role": "user", "content": LIGHTHOUSE_QUESTION}],
    },
    "v1/responses": {"model": "pkb/default", "input": LIGHTHOUSE_QUESTION},
}  # fmt: skip


def test_no_reading_door_tells_where_a_file_is(
    api: Api, filled: Path, collection: Collection
) -> None:
    told, seen = [], []
    for address in addresses(collection):
        for query in ({}, QUERY):
            reply = api.get(f"/{address}", query)
            seen.append((address, reply.status_code))
            body = reply.content.decode()
            told += [address] if str(filled) in body or "file://" in body else []
    assert told == []
    assert {route for route, _ in seen} > {"documents", "jobs", "ui/library", "ui/jobs", "tags"}
    kinds = ("documents/", "chunks/", "jobs/", "answers/", "ui/documents/", "ui/jobs/")
    for kind in kinds:
        assert any(route.startswith(kind) and status == 200 for route, status in seen), kind


@pytest.mark.parametrize("door", POSTED)
def test_no_asking_door_tells_where_a_file_is(api: Api, filled: Path, door: str) -> None:
    reply = api.post(f"/{door}", POSTED[door])
    assert reply.status_code == 200
    body = reply.content.decode()
    assert str(filled) not in body
    assert "file://" not in body
    assert str(Document.objects.get(file_path__endswith="a.md").pk) in body or door == "query"


def test_agents_are_not_told_where_a_file_is(filled: Path) -> None:
    found = unwrap(search)(LIGHTHOUSE_QUESTION)
    keys = [result["id"] for result in found["results"]]
    keys += [str(pk) for pk in Document.objects.stored().values_list("pk", flat=True)]
    fetched = [unwrap(fetch)(key) for key in keys]
    assert str(filled) not in f"{found}{fetched}"
    assert "inbox/my%20notes/a.md" in {text["metadata"]["source_uri"] for text in fetched}


def test_paths_are_shown_from_their_root_on(api: Api, filled: Path) -> None:
    shown = api.get("/documents").json()["results"]
    assert {(each["file_path"], each["source_uri"]) for each in shown} == {
        ("inbox/my notes/a.md", "inbox/my%20notes/a.md"),
        ("inbox/my notes/empty.txt", "inbox/my%20notes/empty.txt"),
        ("inbox-2/b.txt", "inbox-2/b.txt"),
        ("home/c.txt", "home/c.txt"),
    }
    errors = [job["errors"] for job in api.get("/jobs").json()["results"] if job["errors"]]
    assert errors == [
        [{"path": "", "reason": "There is no inbox/my notes."}],
        [{"path": "inbox/my notes/empty.txt", "reason": "The file is empty."}],
    ]
    page = api.page("/ui/library")
    assert '<option value="inbox">' in page
    assert '<option value="inbox-2">' in page


def test_the_library_syncs_a_root_by_its_name(api: Api, place: Path) -> None:
    (place / "inbox" / "inbox").mkdir()
    for name, root in (
        ("inbox", "inbox"),
        ("inbox-2", "other/inbox"),
        ("my notes", "inbox/my notes"),
    ):
        assert (
            api.post("/ui/library/folder", {"content_path": name}, format="multipart").status_code
            == 302
        )
        job = Job.objects.order_by("-created_at").first()
        assert job is not None
        assert job.arguments["paths"] == [str(place / root)]
    assert (
        api.post("/ui/library/folder", {"content_path": ".git"}, format="multipart").status_code
        == 404
    )


def test_a_citation_stored_by_an_older_version_tells_nothing(api: Api, filled: Path) -> None:
    document = Document.objects.get(file_path__endswith="a.md")
    Citation.objects.filter(document=document).update(source_uri=document.source_uri)
    shown = api.get(f"/answers/{Answer.objects.get().pk}").json()["citations"]
    assert {citation["source_uri"] for citation in shown} == {"inbox/my%20notes/a.md"}


def found(api: Api, op: str, key: str, value: Any) -> set[str]:
    """The names of the documents that a search by this filter finds."""
    wanted = {"type": op, "key": key, "value": value}
    return {hit["document_name"] for hit in api.search("the", top_k=50, filters=wanted)}


def test_filters_compare_what_is_shown(api: Api, filled: Path) -> None:
    everything = {"Bavoke", "b", "c"}
    assert found(api, "eq", "file_path", "inbox/my notes/a.md") == {"Bavoke"}
    assert found(api, "in", "source_uri", ["inbox-2/b.txt", "home/c.txt"]) == {"b", "c"}
    assert found(api, "gte", "file_path", "inbox") == {"Bavoke", "b"}
    assert found(api, "ne", "file_path", "home/c.txt") == everything - {"c"}
    # Nobody finds the rest of a path by asking whether it begins so.
    assert found(api, "eq", "file_path", str(filled / "home" / "c.txt")) == set()
    assert found(api, "lt", "file_path", str(filled)) == set()
    assert found(api, "lt", "source_uri", f"{filled.as_uri()}~") == set()
    for asked in (filled.name, "file:"):
        assert api.get("/documents", {"q": asked}).json()["results"] == []
    assert len(api.get("/documents", {"q": "inbox/my%20notes"}).json()["results"]) == 2


def test_a_client_finds_its_own_address_as_it_gave_it(api: Api, place: Path) -> None:
    own = f"file://{place}/inbox/mine.md"
    stored = api.post("/ingest", {"text": LIGHTHOUSE, "source_uri": own}).json()
    assert api.get(f"/documents/{stored['document_id']}").json()["source_uri"] == own
    assert found(api, "eq", "source_uri", own) == {"mine.md"}
