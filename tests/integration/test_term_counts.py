"""Word counts: kept by whatever writes chunks, added up when read, compacted in between."""

from uuid import UUID

import pytest

from corpus.catalogue import count_stored, create_collection, delete_collection, delete_document
from corpus.invariants import find_violations
from corpus.lexical import (
    compact_term_counts,
    count_chunks,
    read_frequencies,
    read_lexical_query,
)
from corpus.models import Chunk, Collection, TermCount
from tests.support.documents import BAKERY, LIGHTHOUSE, Ingest, ingest_text_of, long_text


def frequency(word: str, collection: Collection) -> int:
    found = read_frequencies(word, collection_ids=[collection.pk], language=collection.language)
    return sum(found.by_lexeme.values())


def test_words_are_counted_by_chunk_not_by_occurrence(
    ingest: Ingest, collection: Collection
) -> None:
    ingest(LIGHTHOUSE)
    ingest(BAKERY)
    assert frequency("keeper", collection) == 1
    assert frequency("evenings", collection) == 1  # stemmed like the text
    assert frequency("volcano", collection) == 0


def test_what_a_question_repeats_weighs_as_often(ingest: Ingest, collection: Collection) -> None:
    ingest(LIGHTHOUSE)
    ingest(BAKERY)
    once, twice = (
        read_lexical_query(text, collection_ids=[collection.pk], language=collection.language)
        for text in ("keeper, caraway", "keeper, caraway, keepers")
    )
    assert once is not None
    assert twice is not None
    rarity = once.weights[0]
    assert (once.words, once.weights) == (("caraway", "keeper"), (rarity, rarity))
    assert (twice.words, twice.weights) == (("caraway", "keeper"), (rarity, 2 * rarity))
    assert twice.phrase_bonus == once.phrase_bonus
    found = Chunk.objects.matching(twice).values_list("text", flat=True)
    assert list(found) == [LIGHTHOUSE, BAKERY]


def test_mean_length_is_that_of_the_chunks(ingest: Ingest, collection: Collection) -> None:
    ingest(long_text())
    lengths = list(Chunk.objects.values_list("token_count", flat=True))
    found = read_frequencies("granary", collection_ids=[collection.pk], language="english")
    assert found.chunk_count == len(lengths)
    assert found.mean_tokens == pytest.approx(sum(lengths) / len(lengths))


def test_replacing_and_deleting_take_words_away(ingest: Ingest, collection: Collection) -> None:
    stored = ingest(LIGHTHOUSE, source_uri="file:///a")
    ingest(BAKERY, source_uri="file:///a")
    assert (frequency("keeper", collection), frequency("caraway", collection)) == (0, 1)
    delete_document(UUID(stored.document_id))
    assert frequency("caraway", collection) == 0
    assert not list(find_violations())


def test_chunks_are_counted_as_they_come_and_go(ingest: Ingest, collection: Collection) -> None:
    assert count_chunks([collection.pk]) == 0
    many = ingest(long_text())
    ingest(LIGHTHOUSE)
    assert count_chunks([collection.pk]) == collection.chunks.count() == len(many.chunk_ids) + 1
    delete_document(UUID(many.document_id))
    assert count_chunks([collection.pk]) == 1


def test_counts_of_one_collection_leave_out_the_others(
    ingest: Ingest, collection: Collection
) -> None:
    other = create_collection("other")
    ingest_text_of(other)(LIGHTHOUSE)
    ingest(BAKERY)
    assert (frequency("keeper", collection), frequency("keeper", other)) == (0, 1)


def test_totals_are_of_all_collections_without_what_is_deleted(ingest: Ingest) -> None:
    ingest_text_of(create_collection("other"))(LIGHTHOUSE)
    stored = ingest(long_text())
    assert count_stored() == (2, Chunk.objects.count()) == (2, stored.chunk_count + 1)
    delete_document(UUID(stored.document_id))
    assert count_stored() == (1, 1)
    delete_collection("other")
    assert count_stored() == (0, 0)


def test_deleting_a_collection_leaves_no_counts() -> None:
    other = create_collection("other")
    ingest_text_of(other)(LIGHTHOUSE)
    delete_collection("other")
    assert not TermCount.objects.filter(collection_id=other.pk).exists()


def test_compacting_leaves_one_row_a_word_and_the_same_counts(
    ingest: Ingest, collection: Collection
) -> None:
    ingest(LIGHTHOUSE)
    ingest(f"{LIGHTHOUSE} It was painted white.")
    before = read_frequencies(LIGHTHOUSE, collection_ids=[collection.pk], language="english")
    assert compact_term_counts() > 0
    assert (
        read_frequencies(LIGHTHOUSE, collection_ids=[collection.pk], language="english") == before
    )
    assert TermCount.objects.filter(lexeme="keeper").count() == 1
    assert compact_term_counts() == 0


def test_verify_finds_a_wrong_count(ingest: Ingest, collection: Collection) -> None:
    ingest(LIGHTHOUSE)
    TermCount.objects.filter(lexeme="keeper").update(chunk_count=7)
    assert list(map(str, find_violations())) == [
        f"the count of a word is wrong: {collection.pk} keeper"
    ]


def test_a_collection_is_stemmed_by_its_own_language(collection: Collection) -> None:
    german = create_collection("deutsch", language="german")
    ingest_text_of(german)("Die Leuchttürme an der Küste wurden im Jahre 1874 errichtet.")
    assert frequency("Leuchtturm", german) == 1
    english = ingest_text_of(collection)
    english("Die Leuchttürme an der Küste wurden im Jahre 1874 errichtet.")
    assert frequency("Leuchtturm", collection) == 0
