"""Sites are kept in step by the API, the command and the library."""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import CommandError
from django.test import Client

from corpus.jobs.run import run_job_slice
from corpus.models import Collection, Document, Job
from corpus.models import Site as KeptSite
from corpus.sites import SiteLimits, add_site
from tests.support.client import Api
from tests.support.commands import run
from tests.support.documents import BAKERY, LIGHTHOUSE
from tests.support.site_server import Site, page, serving

pytestmark = pytest.mark.usefixtures("cheap_model", "fetching")
URL = "https://docs.example.org/guide/"


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as site:
        site.has("/", page("Coast", LIGHTHOUSE, "/a", "/b"))
        site.has("/a", page("Lindow", BAKERY))
        site.leads("/b", "/a")
        yield site


# The API


def test_a_site_is_kept_refreshed_and_removed(api: Api) -> None:
    body = {"url": f"{URL}#top", "depth": 1, "every_hours": 24, "tags": ["Docs "]}
    reply = api.post("/sites", body)
    kept = reply.json()
    assert reply.status_code == 201, kept
    expected = {"url": URL, "crawl": True, "depth": 1, "max_pages": 500, "every_hours": 24,
                "tags": ["docs"], "collection": "default", "status": "queued"}  # fmt: skip
    assert expected.items() <= kept.items()
    assert kept["due_at"] > kept["created_at"]
    assert api.get(f"/sites/{kept['id']}").json() == kept
    assert api.get("/sites").json() == {"results": [kept], "next": None}
    # While it is being brought in no other job is begun.
    reply = api.post(f"/sites/{kept['id']}/refresh")
    assert (reply.status_code, reply.json()["id"]) == (202, kept["job_id"])
    assert reply.json()["kind"] == "crawl"
    again = api.post("/sites", {"url": URL, "depth": 3})
    assert (again.status_code, again.json()["depth"], again.json()["due_at"]) == (200, 3, None)
    assert api.delete(f"/sites/{kept['id']}?with_documents=true").status_code == 204
    assert Job.objects.get().status == "cancelled"
    for reply in (api.get(f"/sites/{kept['id']}"), api.delete(f"/sites/{kept['id']}"),
                  api.post(f"/sites/{kept['id']}/refresh")):  # fmt: skip
        assert (reply.status_code, reply.json()["error"]) == (404, "site_not_found")


@pytest.mark.parametrize(
    ("body", "status", "error"),
    [
        ({}, 400, "invalid_input"),
        ({"url": URL, "depth": 11}, 400, "invalid_input"),
        ({"url": URL, "max_pages": 20_000}, 400, "invalid_input"),
        ({"url": URL, "every_hours": 0}, 400, "invalid_input"),
        ({"url": URL, "crawl": "yes"}, 400, "invalid_input"),
        ({"url": "file:///etc/passwd"}, 422, "not_fetched"),
        ({"url": "https://u:p@docs.example.org/"}, 422, "not_fetched"),
        ({"url": URL, "collection": "nowhere"}, 404, "collection_not_found"),
    ],
)
def test_a_wrong_site_is_not_kept(api: Api, body: dict[str, Any], status: int, error: str) -> None:
    reply = api.post("/sites", body)
    assert (reply.status_code, reply.json()["error"]) == (status, error)
    assert not KeptSite.objects.exists()
    assert not Job.objects.exists()


def test_nothing_of_sites_is_there_where_nothing_may_be_fetched(
    api: Api, client: Client, settings: Any
) -> None:
    site, _ = add_site(URL, SiteLimits(), collection=Collection.objects.get_named("default"))
    settings.PKB_FETCH = "off"
    one = f"/sites/{site.pk}"
    replies = [
        api.get("/sites"), api.post("/sites", {"url": URL}), api.get(one),
        api.delete(one), api.post(f"{one}/refresh"),
    ]  # fmt: skip
    assert {(reply.status_code, reply.json()["error"]) for reply in replies} == {
        (403, "fetching_off")
    }
    library = client.get("/ui/library").content.decode()
    assert "Add URL" not in library
    assert URL not in library
    sent = {"url": URL, "what": "site"}
    assert client.post("/ui/library/sites", sent).status_code == 403
    assert client.post(f"/ui/library/sites/{site.pk}/remove").status_code == 403
    assert KeptSite.objects.count() == 1
    assert not Job.objects.exists()


# The command


def ingest(*arguments: str) -> str:
    return run("ingest", *arguments)[0]


def test_the_command_brings_a_site_in_and_keeps_it(site: Site) -> None:
    arguments = (f"{site.url}/", "--crawl", "--every", "2d", "--tag", "coast")
    assert "2 added, 0 replaced" in (said := ingest(*arguments))
    assert "1 redirected" in said
    kept = KeptSite.objects.get(job__status="succeeded")
    assert (kept.every_hours, kept.tags) == (48, ["coast"])
    assert "2 unchanged" in ingest(*arguments)
    site.says("/a", b"", 410)
    assert "1 removed" in ingest(*arguments)
    assert Document.objects.get().tags.get().name == "coast"


@pytest.mark.parametrize(
    "arguments",
    [
        ("README.md", "--crawl"),
        ("README.md", "--every", "24h"),
        (URL, "--crawl", "--every", "often"),
        (URL, "--every", "0h"),
        (URL, "--crawl", "--depth", "11"),
        (URL, "--crawl", "--max-pages", "0"),
    ],
)
def test_wrong_usage_of_the_command_is_told(arguments: tuple[str, ...]) -> None:
    with pytest.raises(CommandError) as told:
        ingest(*arguments)
    assert told.value.returncode == 2


def test_the_command_leaves_a_site_to_the_worker_that_has_it(site: Site, api: Api) -> None:
    api.post("/sites", {"url": f"{site.url}/"})
    with pytest.raises(CommandError, match="A worker is already importing"):
        ingest(f"{site.url}/", "--crawl")


# The library


def section(client: Client) -> str:
    library = client.get("/ui/library").content.decode()
    return library.partition('id="sites"')[2].partition("</section>")[0]


def test_the_library_keeps_refreshes_stops_and_removes_sites(site: Site, client: Client) -> None:
    assert "Add URL" in client.get("/ui/library").content.decode()
    sent = {"url": f"{site.url}/a", "what": "page", "every_hours": "24", "tags": "coast"}
    assert client.post("/ui/library/sites", sent).status_code == 302
    kept = KeptSite.objects.get()
    shown = section(client)
    assert "one page, updated every day, collection default" in shown
    assert "Cancel</button>" in shown
    client.post(f"/ui/jobs/{kept.job_id}/cancel", {"from": "library"})
    assert "Update now</button>" in section(client)
    client.post(f"/ui/library/sites/{kept.pk}/refresh")
    kept.refresh_from_db()
    assert kept.job_id
    assert run_job_slice(kept.job_id)
    assert "1 of 1, 1 request," in section(client)
    assert f"Import {site.url}/a" in client.get(f"/ui/jobs/{kept.job_id}").content.decode()
    client.post(f"/ui/library/sites/{kept.pk}/remove", {"with_documents": "on"})
    assert (section(client), Document.objects.count()) == ("", 0)
    sent |= {"what": "site", "depth": "1", "max_pages": "9", "every_hours": ""}
    client.post("/ui/library/sites", sent)
    assert "whole site, link depth 1, at most 9 pages, updated on demand" in section(client)
    assert client.post("/ui/library/sites", {"url": URL}).status_code == 400
    assert client.post(f"/ui/library/sites/{uuid4()}/refresh").status_code == 404
