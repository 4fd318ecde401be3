"""A service that tests of clients share: they read one document of it, and add to it."""

import os
from collections.abc import Iterator

import httpx
import pytest

from tests.factories import LIGHTHOUSE
from tests.processes import PAGES, own_database, served


@pytest.fixture(scope="session")
def service_database(django_db_setup: None) -> Iterator[str]:
    with own_database(f"test_service_{os.getpid()}") as database:
        yield database


@pytest.fixture(scope="session")
def service(service_database: str) -> Iterator[str]:
    hosts = "127.0.0.1,.kb.localhost"
    with served(service_database, PKB_PUBLIC_URL=PAGES, ALLOWED_HOSTS=hosts) as url:
        stored = httpx.post(f"{url}/ingest", json={"text": LIGHTHOUSE, "title": "Coast"})
        assert stored.status_code == 201
        yield url
