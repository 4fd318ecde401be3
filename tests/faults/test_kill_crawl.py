"""Kill -9 the worker that brings a site in: another goes on where it was."""

import signal
from threading import Event
from typing import Any

import pytest
from django.db import connection
from procrastinate.contrib.django.models import ProcrastinateJob

from corpus.invariants import find_violations
from corpus.jobs.run import run_job_slice
from corpus.models import Collection, Document
from corpus.sites import SiteLimits, add_site, refresh_site
from tests.support.documents import LIGHTHOUSE
from tests.support.processes import database_url, manage
from tests.support.site_server import Handler, page, serving
from tests.support.waiting import wait_until

PATHS = ["/", *(f"/{number}" for number in range(6))]


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_crawl_goes_on_where_the_worker_was_killed(fetching: None, cheap_model: None) -> None:
    is_killed = Event()
    with serving() as site:
        for number, path in enumerate(PATHS):
            site.has(path, page(f"Page {number}", f"{number}. {LIGHTHOUSE}", *PATHS))
        answer = site.pages["/2"]

        def wait_first(handler: Handler) -> None:
            is_killed.wait(60)
            answer(handler)

        site.pages["/2"] = wait_first
        collection = Collection.objects.get_named("default")
        kept, _ = add_site(f"{site.url}/", SiteLimits(), collection=collection)
        job = refresh_site(kept.pk)
        worker = manage(
            "worker",
            database=database_url(str(connection.settings_dict["NAME"])),
            EMBEDDING_MODEL="hashing-64",
            PKB_TOKEN_VECTORS="off",
            PKB_FETCH="http",
            PKB_FETCH_HOSTS="localhost",
            PKB_CRAWL_DELAY_S="0",
        )
        wait_until(lambda: "/2" in site.asked)
        worker.send_signal(signal.SIGKILL)
        worker.communicate(timeout=60)
        assert 0 < Document.objects.count() < len(PATHS)
        is_killed.set()
        ProcrastinateJob.objects.all()._raw_delete("default")
        wait_until(lambda: run_job_slice(job.pk) and not again(job))
    # What the worker was at is asked for again, and nothing else.
    assert sorted(site.asked) == sorted(["/robots.txt", "/sitemap.xml", *PATHS, "/2"])
    job.refresh_from_db()
    assert (job.status, job.done, Document.objects.count()) == ("succeeded", 7, 7)
    assert list(find_violations()) == []


def again(job: Any) -> bool:
    """Return whether the dead worker's lock was still there."""
    job.refresh_from_db()
    return bool(job.is_unfinished)
