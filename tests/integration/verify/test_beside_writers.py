"""What is being written while everything is checked looks whole, and nobody waits."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread

from django.db import connection

from corpus.catalogue import delete_document
from corpus.ingestion import Attributes, ingest_text
from corpus.invariants import Verification
from corpus.models import DEFAULT_COLLECTION, Collection, Document
from pkb.management.commands.verify import PROMISES
from tests.factories import BAKERY, LIGHTHOUSE, long_text

RUNS = 15


@contextmanager
def going_on(write: Callable[[], None]) -> Iterator[list[int]]:
    """Write again and again on another connection; yields how often that was."""
    is_over = Event()
    written: list[int] = []

    def go_on() -> None:
        try:
            while not is_over.is_set():
                write()
                written.append(len(written))
        finally:
            connection.close()

    writer = Thread(target=go_on)
    writer.start()
    try:
        yield written
    finally:
        is_over.set()
        writer.join()


def write_versions() -> None:
    """Take a document in, replace it twice, and delete it."""
    collection = Collection.objects.named(DEFAULT_COLLECTION)
    for text in (long_text(3), f"{LIGHTHOUSE} Today.", f"{BAKERY} Today."):
        attributes = Attributes(source_uri="file:///moving", title=text[:9], tags=(text[:5],))
        ingest_text(text, collection=collection, attributes=attributes)
    delete_document(Document.objects.get(source_uri="file:///moving").pk)


def test_nothing_looks_broken_while_documents_come_and_go(installation: None) -> None:
    with going_on(write_versions) as written:
        found = [each for _ in range(RUNS) for each in Verification(PROMISES).run()]
    assert found == []
    assert written
