"""Two users of one installation; and a service that tests of clients share."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.support.documents import LIGHTHOUSE
from tests.support.processes import PAGES, own_database, served
from tests.support.users import Tenant, make_ida, make_otto


@pytest.fixture(autouse=True)
def database_access(db: None) -> None:
    """Let every test use the database; what it writes there is rolled back."""


@pytest.fixture(scope="session")
def service_database(django_db_setup: None) -> Iterator[str]:
    with own_database(f"test_service_{os.getpid()}") as database:
        yield database


@pytest.fixture(scope="session")
def service(service_database: str) -> Iterator[str]:
    """Its address; tests read one document of it, and add to it."""
    hosts = "127.0.0.1,.kb.localhost"
    with served(service_database, PKB_PUBLIC_URL=PAGES, ALLOWED_HOSTS=hosts) as url:
        stored = httpx2.post(f"{url}/ingest", json={"text": LIGHTHOUSE, "title": "Coast"})
        assert stored.status_code == 201
        yield url


@pytest.fixture
def login_required(settings: Any) -> None:
    settings.PKB_AUTH, settings.PKB_AUTH_REQUIRED = "required", True
    settings.PKB_FETCH = "https"  # the operations of sites are there


@pytest.fixture
def otto(db: None) -> Tenant:
    return make_otto()


@pytest.fixture
def ida(db: None, cheap_model: None) -> Tenant:
    return make_ida()


@pytest.fixture
def uploads(settings: Any, tmp_path: Path) -> Path:
    settings.DATA_DIR, settings.PKB_KEEP_ORIGINALS = tmp_path, True
    return tmp_path / "uploads"
