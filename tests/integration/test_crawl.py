"""A site is brought in page by page, and kept in step with what it is."""

import gzip
from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from procrastinate.contrib.django.models import ProcrastinateJob

from corpus.catalogue import create_collection, delete_collection
from corpus.crawl import fetcher
from corpus.crawl.frontier import select_links
from corpus.ingestion.ingest import move_to_collection
from corpus.invariants import find_violations
from corpus.jobs import run as run_of_jobs
from corpus.jobs.run import run_job_slice
from corpus.jobs.states import retry_job
from corpus.models import Collection, Document, Job, JobItem, SitePage
from corpus.models import Site as KeptSite
from corpus.sites import SiteLimits, add_site, refresh_due_sites, refresh_site, remove_site
from tests.support.documents import BAKERY, LIGHTHOUSE
from tests.support.jobs import run_job
from tests.support.site_server import Site, page, serving

pytestmark = pytest.mark.usefixtures("cheap_model")

COAST = "The keepers of Bavoke write down what they see, every evening of the year."
MILL = "The mill behind the harbour grinds rye and barley since the year 1811."
ALL = {"/", "/a", "/b"}


@pytest.fixture
def site(fetching: None) -> Iterator[Site]:
    """Three pages that lead to each other, and to what is not of the site."""
    with serving() as site:
        elsewhere = ("https://other.example/", "mailto:a@b.example", "/logo.png", "javascript:x()")
        site.has("/", page("Coast", COAST, "/a", "b#top", "/b?utm_source=mail", *elsewhere))
        site.has("/a", page("Bavoke", LIGHTHOUSE, "/", "/b"))
        site.has("/b", page("Lindow", BAKERY, "/index.html", "a"))
        yield site


def crawl(site: Site, path: str = "/", **limits: Any) -> Job:
    """Bring a site in, or bring it in anew."""
    collection = Collection.objects.get_named("default")
    kept, _ = add_site(site.url + path, SiteLimits(**limits), collection=collection)
    return run(refresh_site(kept.pk))


def run(job: Job) -> Job:
    # As a worker does, which has taken it out of the queue.
    ProcrastinateJob.objects.all()._raw_delete("default")
    return run_job(job)


def stored(site: Site) -> set[str]:
    uris = Document.objects.values_list("source_uri", flat=True)
    return {uri.removeprefix(site.url) for uri in uris}


def outcomes(job: Job, site: Site) -> dict[str, str]:
    return {item.path.removeprefix(site.url): item.outcome for item in job.items.order_by("pk")}


def ids() -> dict[str, str]:
    return {doc.title: str(doc.pk) for doc in Document.objects.all()}


# What comes in


def test_the_pages_of_a_site_come_in_once_each(site: Site) -> None:
    job = crawl(site)
    assert (job.status, job.done) == ("succeeded", 3)
    assert stored(site) == ALL
    assert site.asked == ["/robots.txt", "/sitemap.xml", "/", "/a", "/b"]
    assert {doc.source for doc in Document.objects.all()} == {"web"}
    assert list(find_violations()) == []


def test_only_the_folder_of_the_address_is_the_site(site: Site) -> None:
    site.has("/docs/", page("Guide", MILL, "part", "../a", "/docs-old/", "/docs/../b", "%2e%2e/a"))
    site.has("/docs/part", page("Part", COAST, "/a"))
    crawl(site, "/docs/")
    assert stored(site) == {"/docs/", "/docs/part"}


def test_links_are_followed_as_deep_as_was_said(site: Site) -> None:
    site.has("/b", page("Lindow", BAKERY, "/deep"))
    site.has("/deep", page("Mill", MILL, "/deeper"))
    crawl(site, depth=1)
    assert stored(site) == ALL
    crawl(site, depth=2)
    assert stored(site) == {*ALL, "/deep"}
    assert "/deeper" not in site.asked


def test_a_sitemap_names_pages_that_nothing_leads_to(site: Site) -> None:
    index = "<sitemapindex>{}</sitemapindex>"
    other = "http://127.0.0.1:1/sitemap.xml"
    named = (
        f"<sitemap><loc>{site.url}/s.xml.gz</loc></sitemap><sitemap><loc>{other}</loc></sitemap>"
    )
    site.says("/maps", index.format(named).encode())
    pages = "".join(f"<url><loc>{site.url}{path}</loc></url>" for path in ("/lone", "/a", "//x"))
    site.says("/s.xml.gz", gzip.compress(f"<urlset>{pages}</urlset>".encode()))
    site.says("/robots.txt", f"Sitemap: {site.url}/maps\nSitemap: {other}".encode())
    # From what a sitemap names on no link is followed, unless it is near the first page as well.
    site.has("/lone", page("Mill", MILL, "/farther"))
    site.has("/b", page("Lindow", BAKERY, "/from-b"))
    site.has("/from-b", page("From B", COAST * 2))
    crawl(site, depth=2)
    assert stored(site) == {*ALL, "/lone", "/from-b"}
    assert "/farther" not in site.asked


def test_robots_are_told_what_to_leave_alone(site: Site) -> None:
    site.says("/robots.txt", b"User-agent: *\nDisallow: /\nUser-agent: pkb\nDisallow: /b\n")
    site.has("/a", page("Bavoke", LIGHTHOUSE, "/b", "/c?x=/b"))
    site.has("/c?x=/b", page("Mill", MILL))
    job = crawl(site)
    assert stored(site) == {"/", "/a", "/c?x=/b"}
    assert job.skipped == {"disallowed by robots.txt": 1}
    site.says("/robots.txt", b"User-agent: *\nDisallow: /")
    job = crawl(site)
    assert (job.status, stored(site)) == ("failed", {"/", "/a", "/c?x=/b"})


@pytest.mark.parametrize("answer", [(b"", 503), (b"a" * 600_000, 200)], ids=["503", "too large"])
def test_a_site_whose_robots_txt_cannot_be_read_is_left_alone(
    site: Site, answer: tuple[bytes, int]
) -> None:
    site.says("/robots.txt", *answer)
    job = crawl(site)
    assert (job.status, job.total, site.asked) == ("failed", 1, ["/robots.txt"])
    assert "robots.txt: " in job.errors[0]["reason"]


def test_no_more_is_fetched_than_allowed(site: Site, settings: Any) -> None:
    job = crawl(site, max_pages=1)
    assert (job.status, stored(site)) == ("succeeded", {"/"})
    # Counted as far as pages are taken.
    assert job.skipped == {"over the limit of pages": 1}
    settings.PKB_CRAWL_MAX_HOURS = 0
    assert "the allowed 0 hours" in crawl(site).errors[0]["reason"]
    settings.PKB_CRAWL_MAX_HOURS, settings.PKB_CRAWL_MAX_BYTES = 1, 1
    (error,) = crawl(site).errors
    assert "allowed 1 bytes" in error["reason"]
    assert stored(site) == {"/", "/a"}


def test_requests_of_a_host_are_as_far_apart_as_it_asks(site: Site, settings: Any) -> None:
    site.says("/robots.txt", b"User-agent: *\nCrawl-delay: 0.2")
    settings.PKB_CRAWL_DELAY_S = 0.05
    crawl(site)
    gaps = [later - earlier for earlier, later in pairwise(site.times)]
    assert (len(site.times), min(gaps[1:]) >= 0.2) == (5, True)


def test_while_a_host_rests_others_have_the_worker(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_of_jobs, "DELAY_STEP_S", 0.01)
    collection = Collection.objects.get_named("default")
    kept, _ = add_site(f"{site.url}/", SiteLimits(), collection=collection)
    job = refresh_site(kept.pk)
    KeptSite.objects.update(rests_until=timezone.now() + timedelta(hours=1))
    assert ProcrastinateJob.objects.exists()
    assert (run_job_slice(job.pk), site.asked) == (False, [])
    KeptSite.objects.update(rests_until=None)
    assert run(job).status == "succeeded"


def test_of_addresses_of_one_page_one_is_taken(site: Site) -> None:
    canonical = f'<link rel="canonical" href="{site.url}/list">'
    for query in ("?sort=up", "?sort=down", ""):
        site.has(f"/list{query}", page("List", MILL, head=canonical))
    wrong = f'<link rel="canonical" href="{site.url}/">'
    site.has("/other", page("Other", LIGHTHOUSE + BAKERY, head=wrong))
    site.has("/", page("Coast", COAST, "/list?sort=up", "/list?sort=down", "/other", "/index.html"))
    crawl(site)
    assert stored(site) == {"/", "/list", "/other"}


# What it costs to come again


def counts(site: Site) -> tuple[int, int]:
    return len(site.asked), site.sent_bytes


def test_a_refresh_costs_what_has_changed(site: Site) -> None:
    crawl(site)
    before = ids()
    site.forget()
    job = crawl(site)
    assert outcomes(job, site) == dict.fromkeys(sorted(ALL), "unchanged")
    assert counts(site) == (5, 0)
    assert job.items.filter(encoded_count__gt=0).count() == 0
    kept = KeptSite.objects.get()
    assert (kept.request_count, kept.received_bytes) == (5, 0)
    site.forget()
    changed = page("Bavoke", LIGHTHOUSE.replace("1874", "1875"), "/", "/new")
    site.has("/a", changed)
    site.has("/new", page("Mill", MILL))
    job = crawl(site)
    assert outcomes(job, site) == {
        "/": "unchanged",
        "/a": "replaced",
        "/b": "unchanged",
        "/new": "added",
    }
    assert site.sent_bytes == len(changed) + len(page("Mill", MILL))
    assert ids().items() >= before.items()


def test_what_has_vanished_goes_and_what_is_not_linked_stays(site: Site) -> None:
    site.has("/c", page("Mill", MILL))
    site.has("/", page("Coast", COAST, "/a", "/b", "/c"))
    crawl(site, depth=1)
    assert stored(site) == {*ALL, "/c"}
    del site.pages["/a"]
    site.says("/c", b"", 410)
    site.has("/", page("Coast", COAST))
    job = crawl(site, depth=1)
    found = outcomes(job, site)
    assert (found["/a"], found["/b"], found["/c"]) == ("removed", "unchanged", "removed")
    assert (job.status, stored(site)) == ("succeeded", {"/", "/b"})


def broken(site: Site) -> None:
    for path in ALL:
        site.says(path, b"", 503)


def to_a_login(site: Site) -> None:
    for path in ALL:
        site.leads(path, f"/login?next={path}", 302)
        site.has(f"/login?next={path}", page("Log in", "Please say who you are to go on."))


def to_another_host(site: Site) -> None:
    for path in (*ALL, "/robots.txt"):
        site.leads(path, "https://other.example/")


def to_one_page(site: Site) -> None:
    site.pages["/a"] = site.pages["/b"] = site.pages["/"]


def wiped(site: Site) -> None:
    site.pages.clear()


def away(site: Site) -> None:
    site.shutdown()
    site.socket.close()


def test_a_site_in_trouble_loses_nothing(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetcher, "BACK_OFF_S", 0)
    crawl(site)
    before, pages = ids(), {**site.pages}
    for befall in (broken, to_a_login, to_another_host, to_one_page, wiped, away):
        site.pages = {**pages}
        befall(site)
        job = crawl(site)
        assert job.status == "failed" or befall is to_a_login, befall
        assert ids().items() >= before.items(), befall


def test_a_server_that_answers_no_more_is_not_asked_for_the_rest(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetcher, "MAX_FAILURES", 2)
    for name in "cdefgh":
        site.pages[f"/{name}"] = lambda handler: handler.connection.close()
    site.has("/", page("Coast", COAST, *"cdefgh"))
    job = crawl(site)
    assert (job.done, job.failed, len(site.asked)) == (1, 6, 5)
    monkeypatch.setattr(fetcher, "GIVEN_UP_FOR_S", 0)
    site.has("/h", page("Mill", MILL))
    run(retry_job(job.pk))
    assert "/h" in stored(site)


def test_a_page_that_moved_keeps_its_document(site: Site) -> None:
    crawl(site)
    before = ids()
    site.leads("/a", "/keepers/a", 301)
    site.has("/keepers/a", page("Bavoke", LIGHTHOUSE, "/", "/b"))
    job = crawl(site)
    assert outcomes(job, site)["/keepers/a"] == "renamed"
    assert (stored(site), ids()) == ({"/", "/keepers/a", "/b"}, before)
    assert list(find_violations()) == []


def test_a_page_that_is_found_under_another_name_of_itself_is_taken_there(site: Site) -> None:
    site.has("/", page("Coast", COAST, "/docs/index.html"))
    site.leads("/docs/index.html", "/docs/")
    site.has("/docs/", page("Mill", MILL))
    crawl(site, depth=1)
    assert stored(site) == {"/", "/docs/"}


def test_a_site_of_https_is_not_left_for_http(site: Site) -> None:
    collection = Collection.objects.get_named("default")
    kept, _ = add_site("https://coast.example/docs/", SiteLimits(), collection=collection)
    links = ["http://coast.example/docs/a", "/docs/b", "http://coast.example:8080/docs/c"]
    found = select_links(kept, links, base=kept.address)
    assert found == ["https://coast.example/docs/a", "https://coast.example/docs/b"]


def test_a_start_that_leads_elsewhere_names_the_address(site: Site) -> None:
    site.leads("/", "https://www.coast.example/")
    (error,) = crawl(site).errors
    assert "https://www.coast.example/, which is not of this site: name that" in error["reason"]


def test_what_cannot_be_read_is_passed_over(site: Site, settings: Any) -> None:
    settings.PKB_MAX_FILE_BYTES = 5_000
    site.says("/picture", b"\x89PNG\r\n\x1a\n" + bytes(50), Content_Type="image/png")
    site.says("/huge", b"a" * 6_000)
    site.has("/", page("Coast", COAST, "/picture", "/huge", "/gone", "/a"))
    job = crawl(site, depth=1)
    assert (job.status, stored(site)) == ("succeeded", {"/", "/a"})
    assert job.skipped == {"of another type": 1, "too large": 1, "not there": 1}


# One page


def test_a_page_alone_is_kept_in_step(site: Site) -> None:
    job = crawl(site, "/a", is_whole=False)
    assert (outcomes(job, site), site.asked) == ({"/a": "added"}, ["/a"])
    site.forget()
    assert outcomes(crawl(site, "/a", is_whole=False), site) == {"/a": "unchanged"}
    assert counts(site) == (1, 0)
    there = site.pages["/a"]
    site.says("/a", b"", 500)
    assert crawl(site, "/a", is_whole=False).status == "failed"
    site.leads("/a", "/b", 302)
    assert "/b now: name that" in crawl(site, "/a", is_whole=False).errors[0]["reason"]
    site.pages["/a"] = there
    assert crawl(site, "/a", is_whole=False).status == "succeeded"
    assert Document.objects.get().title == "Bavoke"
    del site.pages["/a"]
    assert outcomes(crawl(site, "/a", is_whole=False), site) == {"/a": "removed"}
    assert stored(site) == set()


def test_a_site_is_brought_in_again_when_its_time_has_come(site: Site) -> None:
    collection = Collection.objects.get_named("default")
    add_site(f"{site.url}/", SiteLimits(every_hours=24), collection=collection)
    for _ in range(2):
        refresh_due_sites()
        assert Job.objects.get().kind == "crawl"
    Job.objects.all().delete()
    refresh_due_sites()
    assert not Job.objects.exists()
    KeptSite.objects.update(due_at=timezone.now() - timedelta(seconds=1))
    refresh_due_sites()
    assert Job.objects.get().kind == "crawl"


def test_a_site_that_is_removed_leaves_its_documents_unless_told(site: Site) -> None:
    crawl(site)
    Document.objects.filter(title="Bavoke").delete()
    assert not SitePage.objects.filter(address__endswith="/a").exists()
    assert not JobItem.objects.filter(path__endswith="/a").exists()
    # What somebody deleted comes back as long as it is there.
    crawl(site)
    kept = KeptSite.objects.get()
    job = refresh_site(kept.pk)
    remove_site(kept.pk)
    job.refresh_from_db()
    assert (job.status, stored(site), SitePage.objects.count()) == ("cancelled", ALL, 0)
    collection = Collection.objects.get_named("default")
    kept, _ = add_site(f"{site.url}/a", SiteLimits(is_whole=False), collection=collection)
    remove_site(kept.pk, with_documents=True)
    assert stored(site) == ALL - {"/a"}


def test_a_collection_goes_with_its_sites(site: Site) -> None:
    other = create_collection("other")
    kept, _ = add_site(f"{site.url}/", SiteLimits(max_pages=2), collection=other)
    run(refresh_site(kept.pk))
    move_to_collection(
        Document.objects.get(title="Bavoke"), Collection.objects.get_named("default")
    )
    delete_collection("other")
    connection.check_constraints()
    assert (KeptSite.objects.count(), stored(site)) == (0, {"/a"})
