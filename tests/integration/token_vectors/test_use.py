"""Token vectors of chunks: used by searches, and gone with what they are of."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import InternalError, connection, connections, transaction

from corpus.access.principal import bind_principal
from corpus.catalogue import create_collection, delete_collection, delete_document
from corpus.embedders.colbert import TokenEmbedder
from corpus.invariants import find_violations
from corpus.models import Chunk, Collection, Document, TokenVectors
from corpus.tasks import begin_filling
from corpus.token_vectors import (
    RankedChunk,
    get_token_vectors,
)
from qa.context import build_context
from qa.search.rerankers.late_interaction_reranker import MAX_PREPARED, LateInteractionReranker
from qa.search_passages import search_passages
from qa.types import Passage, Query
from tests.integration.token_vectors import (
    chunks_of,
    fill,
    keeping,
    kept_chunks,
    search,
    waiting_fillings,
)
from tests.support.documents import (
    BAKERY,
    LIGHTHOUSE,
    LIGHTHOUSE_QUESTION,
    Ingest,
    ingest_text_of,
    long_text,
)


class TestOnFirstUse:
    def test_a_search_keeps_what_it_computes(self, ingest: Ingest, encoded: list[str]) -> None:
        stored = ingest(LIGHTHOUSE)
        with keeping("lazy"):
            first = search()
            assert kept_chunks() == set(stored.chunk_ids)
            encoded.clear()
            second = search()
        assert encoded == []
        assert [each.relevance for each in second] == [each.relevance for each in first]
        assert list(find_violations()) == []

    def test_nothing_is_kept_where_that_is_off(self, ingest: Ingest, encoded: list[str]) -> None:
        ingest(LIGHTHOUSE)
        with keeping("off"):
            search()
        assert encoded
        assert kept_chunks() == set()

    def test_kept_vectors_score_as_computed_ones(self, ingest: Ingest) -> None:
        ingest(LIGHTHOUSE, title="Bavoke")
        ingest(BAKERY)
        with keeping("off"):
            computed = {each.chunk_id: each.relevance for each in search()}
        with keeping("lazy"):
            kept = {each.chunk_id: each.relevance for each in search()}
        assert kept.keys() == computed.keys()
        for key, relevance in kept.items():
            assert relevance == pytest.approx(computed[key], abs=0.02)

    def test_one_statement_reads_them_all(
        self,
        ingest: Ingest,
        collection: Collection,
        embedder: TokenEmbedder,
        django_assert_num_queries: Any,
    ) -> None:
        chunks = chunks_of(ingest(long_text(6)))
        fill(collection, embedder)
        with django_assert_num_queries(1):
            get_token_vectors(chunks, embedder=embedder)

    def test_a_chunk_that_is_gone_meanwhile_fails_no_search(self, embedder: TokenEmbedder) -> None:
        packed = get_token_vectors([RankedChunk(uuid4(), LIGHTHOUSE)], embedder=embedder)
        assert packed == embedder.pack_texts([LIGHTHOUSE])
        assert kept_chunks() == set()

    def test_a_text_that_changed_meanwhile_is_not_kept(
        self, ingest: Ingest, embedder: TokenEmbedder
    ) -> None:
        (chunk_id,) = ingest(LIGHTHOUSE).chunk_ids
        packed = get_token_vectors([RankedChunk(UUID(chunk_id), BAKERY)], embedder=embedder)
        assert packed == embedder.pack_texts([BAKERY])
        assert kept_chunks() == set()

    def test_a_database_that_cannot_be_written_fails_no_search(
        self, ingest: Ingest, embedder: TokenEmbedder
    ) -> None:
        chunks = chunks_of(ingest(LIGHTHOUSE))
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL transaction_read_only = on")
            packed = get_token_vectors(chunks, embedder=embedder)
            assert len(packed) == len(chunks)
            with pytest.raises(InternalError), transaction.atomic():
                Chunk.objects.update(page=1)
            transaction.set_rollback(True)
        assert kept_chunks() == set()

    def test_a_text_that_came_with_the_question_is_not_kept(self) -> None:
        reranker = LateInteractionReranker(threads=1, keeps_vectors=True)
        from_text = Passage(
            "selected-0", "", "", "", "", (), None, LIGHTHOUSE, 0, len(LIGHTHOUSE),
            is_selected=True,
        )  # fmt: skip
        scores = reranker.score_passages(LIGHTHOUSE_QUESTION, [from_text])
        assert scores[0] == reranker.score(LIGHTHOUSE_QUESTION, [LIGHTHOUSE])[0]

    def test_a_query_that_was_expected_is_encoded_once_and_scores_the_same(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        reranker = LateInteractionReranker(threads=1)
        scores = reranker.score(LIGHTHOUSE_QUESTION, [LIGHTHOUSE, BAKERY])
        reranker.prepare(LIGHTHOUSE_QUESTION)
        encoded: list[str] = []
        with monkeypatch.context() as patched:
            patched.setattr(TokenEmbedder, "embed_query", lambda _, query: encoded.append(query))
            assert (reranker.score(LIGHTHOUSE_QUESTION, [LIGHTHOUSE, BAKERY]) == scores).all()
        assert encoded == []
        assert (reranker.score(LIGHTHOUSE_QUESTION, [LIGHTHOUSE, BAKERY]) == scores).all()

    def test_a_query_that_two_expect_at_once_is_encoded_once(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        reranker = LateInteractionReranker(threads=1)
        encoded = []
        embed_query = TokenEmbedder.embed_query

        def noted(self: TokenEmbedder, query: str) -> Any:
            encoded.append(query)
            return embed_query(self, query)

        monkeypatch.setattr(TokenEmbedder, "embed_query", noted)
        for _ in range(2):
            reranker.prepare(LIGHTHOUSE_QUESTION)
        expected = reranker._prepared[LIGHTHOUSE_QUESTION]
        result, both = expected.result, Barrier(2, timeout=60)
        monkeypatch.setattr(expected, "result", lambda: both.wait() >= 0 and result())
        with ThreadPoolExecutor(2) as pool:
            first, second = pool.map(reranker.score, 2 * [LIGHTHOUSE_QUESTION], 2 * [[LIGHTHOUSE]])
        assert first == second
        assert encoded == [LIGHTHOUSE_QUESTION]

    def test_queries_that_are_never_asked_are_not_kept_for_ever(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(TokenEmbedder, "embed_query", lambda _, query: query)
        reranker = LateInteractionReranker(threads=1)
        for number in range(10 * MAX_PREPARED):
            reranker.prepare(str(number))
            assert len(reranker._prepared) <= MAX_PREPARED

    def test_a_search_expects_what_it_will_ask(
        self, ingest: Ingest, collection: Collection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ingest(LIGHTHOUSE)
        expected: list[str] = []
        monkeypatch.setattr(LateInteractionReranker, "prepare", lambda _, q: expected.append(q))
        query = Query(LIGHTHOUSE_QUESTION, collection=collection.name)
        with keeping("lazy"):
            for rerank in (True, False):
                search_passages(
                    query, mode="hybrid", threshold=0, rerank=rerank, context=build_context()
                )
        assert expected == [LIGHTHOUSE_QUESTION]


class TestWhatChanges:
    @pytest.fixture
    def stored(self, ingest: Ingest, collection: Collection, embedder: TokenEmbedder) -> str:
        document = ingest(
            f"{LIGHTHOUSE}\n\n{long_text(2)}", title="Bavoke", source_uri="test:bavoke"
        )
        fill(collection, embedder)
        return document.document_id

    def test_a_new_version_keeps_those_of_unchanged_chunks_only(
        self, stored: str, ingest: Ingest, collection: Collection, embedder: TokenEmbedder
    ) -> None:
        before = kept_chunks()
        text = f"{LIGHTHOUSE}\n\n{long_text(2)}".replace("number 1", "number one")
        again = ingest(text, title="Bavoke", source_uri="test:bavoke")
        assert kept_chunks() == before & set(again.chunk_ids)
        assert kept_chunks() < before
        fill(collection, embedder)
        assert kept_chunks() == set(again.chunk_ids)
        assert list(find_violations()) == []

    @pytest.mark.parametrize(
        ("change", "title"),
        [({"title": "The coast"}, "The coast"), ({"file_words": "coast"}, "coast: Bavoke")],
        ids=["title", "file"],
    )
    def test_another_title_is_computed_anew(
        self,
        change: dict[str, str],
        title: str,
        stored: str,
        collection: Collection,
        embedder: TokenEmbedder,
        encoded: list[str],
    ) -> None:
        Document.objects.filter(pk=stored).update(**change)
        assert kept_chunks() == set()
        fill(collection, embedder)
        assert all(text.startswith(f"{title}\n") for text in encoded)
        assert list(find_violations()) == []

    def test_what_is_of_another_text_is_never_used(
        self, stored: str, embedder: TokenEmbedder
    ) -> None:
        rows = TokenVectors.objects.filter(chunk__document=UUID(stored))
        rows.update(input_sha256="0" * 64, packed=b"\0" * 96, token_count=1)
        assert any("another text" in str(each) for each in find_violations())
        chunks = [
            RankedChunk(row.pk, f"Bavoke\n{row.text}")
            for row in Chunk.objects.filter(document=UUID(stored))
        ]
        packed = get_token_vectors(chunks, embedder=embedder)
        assert packed == embedder.pack_texts([chunk.text for chunk in chunks])
        assert list(find_violations()) == []

    def test_another_model_or_codec_never_mixes(self, stored: str, collection: Collection) -> None:
        count = TokenVectors.objects.count()
        finer = TokenEmbedder(threads=1, bits=4)
        fill(collection, finer)
        assert TokenVectors.objects.count() == 2 * count
        rows = TokenVectors.objects.all()
        sizes = {row.model: len(row.packed) / row.token_count for row in rows}
        assert sorted(sizes.values()) == [96, 192]

    def test_a_worker_that_starts_drops_what_another_model_left(
        self, stored: str, collection: Collection
    ) -> None:
        count = TokenVectors.objects.count()
        fill(collection, TokenEmbedder(threads=1, bits=4))
        begin_filling()
        assert TokenVectors.objects.count() == count
        assert waiting_fillings()

    def test_a_deleted_document_leaves_none(self, stored: str) -> None:
        delete_document(UUID(stored))
        assert kept_chunks() == set()

    def test_a_deleted_collection_leaves_none(self, embedder: TokenEmbedder) -> None:
        other = create_collection("other")
        ingest_text_of(other)(LIGHTHOUSE)
        fill(other, embedder)
        assert kept_chunks()
        delete_collection("other")
        assert kept_chunks() == set()

    def test_a_wrong_length_is_a_violation(self, stored: str) -> None:
        rows = TokenVectors.objects.order_by("pk")[:1].values("pk")
        TokenVectors.objects.filter(pk__in=rows).update(packed=b"\0" * 97)
        assert any("length" in str(each) for each in find_violations())


@pytest.mark.django_db(transaction=True)
class TestAtTheSameTime:
    @pytest.mark.no_cover  # docs/testing.md
    def test_two_searches_keep_the_same_once(self, ingest: Ingest, embedder: TokenEmbedder) -> None:
        chunks = chunks_of(ingest(long_text(3)))

        def bring(turn: int) -> list[bytes]:
            try:
                return get_token_vectors(chunks[:: 1 if turn else -1], embedder=embedder)
            finally:
                connections.close_all()

        with ThreadPoolExecutor(2) as pool:
            backward, forward = pool.map(bind_principal(bring), range(2))
        assert forward == backward[::-1]
        assert TokenVectors.objects.count() == len(chunks)
        assert list(find_violations()) == []

    def test_nobody_waits_for_a_document_that_is_being_changed(
        self, ingest: Ingest, collection: Collection, embedder: TokenEmbedder
    ) -> None:
        stored = ingest(LIGHTHOUSE)

        def bring() -> tuple[int, bool]:
            try:
                packed = get_token_vectors(chunks_of(stored), embedder=embedder)
                return len(packed), fill(collection, embedder)
            finally:
                connections.close_all()

        with ThreadPoolExecutor(1) as pool, transaction.atomic():
            Document.objects.filter(pk=stored.document_id).update(title="Coast")
            assert pool.submit(bind_principal(bring)).result(timeout=60) == (
                stored.chunk_count,
                False,
            )
        assert kept_chunks() == set()
        assert fill(collection, embedder)
        assert list(find_violations()) == []
