"""What is being written while everything is checked looks whole, and nobody waits."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event

import pytest
from django.db import connection

from corpus.access.principal import bind_principal
from corpus.catalogue import delete_document
from corpus.ingestion.submission import Attributes
from corpus.invariants import Invariants, Quotes, find_violations
from corpus.models import DEFAULT_COLLECTION, Collection, Document
from pkb.management.commands.verify import INVARIANTS
from tests.support.documents import BAKERY, LIGHTHOUSE, ingest_text, long_text

RUNS = 4
VERSIONS = (long_text(3), f"{LIGHTHOUSE} Today.", f"{BAKERY} Today.")
SPANS = Quotes(
    "a chunk is not what was read before",
    "SELECT document_id, id, start_char, end_char, text FROM corpus_chunk"
    " WHERE document_id = ANY(%s)",
)


@pytest.fixture(autouse=True)
def database_access() -> None:
    """In no transaction of the test: writers on other connections would wait for its end."""


def store(text: str) -> None:
    attributes = Attributes(source_uri="file:///moving", title=text[:9], tags=(text[:3].lower(),))
    collection = Collection.objects.get_named(DEFAULT_COLLECTION)
    ingest_text(text, collection=collection, attributes=attributes)


def delete() -> None:
    delete_document(Document.objects.get(source_uri="file:///moving").pk)


def elsewhere(act: Callable[[], None]) -> None:
    """Do it on another connection."""
    try:
        act()
    finally:
        connection.close()


@contextmanager
def coming_and_going() -> Iterator[list[str]]:
    """Store, replace and delete a document on and on; yields the texts that came."""
    is_over = Event()
    came: list[str] = []

    def go_on() -> None:
        while not is_over.is_set():
            for text in VERSIONS:
                store(text)
                came.append(text)
            delete()

    with ThreadPoolExecutor(1) as pool:
        writer = pool.submit(bind_principal(elsewhere), go_on)
        try:
            yield came
        finally:
            is_over.set()
            writer.result()


class ReplacedMeanwhile(list[Quotes]):
    """Spans that are asked for once another version was stored, to its commit."""

    def __iter__(self) -> Iterator[Quotes]:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(bind_principal(elsewhere), lambda: store(VERSIONS[1])).result()
        return super().__iter__()


def test_nothing_looks_broken_while_documents_come_and_go(installation: None) -> None:
    with coming_and_going() as came:
        found = [each for _ in range(RUNS) for each in find_violations(INVARIANTS)]
    assert found == []
    assert came


def test_a_version_that_comes_between_two_looks_is_not_seen(installation: None) -> None:
    store(VERSIONS[0])
    invariants = Invariants(INVARIANTS.tables, ReplacedMeanwhile([SPANS]))
    assert list(find_violations(invariants)) == []
    assert Document.objects.get(source_uri="file:///moving").content.text == VERSIONS[1]
    delete()
