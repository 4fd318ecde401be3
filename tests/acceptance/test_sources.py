"""Sources over HTTP and in the library."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from pydantic import SecretStr

from corpus.jobs.run import run_job_slice
from corpus.models import Collection, Job
from corpus.sources.paperless import Settings
from tests.support.client import Api
from tests.support.documents import LIGHTHOUSE
from tests.support.paperless import TOKEN, Paperless, serve_paperless

pytestmark = pytest.mark.usefixtures("cheap_model")


@pytest.fixture
def paperless(settings: Any) -> Iterator[Paperless]:
    with serve_paperless() as served:
        served.put(1, LIGHTHOUSE)
        found = Settings(name="office", kind="paperless", url=served.url, collection="papers")
        settings.PKB_SOURCES = [found.model_copy(update={"secret": SecretStr(TOKEN)})]
        yield served


def test_a_source_is_listed_and_synced(api: Api, paperless: Paperless) -> None:
    (before,) = api.get("/sources").json()
    assert before == {
        "name": "office", "kind": "paperless", "address": paperless.url, "collection": "papers",
        "every_s": None, "document_count": 0, "job": None,
    }  # fmt: skip
    begun = api.post("/sources/office/sync")
    assert (begun.status_code, begun.json()["kind"]) == (202, "source")
    again = api.post("/sources/office/sync")
    assert again.json()["id"] == begun.json()["id"]
    assert run_job_slice(Job.objects.get().pk)
    (after,) = api.get("/sources").json()
    assert (after["document_count"], after["job"]["status"]) == (1, "succeeded")
    assert Collection.objects.get_named("papers").documents.count() == 1
    assert api.post("/sources/office/sync", {"emptied": True}).status_code == 202
    assert Job.objects.latest("created_at").arguments == {"source": "office", "emptied": True}


def test_no_source_is_tried_unless_it_is_configured(api: Api) -> None:
    assert api.get("/sources").json() == []
    missing = api.post("/sources/office/sync")
    assert (missing.status_code, missing.json()["title"]) == (404, "No source has this name.")
    assert not Job.objects.exists()


def test_the_library_shows_sources_with_a_button(client: Client, paperless: Paperless) -> None:
    paperless.broken["/api/"] = 500
    page = client.get("/ui/library").content.decode()
    assert "not synced yet" in page.split('id="sources"')[1]
    begun = client.post("/ui/library/sources/office/sync")
    job = Job.objects.get()
    assert begun["Location"] == f"/ui/jobs/{job.pk}"
    assert run_job_slice(job.pk)
    page = client.get("/ui/library").content.decode().split('id="sources"')[1]
    assert "office: it answers 500." in page
    assert "Sync office" in client.get(begun["Location"]).content.decode()
    assert client.post("/ui/library/sources/nowhere/sync").status_code == 404
    assert TOKEN not in page
