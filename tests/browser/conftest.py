"""A real server, a real worker and Debian's Chromium, on a database of their own."""

import os
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.chromium import chromium
from tests.browser.site import Seen, Site
from tests.support.documents import BAKERY, LIGHTHOUSE
from tests.support.processes import manage, own_database, served

PATIENCE_MS = 60_000
expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="session")
def site(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    name = f"test_browser_{os.getpid()}"
    # Judging three passages instead of ten: what is shown is the same.
    # Nobody reads the worker's log: a full pipe would hold it up.
    quiet = {"LOG_LEVEL": "ERROR"}
    env = quiet | {
        "PKB_DATA_DIR": str(folder),
        "PKB_INGEST_ROOTS": str(folder),
        "PKB_RERANK_COUNT": "3",
    }
    with own_database(name) as database:
        worker = manage("worker", database=database, **env)
        try:
            with (
                served(database, **env) as url,
                httpx2.Client(base_url=url, timeout=120) as client,
            ):
                made = Site(url, client)
                made.ingest(LIGHTHOUSE, title="Bavoke", tags=["coast"])
                made.ingest(BAKERY, title="Lindow")
                yield made
        finally:
            worker.terminate()
            worker.communicate(timeout=60)


# Ended with its file: while it runs, Django takes every test of the process for asynchronous.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as launched:
        yield launched


@pytest.fixture
def watched(site: Site, browser: Browser) -> Iterator[tuple[Page, Seen]]:
    context = browser.new_context(
        base_url=site.url, permissions=["clipboard-read", "clipboard-write"]
    )
    context.set_default_timeout(PATIENCE_MS)
    page, seen = context.new_page(), Seen()

    def dismiss(dialog: Any) -> None:
        seen.dialogs.append(dialog.message)
        dialog.dismiss()

    def look(request: Any) -> None:
        if not request.url.startswith((site.url, "data:", "blob:")):
            seen.foreign.append(request.url)

    page.on("dialog", dismiss)
    page.on("request", look)
    page.on("pageerror", lambda error: seen.errors.append(str(error)))
    page.on("console", lambda line: seen.errors.append(line.text) if line.type == "error" else None)
    yield page, seen
    context.close()


@pytest.fixture
def page(watched: tuple[Page, Seen]) -> Iterator[Page]:
    """A page that must neither break nor reach for anything elsewhere."""
    shown, seen = watched
    yield shown
    assert seen == Seen()
