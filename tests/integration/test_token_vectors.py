"""Token vectors of chunks: computed once, used by searches, gone with what they are of."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from asgiref.sync import async_to_sync
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import InternalError, connection, connections, transaction
from django.test import override_settings
from django.utils import timezone
from procrastinate import JobContext
from procrastinate.contrib.django import app
from procrastinate.contrib.django.models import ProcrastinateJob
from procrastinate.jobs import Job

from corpus import token_vectors
from corpus.catalogue import create_collection, delete_collection, delete_document
from corpus.embedders.late_interaction import TokenEmbedder
from corpus.errors import BackendError
from corpus.ingestion import StoredDocument
from corpus.invariants import find_violations
from corpus.models import Chunk, Collection, Document, TokenVectors
from corpus.queue import FILL, FILL_PRIORITY, enqueue_job, is_awaited
from corpus.tasks import begin_filling, enqueue_all_fillings, fill_collection, rescue_jobs
from corpus.token_vectors import (
    RankedChunk,
    background_embedder,
    bring_token_vectors,
    fill_token_vectors,
)
from pkb import settings as product
from qa.context import build_context
from qa.search.rerankers.late_interaction import LateInteractionReranker
from qa.search_passages import search_passages
from qa.types import Passage, Query
from tests.factories import (
    BAKERY,
    COAST,
    LIGHTHOUSE,
    LIGHTHOUSE_QUESTION,
    Ingest,
    ingest_text_of,
    long_text,
)

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def embedder() -> TokenEmbedder:
    return TokenEmbedder(threads=1)


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that a model was given to make token vectors of."""
    texts: list[str] = []
    embed_texts = TokenEmbedder.embed_texts

    def noted(self: TokenEmbedder, given: Sequence[str]) -> Any:
        texts.extend(given)
        return embed_texts(self, given)

    monkeypatch.setattr(TokenEmbedder, "embed_texts", noted)
    return texts


def fill(collection: Collection, embedder: TokenEmbedder) -> bool:
    return fill_token_vectors(collection.pk, embedder=embedder, should_stop=lambda: False)


def search(question: str = LIGHTHOUSE_QUESTION) -> tuple[Passage, ...]:
    query = Query(question, collection="default")
    found = search_passages(
        query, mode="hybrid", threshold=0.0, rerank=True, context=build_context()
    )
    return found.results


def kept_chunks() -> set[str]:
    return {str(pk) for pk in TokenVectors.objects.values_list("chunk_id", flat=True)}


def waiting_fillings() -> list[dict[str, Any]]:
    return list(ProcrastinateJob.objects.filter(task_name=FILL).values("args", "priority"))


def chunks_of(stored: StoredDocument) -> list[RankedChunk]:
    rows = Chunk.objects.filter(pk__in=stored.chunk_ids).select_related("document")
    return [
        RankedChunk(row.pk, token_vectors.ranked_text(row.text, title=row.document.title))
        for row in rows
    ]


@contextmanager
def keeping(kind: str) -> Iterator[None]:
    """The setting, as the environment would have it."""
    specs = dict(settings.PKB_RERANKERS)
    name = settings.PKB_RERANKER_MODEL
    specs[name] = {
        "BACKEND": product.PKB_RERANKERS[name]["BACKEND"],
        "OPTIONS": {"model": name, "threads": 1, "keeps_vectors": kind != "off"},
    }
    with override_settings(PKB_TOKEN_VECTORS=kind, PKB_RERANKERS=specs):
        yield


class TestInTheBackground:
    def test_an_ingest_asks_the_workers_once_a_collection(self, ingest: Ingest) -> None:
        ingest(LIGHTHOUSE)
        ingest(BAKERY)

        assert [row["priority"] for row in waiting_fillings()] == [FILL_PRIORITY]
        assert kept_chunks() == set()

    @pytest.mark.parametrize("kind", ["off", "lazy"])
    def test_workers_are_asked_for_nothing_unless_all_is_kept(
        self, kind: str, ingest: Ingest
    ) -> None:
        with keeping(kind):
            ingest(LIGHTHOUSE)
            begin_filling()
            assert background_embedder() is None
        assert waiting_fillings() == []

    def test_another_reranker_has_no_token_vectors(self, ingest: Ingest) -> None:
        with override_settings(PKB_RERANKER_MODEL="none"):
            ingest(LIGHTHOUSE)
            assert background_embedder() is None
        assert waiting_fillings() == []

    def test_every_chunk_gets_its_vectors(
        self, ingest: Ingest, collection: Collection, embedder: TokenEmbedder
    ) -> None:
        stored = [ingest(LIGHTHOUSE, title="Bavoke"), ingest(long_text(3))]

        assert fill(collection, embedder)

        assert kept_chunks() == {key for each in stored for key in each.chunk_ids}
        assert list(find_violations()) == []

    def test_a_search_after_it_computes_none(
        self, ingest: Ingest, collection: Collection, embedder: TokenEmbedder, encoded: list[str]
    ) -> None:
        """What a worker encodes of a chunk is what a passage is ranked by."""
        ingest(LIGHTHOUSE, title="Bavoke")
        ingest(f"# Bread\n\n## Rye\n\n{BAKERY}", title="Lindow")
        fill(collection, embedder)
        encoded.clear()

        with keeping("all"):
            assert len(search()) == 2

        assert encoded == []

    def test_a_text_is_encoded_once(
        self, ingest: Ingest, collection: Collection, embedder: TokenEmbedder, encoded: list[str]
    ) -> None:
        ingest(LIGHTHOUSE)
        fill(collection, embedder)
        other = create_collection("other")
        ingest_text_of(other)(LIGHTHOUSE)
        encoded.clear()

        assert fill(other, embedder)

        assert encoded == []
        assert TokenVectors.objects.count() == 2 * Chunk.objects.filter(collection=other).count()

    def test_a_turn_that_is_over_leaves_the_rest(
        self,
        ingest: Ingest,
        collection: Collection,
        embedder: TokenEmbedder,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(token_vectors, "BATCH_SIZE", 2)
        stored = ingest(long_text(4))
        turns = iter([False, True])

        stop = fill_token_vectors(collection.pk, embedder=embedder, should_stop=lambda: next(turns))

        assert not stop
        assert TokenVectors.objects.count() == 2
        assert fill(collection, embedder)
        assert TokenVectors.objects.count() == stored.chunk_count

    def test_what_a_broken_off_batch_kept_stays(
        self,
        ingest: Ingest,
        collection: Collection,
        embedder: TokenEmbedder,
        encoded: list[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(token_vectors, "BATCH_SIZE", 1)
        stored = ingest(long_text(3))
        pack_texts = TokenEmbedder.pack_texts

        def failing(self: TokenEmbedder, texts: Sequence[str]) -> list[bytes]:
            if len(encoded) == 2:
                raise BackendError("gone")
            return pack_texts(self, texts)

        with monkeypatch.context() as patched:
            patched.setattr(TokenEmbedder, "pack_texts", failing)
            with pytest.raises(BackendError):
                fill(collection, embedder)
        assert TokenVectors.objects.count() == 2
        assert fill(collection, embedder)
        assert len(encoded) == stored.chunk_count

    def test_after_an_ingest_only_what_is_new_is_looked_at(
        self, ingest: Ingest, collection: Collection, embedder: TokenEmbedder
    ) -> None:
        ingest(LIGHTHOUSE)
        Chunk.objects.update(created_at=timezone.now() - timedelta(days=1))
        new = ingest(BAKERY)
        (since,) = {row["args"]["since"] for row in waiting_fillings()}

        assert fill_token_vectors(
            collection.pk, embedder=embedder, should_stop=lambda: False, since=since
        )

        assert kept_chunks() == set(new.chunk_ids)
        assert fill(collection, embedder)
        assert TokenVectors.objects.count() == Chunk.objects.count()

    def test_more_than_one_look_finds_are_all_computed(
        self,
        ingest: Ingest,
        collection: Collection,
        embedder: TokenEmbedder,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(token_vectors, "LISTED_COUNT", 2)
        stored = ingest(long_text(3))
        assert fill(collection, embedder)
        assert kept_chunks() == set(stored.chunk_ids)

    def test_nothing_is_encoded_where_nothing_lacks(
        self, ingest: Ingest, collection: Collection, embedder: TokenEmbedder, encoded: list[str]
    ) -> None:
        ingest(LIGHTHOUSE)
        fill(collection, embedder)
        encoded.clear()
        assert fill(collection, embedder)
        assert encoded == []


@pytest.fixture
def context() -> JobContext:
    """What a task is told by its worker."""
    job = Job(id=1, queue="pkb", lock=None, queueing_lock=None, task_name=FILL)
    return JobContext(app=app, job=job, start_timestamp=0, abort_reason=lambda: None)


class TestTheTask:
    def test_it_fills_and_is_not_queued_again(
        self, ingest: Ingest, collection: Collection, context: JobContext
    ) -> None:
        ingest(LIGHTHOUSE)
        ProcrastinateJob.objects.all()._raw_delete("default")

        fill_collection(context, collection.pk)

        assert TokenVectors.objects.exists()
        assert waiting_fillings() == []

    def test_jobs_go_first(
        self, ingest: Ingest, collection: Collection, context: JobContext
    ) -> None:
        """A task that somebody waits for ends the turn of one that nobody does."""
        ingest(LIGHTHOUSE)
        assert not is_awaited()
        enqueue_job(uuid4())
        assert is_awaited()

        fill_collection(context, collection.pk)

        assert not TokenVectors.objects.exists()
        # Again by this turn's own words, beside what the ingest has asked for.
        assert {row["args"]["since"] > 0 for row in waiting_fillings()} == {False, True}

    def test_a_model_that_fails_is_left_until_a_worker_starts(
        self,
        ingest: Ingest,
        collection: Collection,
        context: JobContext,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        ingest(LIGHTHOUSE)
        ProcrastinateJob.objects.all()._raw_delete("default")

        def failing(self: TokenEmbedder, texts: Sequence[str]) -> list[bytes]:
            raise BackendError("gone")

        monkeypatch.setattr(TokenEmbedder, "pack_texts", failing)
        fill_collection(context, collection.pk)
        assert waiting_fillings() == []
        enqueue_all_fillings()
        assert len(waiting_fillings()) == Collection.objects.count()

    def test_the_rescue_queues_again_what_a_dead_worker_was_at(
        self, ingest: Ingest, collection: Collection
    ) -> None:
        ingest(LIGHTHOUSE)
        with connection.cursor() as cursor:
            cursor.execute("UPDATE procrastinate_jobs SET status = 'doing', worker_id = NULL", [])
        async_to_sync(rescue_jobs.func)(0)
        rows = ProcrastinateJob.objects.filter(task_name=FILL).values_list("status", "args")
        assert list(rows) == [("todo", {"collection_id": collection.pk, "since": 0.0})]


class TestTheCommand:
    def test_it_computes_what_lacks_of_one_collection_or_all(
        self, ingest: Ingest, capsys: pytest.CaptureFixture[str]
    ) -> None:
        ingest(LIGHTHOUSE)
        ingest_text_of(create_collection("other"))(BAKERY)
        call_command("fill_token_vectors", "--collection", "other")
        assert TokenVectors.objects.count() == 1
        call_command("fill_token_vectors")
        assert TokenVectors.objects.count() == Chunk.objects.count()
        assert "other: complete" in capsys.readouterr().out

    @pytest.mark.parametrize(("kind", "arguments"), [("off", []), ("all", ["--collection", "x"])])
    def test_wrong_usage_ends_with_2(
        self, kind: str, arguments: list[str], collection: Collection
    ) -> None:
        with keeping(kind), pytest.raises(CommandError) as refused:
            call_command("fill_token_vectors", *arguments)
        assert refused.value.returncode == 2

    def test_a_failed_model_ends_with_1(
        self, ingest: Ingest, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def failing(self: TokenEmbedder, texts: Sequence[str]) -> list[bytes]:
            raise BackendError("gone")

        monkeypatch.setattr(TokenEmbedder, "pack_texts", failing)
        ingest(LIGHTHOUSE)
        with pytest.raises(CommandError, match="gone") as failed:
            call_command("fill_token_vectors")
        assert failed.value.returncode == 1


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
            bring_token_vectors(chunks, embedder=embedder)

    def test_a_chunk_that_is_gone_meanwhile_fails_no_search(self, embedder: TokenEmbedder) -> None:
        packed = bring_token_vectors([RankedChunk(uuid4(), LIGHTHOUSE)], embedder=embedder)
        assert packed == embedder.pack_texts([LIGHTHOUSE])
        assert kept_chunks() == set()

    def test_a_text_that_changed_meanwhile_is_not_kept(
        self, ingest: Ingest, embedder: TokenEmbedder
    ) -> None:
        (chunk_id,) = ingest(LIGHTHOUSE).chunk_ids
        packed = bring_token_vectors([RankedChunk(UUID(chunk_id), BAKERY)], embedder=embedder)
        assert packed == embedder.pack_texts([BAKERY])
        assert kept_chunks() == set()

    def test_a_database_that_cannot_be_written_fails_no_search(
        self, ingest: Ingest, embedder: TokenEmbedder
    ) -> None:
        chunks = chunks_of(ingest(LIGHTHOUSE))
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL transaction_read_only = on")
            packed = bring_token_vectors(chunks, embedder=embedder)
            assert len(packed) == len(chunks)
            with pytest.raises(InternalError), transaction.atomic():
                Chunk.objects.update(page=1)
            transaction.set_rollback(True)
        assert kept_chunks() == set()

    def test_a_text_that_came_with_the_question_is_not_kept(self, db: None) -> None:
        reranker = LateInteractionReranker(threads=1, keeps_vectors=True)
        from_text = Passage(
            "selected-0", "", "", "", "", (), None, LIGHTHOUSE, 0, len(LIGHTHOUSE),
            is_selected=True,
        )  # fmt: skip
        scores = reranker.score_passages(LIGHTHOUSE_QUESTION, [from_text])
        assert scores[0] == reranker.score(LIGHTHOUSE_QUESTION, [LIGHTHOUSE])[0]


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

    def test_another_title_is_computed_anew(
        self, stored: str, collection: Collection, embedder: TokenEmbedder, encoded: list[str]
    ) -> None:
        Document.objects.filter(pk=stored).update(title="The coast")
        assert kept_chunks() == set()
        fill(collection, embedder)
        assert all(text.startswith("The coast\n") for text in encoded)
        assert list(find_violations()) == []

    def test_what_is_of_another_text_is_never_used(
        self, stored: str, embedder: TokenEmbedder
    ) -> None:
        rows = TokenVectors.objects.filter(chunk__document=UUID(stored))
        rows.update(input_sha256="0" * 64, packed=b"\0" * 96, token_count=1)
        assert any("another text" in line for line in find_violations())
        chunks = [
            RankedChunk(row.pk, f"Bavoke\n{row.text}")
            for row in Chunk.objects.filter(document=UUID(stored))
        ]

        packed = bring_token_vectors(chunks, embedder=embedder)

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
        assert any("length" in line for line in find_violations())


@pytest.mark.django_db(transaction=True)
class TestAtTheSameTime:
    @pytest.mark.no_cover  # docs/testing.md
    def test_two_searches_keep_the_same_once(
        self, ingest: Ingest, collection: Collection, embedder: TokenEmbedder
    ) -> None:
        chunks = chunks_of(ingest(long_text(3)))

        def bring(turn: int) -> list[bytes]:
            try:
                return bring_token_vectors(chunks[:: 1 if turn else -1], embedder=embedder)
            finally:
                connections.close_all()

        with ThreadPoolExecutor(2) as pool:
            backward, forward = pool.map(bring, range(2))

        assert forward == backward[::-1]
        assert TokenVectors.objects.count() == len(chunks)
        assert list(find_violations()) == []

    def test_nobody_waits_for_a_document_that_is_being_changed(
        self, ingest: Ingest, collection: Collection, embedder: TokenEmbedder
    ) -> None:
        stored = ingest(LIGHTHOUSE)

        def bring() -> tuple[int, bool]:
            try:
                packed = bring_token_vectors(chunks_of(stored), embedder=embedder)
                return len(packed), fill(collection, embedder)
            finally:
                connections.close_all()

        with ThreadPoolExecutor(1) as pool, transaction.atomic():
            Document.objects.filter(pk=stored.document_id).update(title="Coast")
            assert pool.submit(bring).result(timeout=60) == (stored.chunk_count, False)
        assert kept_chunks() == set()
        assert fill(collection, embedder)
        assert list(find_violations()) == []


def test_the_text_that_is_encoded_is_the_one_that_is_ranked() -> None:
    assert token_vectors.ranked_text(COAST.text, title=COAST.title) == COAST.as_ranked
    assert token_vectors.ranked_text("a", title="") == "a"
