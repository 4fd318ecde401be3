"""Real parts for every test: Postgres, and what the packaged models really said."""

import gc
import os
import socket
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

import pytest
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.management import create_contenttypes
from django.contrib.contenttypes.models import ContentType
from django.db import connection
from django.db.models.signals import post_migrate
from django.test import override_settings
from hypothesis import settings as hypothesis_settings
from procrastinate.contrib.django.models import ProcrastinateJob
from xdist.scheduler import LoadFileScheduling

from corpus.access.principal import SYSTEM, acting_as
from corpus.invariants import find_violations
from corpus.models import DEFAULT_COLLECTION, Collection
from tests.support import drawing
from tests.support.client import Api
from tests.support.documents import Ingest, ingest_text_of
from tests.support.doubles import HASHING, HASHING_MODEL, hash_collections, recorded_spans
from tests.support.processes import SMALL_MODELS, own_database, template

pytest_plugins = ["tests.recordings.plugin"]

# Files that one process runs, for what they share: a service, or torch, seconds to import.
TOGETHER = {
    "tests/acceptance/test_mcp.py": "a service",
    "tests/acceptance/test_openai_api.py": "a service",
    "tests/browser/test_access.py": "a site",
    "tests/browser/test_cards.py": "a site",
    "tests/browser/test_flows.py": "a site",
    "tests/contracts/test_embedders.py": "torch",
    "tests/contracts/test_swapped_models.py": "torch",
    "tests/integration/test_onnx_export.py": "torch",
    "tests/training/test_build_models.py": "torch",
    "tests/training/test_train_reader.py": "torch",
}


class FilesTogether(LoadFileScheduling):
    """Shares out whole files, as ``--dist loadfile`` does, and some of them together."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return TOGETHER.get(file, file)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> FilesTogether | None:
    return FilesTogether(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_configure(config: pytest.Config) -> None:
    """Let tests make databases and see every row; settle how many examples they draw.

    A thread sees none unless it says for whom it is, as everywhere.
    """
    if config.getoption("--campaign"):
        drawing.times = 10
    hypothesis_settings.register_profile("here", deadline=None, max_examples=drawing.examples(40))
    hypothesis_settings.load_profile("here")
    connection.settings_dict.update(connection.settings_dict.get("OWNER", {}))
    # No row of a test has to outlive a crash.
    connection.settings_dict["OPTIONS"]["options"] += " -c synchronous_commit=off"
    stack = ExitStack()
    stack.enter_context(acting_as(SYSTEM))
    config.add_cleanup(stack.close)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--campaign",
        action="store_true",
        help="more kills, of more processes, besides the others, and ten times the drawn examples",
    )


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, Any, Any]:
    """Trace one process's imports only: each makes the same, and traced they take twice as long.

    The process that shares out the tests runs none of them: it has been traced enough.
    """
    coverage = getattr(session.config.pluginmanager.getplugin("_cov"), "cov_controller", None)
    worker = getattr(session.config, "workerinput", {}).get("workerid")
    is_alone = worker is None and session.config.getoption("dist") == "no"
    if coverage is None or is_alone or worker == "gw0":
        return (yield)
    coverage.pause()
    collected = yield
    if worker:
        coverage.resume()
    return collected


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with what takes minutes, whatever order the rest is in; leave campaigns out.

    What a browser does, or a process that is killed, or a training, is not counted for coverage:
    tracing would take half as long again, and other tests run the same lines.
    """
    if not config.getoption("--campaign"):
        left_out = [item for item in items if item.get_closest_marker("campaign")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
    for item in items:
        if item.path.parent.name in {"browser", "faults", "training"}:
            item.add_marker("no_cover")
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Leave what was imported to itself: a collector of garbage need not look at it each time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix: None) -> None:
    """Let each process copy its database from one that was migrated for all."""
    connection.settings_dict["TEST"]["TEMPLATE"] = template(os.environ.get("EMBEDDING_MODEL", ""))


@pytest.fixture(autouse=True, scope="session")
def quick_parts() -> Iterator[None]:
    """Make users and clients at once.

    A password's hash takes a fifth of a second, and each new client would look at all static files.
    """
    hasher = "django.contrib.auth.hashers.MD5PasswordHasher"
    with override_settings(PASSWORD_HASHERS=[hasher], WHITENOISE_AUTOREFRESH=True):
        yield


@pytest.fixture(autouse=True, scope="session")
def lasting_permissions() -> Iterator[None]:
    """Keep permissions and content types where a test's rows are flushed.

    They are in the template already; making them anew takes longer than most tests.
    """
    post_migrate.disconnect(dispatch_uid="django.contrib.auth.management.create_permissions")
    post_migrate.disconnect(create_contenttypes)
    introspection = connection.introspection
    names = introspection.django_table_names
    lasting = {Permission._meta.db_table, ContentType._meta.db_table}

    def flushed(*, only_existing: bool = False, include_views: bool = True) -> list[str]:
        found = names(only_existing=only_existing, include_views=include_views)
        return [name for name in found if name not in lasting]

    with patch.object(introspection, "django_table_names", flushed):
        yield


@pytest.fixture(autouse=True)
def content_types_forgotten() -> None:
    """Let no test use the ids of another one's database: Django keeps them by the process."""
    ContentType.objects.clear_cache()


@pytest.fixture
def api() -> Api:
    return Api()


@pytest.fixture(autouse=True)
def no_files_left() -> Iterator[None]:
    """Keep nothing that is sent: files would stay where the rows of a test do not.

    Without ``settings``: what is set up before the database is undone after its rows are flushed,
    and the default collection would be made anew by a test's own settings.
    """
    with override_settings(PKB_KEEP_ORIGINALS=False):
        yield


@pytest.fixture
def collection(db: None) -> Collection:
    return Collection.objects.get_named(DEFAULT_COLLECTION)


@pytest.fixture
def no_violations(db: None) -> Iterator[None]:
    """Find every promise of the database kept when the test has ended."""
    yield
    assert list(find_violations()) == []


@pytest.fixture
def cheap_model(settings: Any, db: None) -> None:
    """Let words be hashed into vectors, where no test looks at one."""
    settings.PKB_EMBEDDERS = {HASHING_MODEL: HASHING}
    settings.PKB_EMBEDDING_MODEL = HASHING_MODEL
    hash_collections()


@pytest.fixture
def fetching(settings: Any) -> None:
    """Let this machine be fetched from, at once."""
    settings.PKB_FETCH, settings.PKB_FETCH_HOSTS = "http", {"localhost"}
    settings.PKB_CRAWL_DELAY_S = 0
    settings.PKB_TOKEN_VECTORS = "off"


@pytest.fixture
def database(django_db_setup: None, django_db_blocker: Any) -> Iterator[str]:
    """The address of a database for processes that a test starts; it reads there as well."""
    with django_db_blocker.unblock(), own_database(f"test_own_{os.getpid()}") as url:
        yield url


@pytest.fixture
def small_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let processes hash words: one that loads the models tries nothing more."""
    for name, value in SMALL_MODELS.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def ingest(collection: Collection) -> Ingest:
    return ingest_text_of(collection)


@pytest.fixture
def spans() -> Iterator[Any]:
    """The spans that end while the test runs, from an exporter in memory."""
    exporter = recorded_spans()
    exporter.clear()
    yield exporter
    exporter.clear()


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        yield listening


@pytest.fixture
def empty_queue(db: None) -> None:
    """Nothing waits that a test before put into the queue for good: its table is not flushed."""
    ProcrastinateJob.objects.all()._raw_delete("default")
