"""What Postgres is asked: the same results as plain counting, by ways that do not grow."""

import re
from collections import Counter
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from corpus.catalogue import (
    count_stored,
    create_collection,
    delete_collection,
    delete_document,
    delete_tag,
)
from corpus.invariants import find_violations
from corpus.models import Chunk, ChunkTag, Collection, Document, DocumentCount, Tag
from tests.support.database import execute
from tests.support.documents import BAKERY, LIGHTHOUSE, Ingest, ingest_text_of, long_text

LINKS = ("corpus_document_tags", "corpus_chunktag")

# Of a new one without tags, the beginning and end of its transaction among them, and whether a
# webhook wants to know.
STATEMENTS_OF_A_DOCUMENT = 14


@pytest.fixture
def two_collections(ingest: Ingest) -> list[str]:
    """Documents of both, with and without tags, and one that has no text yet."""
    other = ingest_text_of(create_collection("other"))
    create_collection("empty")
    stored = [
        ingest(LIGHTHOUSE, tags=("coast", "old")),
        ingest(long_text(), tags=("old",)),
        ingest(BAKERY),
        other(BAKERY, tags=("coast",)),
    ]
    Collection.objects.get_named("default").own_tags.create(name="unused")
    return [each.document_id for each in stored]


def plainly_counted() -> tuple[dict[str, tuple[int, int]], dict[str, tuple[int, int]]]:
    """Documents and chunks by collection, and by tag."""
    stored = Document.objects.exclude(content_sha256="")
    documents = Counter(stored.values_list("collection__name", flat=True))
    chunks = Counter(Chunk.objects.values_list("document__collection__name", flat=True))
    tagged = Counter(Document.objects.values_list("tags__name", flat=True))
    tagged_chunks = Counter(ChunkTag.objects.values_list("tag__name", flat=True))
    return (
        {name: (documents[name], chunks[name]) for name in names_of(Collection)},
        {name: (tagged[name], tagged_chunks[name]) for name in names_of(Tag)},
    )


def names_of(model: type[Collection] | type[Tag]) -> list[str]:
    return sorted(set(model._default_manager.values_list("name", flat=True)))


def counted() -> tuple[dict[str, tuple[int, int]], dict[str, tuple[int, int]]]:
    shown = ("name", "document_count", "chunk_count")
    return (
        {name: tuple(n) for name, *n in Collection.objects.with_counts().values_list(*shown)},
        {name: tuple(n) for name, *n in Tag.objects.counts_by_name().values_list(*shown)},
    )


def test_collections_and_tags_are_counted_as_their_rows_are(two_collections: list[str]) -> None:
    Document.objects.create(
        collection=Collection.objects.get_named("other"), source_uri="file:///a"
    )
    collections, tags = counted()
    assert (collections, tags) == plainly_counted()
    assert collections["default"][0] == 3
    assert collections["other"] == (1, 1)
    assert collections["empty"] == tags["unused"] == (0, 0)
    for document_id in two_collections:
        delete_document(UUID(document_id))
        assert counted() == plainly_counted()
    assert set(counted()[0].values()) == {(0, 0)}


COUNTING = {
    "tags": lambda: list(Tag.objects.with_counts()),
    "tags by name": lambda: list(Tag.objects.counts_by_name()),
    "collections": lambda: list(Collection.objects.with_counts()),
    "all": count_stored,
}


@pytest.mark.parametrize("what", COUNTING)
def test_counting_reads_no_document_chunk_or_link(two_collections: list[str], what: str) -> None:
    with CaptureQueriesContext(connection) as asked:
        COUNTING[what]()
    plans = ["EXPLAIN " + each["sql"] for each in asked]
    with connection.cursor() as cursor:
        for plan in plans:
            cursor.execute(plan)
            tables = re.findall(r"corpus_\w+", str(cursor.fetchall()))
            assert not {"corpus_document", "corpus_chunk", *LINKS} & {*tables}


def test_counts_are_the_same_after_they_were_compacted(two_collections: list[str]) -> None:
    before = counted()
    assert DocumentCount.objects.compact() > 0
    assert counted() == before == plainly_counted()
    assert DocumentCount.objects.compact() == 0


def test_a_tag_and_a_collection_take_their_counts_along(two_collections: list[str]) -> None:
    delete_tag("coast")
    delete_collection("other")
    assert counted() == plainly_counted()
    assert not list(find_violations())


def test_tags_in_use_are_those_of_a_document(two_collections: list[str]) -> None:
    assert names_of(Tag) == ["coast", "old", "unused"]
    assert list(Tag.objects.names_in_use()) == ["coast", "old"]


def test_a_tag_is_looked_up_by_name_before_its_rows_are(two_collections: list[str]) -> None:
    with CaptureQueriesContext(connection) as asked:
        found = {str(row.pk) for row in Document.objects.tagged(["coast", "nowhere"])}
    assert found == {two_collections[0], two_collections[3]}
    assert len(asked) == 2
    assert '"corpus_tag"' not in asked[1]["sql"]
    assert not Document.objects.tagged(["nowhere"])
    assert len(Document.objects.tagged([])) == len(two_collections)


LISTS = {
    "document_listing_of_all": Document.objects.listed().order_by("created_at", "pk")[:21],
    "document_listing": Document.objects.filter(collection=1).order_by("created_at", "pk")[:21],
    "document_newest": Document.objects.listed().stored().order_by("-ingested_at")[:4],
    "chunk_ordinal_unique_in_document": Chunk.objects.shown()[:100],
}


@pytest.mark.parametrize("index", LISTS)
def test_a_list_is_read_in_the_order_of_an_index(index: str) -> None:
    # Of a few rows Postgres would rather read and sort them all.
    for means in ("seqscan", "bitmapscan", "sort"):
        execute(f"SET LOCAL enable_{means} = off")
    if index == "document_listing":  # of so few rows the other is as cheap
        execute("DROP INDEX document_listing_of_all")
    plan = LISTS[index].explain()
    assert index in plan.split()
    assert "Sort Key: corpus_document" not in plan
    assert "Sort Key: corpus_chunk" not in plan


def test_a_longer_document_takes_no_more_statements(ingest: Ingest) -> None:
    ingest(BAKERY)
    counts = []
    for text in (LIGHTHOUSE, long_text()):
        with CaptureQueriesContext(connection) as asked:
            stored = ingest(text)
        counts.append(len(asked))
    short, long = counts
    assert stored.chunk_count > 1
    # Looked for twice; its names held, written with its text, chunks and vectors, rules read.
    assert short == long <= STATEMENTS_OF_A_DOCUMENT
