"""Token vectors of chunks: computed once, behind all that somebody waits for."""

from collections.abc import Sequence
from datetime import timedelta
from uuid import uuid4

import pytest
from asgiref.sync import async_to_sync
from django.core.management import call_command
from django.test import override_settings
from django.utils import timezone
from procrastinate import JobContext
from procrastinate.contrib.django import app
from procrastinate.contrib.django.models import ProcrastinateJob
from procrastinate.jobs import Job

from corpus import token_vectors
from corpus.catalogue import create_collection
from corpus.embedders.colbert import TokenEmbedder
from corpus.errors import BackendError
from corpus.invariants import find_violations
from corpus.models import Chunk, Collection, TokenVectors
from corpus.queue import FILL, FILL_PRIORITY, enqueue_job, has_waiting_tasks
from corpus.tasks import begin_filling, fill_all_collections, fill_collection, rescue_jobs
from corpus.token_vectors import (
    background_embedder,
    fill_token_vectors,
)
from tests.integration.token_vectors import (
    fill,
    keeping,
    kept_chunks,
    search,
    waiting_fillings,
)
from tests.support.commands import refusal
from tests.support.database import execute
from tests.support.documents import (
    BAKERY,
    LIGHTHOUSE,
    Ingest,
    ingest_text_of,
    long_text,
)

pytestmark = pytest.mark.usefixtures("empty_queue")


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
        assert not has_waiting_tasks()
        enqueue_job(uuid4())
        assert has_waiting_tasks()
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
        fill_all_collections()
        assert len(waiting_fillings()) == Collection.objects.count()

    def test_the_rescue_queues_again_what_a_dead_worker_was_at(
        self, ingest: Ingest, collection: Collection
    ) -> None:
        ingest(LIGHTHOUSE)
        execute("UPDATE procrastinate_jobs SET status = 'doing', worker_id = NULL")
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
    def test_wrong_usage_ends_with_2(self, kind: str, arguments: list[str]) -> None:
        with keeping(kind):
            assert refusal("fill_token_vectors", *arguments)[1] == 2

    def test_a_failed_model_ends_with_1(
        self, ingest: Ingest, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def failing(self: TokenEmbedder, texts: Sequence[str]) -> list[bytes]:
            raise BackendError("gone")

        monkeypatch.setattr(TokenEmbedder, "pack_texts", failing)
        ingest(LIGHTHOUSE)
        reason, code = refusal("fill_token_vectors")
        assert ("gone" in reason, code) == (True, 1)
