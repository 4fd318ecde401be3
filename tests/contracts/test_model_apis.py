"""What the adapters of remote models send, and what they make of a server that misbehaves."""

import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import stamina
from django.core.exceptions import ImproperlyConfigured

from corpus import model_api
from corpus.embedders import embedders, get_embedder
from corpus.embedders.hashed_words import HashingEmbedder
from corpus.embedders.server import ServerEmbedder
from corpus.embedders.tokens import count_cl100k_tokens
from corpus.errors import BackendError, BackendUnavailable
from qa.search.rerankers import rerankers
from qa.search.rerankers.late_interaction_reranker import LateInteractionReranker
from qa.search.rerankers.server_reranker import PROTOCOLS as RERANK_PROTOCOLS
from qa.search.rerankers.server_reranker import Protocol as RerankProtocol
from qa.search.rerankers.server_reranker import ServerReranker
from tests.support.chat_server import (
    KEY,
    Behaviour,
    Call,
    chat_server,
    cut,
    drip,
    fails,
    hang,
    in_turn,
)
from tests.support.model_server import WIDTH, embed, embedding_reply, rerank, serve_as

SMALL = "text-embedding-3-small"


@pytest.fixture(autouse=True)
def without_pauses() -> Iterator[None]:
    """Retry at once, as often as ever."""
    stamina.set_testing(True, attempts=model_api.MAX_ATTEMPTS)
    yield
    stamina.set_testing(False)


def replies(body: Any) -> Behaviour:
    return lambda call: call.send(200, json.dumps(body))


def ask_embedder(root: str) -> None:
    ServerEmbedder("m", f"{root}/v1", KEY, 3, timeout_s=0.5).embed_query("stone")


def ask_reranker(root: str) -> None:
    ServerReranker("m", f"{root}/v2", KEY, timeout_s=0.5).score("stone", ["river"])


ADAPTERS = pytest.mark.parametrize("ask", [ask_embedder, ask_reranker], ids=["openai", "cohere"])


def flood(call: Call) -> None:
    call.send(200, " " * 2_000)


class TestOpenAI:
    def test_native_dimensions_are_not_asked_for(self) -> None:
        with chat_server(embed) as server:
            ServerEmbedder(SMALL, f"{server.root}/v1/", KEY).embed_query("stone")
            (call,) = server.calls
        assert call.body == {"model": SMALL, "input": ["stone"], "encoding_format": "float"}

    @pytest.mark.parametrize(
        ("model", "dimension"), [(SMALL, 512), ("text-embedding-3-large", 1_024)], ids=["s", "l"]
    )
    def test_fewer_dimensions_are_asked_for_and_named(self, model: str, dimension: int) -> None:
        with chat_server(embed) as server:
            embedder = ServerEmbedder(model, f"{server.root}/v1", KEY, str(dimension))
            assert embedder.embed_query("stone").shape == (dimension,)
            assert server.calls[0].body["dimensions"] == dimension
        assert embedder.name == f"openai/{model}@{dimension}"

    def test_texts_go_in_batches_and_come_back_in_order(self) -> None:
        texts = [f"stone {number}" for number in range(10)]
        with chat_server(embed) as server:
            embedder = ServerEmbedder(SMALL, f"{server.root}/v1", KEY, batch_size=4)
            vectors = embedder.embed_passages(texts)
            sizes = [len(call.body["input"]) for call in server.calls]
            alone = [embedder.embed_query(text) for text in texts]
        assert sizes == [4, 4, 2]
        assert all((row == vector).all() for row, vector in zip(vectors, alone, strict=True))

    def test_a_request_stays_under_the_bound_of_tokens(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("corpus.embedders.server.MAX_REQUEST_TOKENS", 5)
        with chat_server(embed) as server:
            embedder = ServerEmbedder(SMALL, f"{server.root}/v1", KEY)
            embedder.embed_passages(["one two three", "four five", "six", "seven " * 9])
            sizes = [len(call.body["input"]) for call in server.calls]
        assert sizes == [2, 1, 1]

    def test_a_text_over_the_limit_is_cut_before_it_is_sent(self) -> None:
        with chat_server(embed) as server:
            embedder = ServerEmbedder(SMALL, f"{server.root}/v1", KEY, max_tokens=3)
            embedder.embed_query("one two three four five")
            assert server.calls[0].body["input"] == ["one two three"]

    @pytest.mark.parametrize(
        "reply",
        [
            embedding_reply([1.0, 0.0]),
            embedding_reply([0.0, 0.0, 0.0]),
            embedding_reply([1.0, 0.0, float("nan")]),
            embedding_reply([1, 0, 10**400]),
            embedding_reply([1, 0, 0], [1, 0, 0]),
            embedding_reply("text"),
            {"data": [{"embedding": [1, 0, 0]}]},
            {},
            [],
        ],
        ids=["short", "zero", "nan", "huge", "two", "text", "no index", "empty", "list"],
    )
    def test_a_reply_without_the_vectors_is_a_backend_error(self, reply: Any) -> None:
        with chat_server(replies(reply)) as server, pytest.raises(BackendError):
            ask_embedder(server.root)


class TestCohere:
    def test_request_has_the_shape_of_v2(self) -> None:
        with chat_server(rerank) as server:
            scores = ServerReranker("rerank-v3.5", f"{server.root}/v2", KEY).score(
                "stone", ["", "stone"]
            )
            (call,) = server.calls
        assert call.path == "/v2/rerank"
        assert call.body == {
            "model": "rerank-v3.5", "query": "stone", "documents": [" ", "stone"], "top_n": 2
        }  # fmt: skip
        assert call.authorization == f"Bearer {KEY}"
        assert scores.tolist() == pytest.approx([-13.8, 13.8], abs=0.1)

    def test_many_texts_go_in_batches(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(RERANK_PROTOCOLS, "cohere", RerankProtocol(batch_size=2))
        with chat_server(rerank) as server:
            scores = ServerReranker("m", f"{server.root}/v2").score("c", ["a", "b", "c"])
            assert len(server.calls) == 2
            assert server.calls[0].authorization == ""
        assert scores.argmax() == 2

    @pytest.mark.parametrize(
        "rows",
        [
            [],
            [{"index": 1, "relevance_score": 0.5}],
            [{"index": float("inf"), "relevance_score": 0.5}],
            [{"index": 0, "relevance_score": 0.5}, {"index": 1, "relevance_score": 0.5}],
            [{"index": 0, "relevance_score": None}],
            [{"index": 0, "relevance_score": float("nan")}],
            5,
        ],
        ids=["none", "other", "infinite", "two", "null", "nan", "number"],
    )
    def test_a_reply_without_the_relevances_is_a_backend_error(self, rows: Any) -> None:
        with chat_server(replies({"results": rows})) as server, pytest.raises(BackendError):
            ask_reranker(server.root)


class TestSelfHosted:
    @pytest.mark.parametrize("server", ["vllm", "infinity", "ollama", "tei"])
    def test_vectors_come_in_the_order_of_the_texts(self, server: str) -> None:
        texts = [f"stone {number}" for number in range(70)]
        with chat_server(serve_as(server)) as running:
            embedder = ServerEmbedder("m", running.root, "", WIDTH, protocol=server)
            vectors = embedder.embed_passages(texts)
        assert embedder.name == f"{server}/m@{WIDTH}"
        np.testing.assert_allclose(vectors, HashingEmbedder(WIDTH).embed_passages(texts), atol=1e-6)

    @pytest.mark.parametrize("server", ["vllm", "infinity", "tei"])
    def test_relevances_come_in_the_order_of_the_texts(self, server: str) -> None:
        with chat_server(serve_as(server)) as running:
            reranker = ServerReranker("m", running.root, protocol=server)
            scores = reranker.score("stone", ["river"] * 40 + ["stone"])
        assert reranker.name == f"{server}/m"
        assert scores.argmax() == 40

    def test_prefixes_come_before_queries_and_passages(self) -> None:
        prefixes: dict[str, Any] = {"query_prefix": "query: ", "document_prefix": "passage: "}
        with chat_server(serve_as("infinity")) as running:
            embedder = ServerEmbedder("m", running.root, "", WIDTH, max_tokens=8, **prefixes)
            embedder.embed_query("stone")
            embedder.embed_passages(["stone", " stone" * 20])
            (query,), (passage, longest) = (call.body["input"] for call in running.calls)
        assert (query, passage) == ("query: stone", "passage: stone")
        assert count_cl100k_tokens(longest) == 8


class TestBoth:
    @ADAPTERS
    @pytest.mark.parametrize("status", [429, 500, 503])
    def test_a_busy_server_is_asked_again(self, ask: Callable[[str], None], status: int) -> None:
        with chat_server(fails(status, headers={"Retry-After": "0"})) as server:
            with pytest.raises(BackendUnavailable, match=f"answered {status}") as refused:
                ask(server.root)
            assert len(server.calls) == model_api.MAX_ATTEMPTS
        assert KEY not in str(refused.value)

    def test_a_server_that_recovers_is_no_error(self) -> None:
        with chat_server(in_turn(fails(429), fails(503), embed)) as server:
            ServerEmbedder(SMALL, f"{server.root}/v1", KEY).load()
            assert len(server.calls) == 3

    @ADAPTERS
    @pytest.mark.parametrize("status", [400, 401, 404, 422])
    def test_a_refusal_is_final_and_hides_the_key(
        self, ask: Callable[[str], None], status: int, caplog: pytest.LogCaptureFixture
    ) -> None:
        with caplog.at_level(logging.DEBUG), chat_server(fails(status)) as server:
            with pytest.raises(BackendError, match=str(status)) as refused:
                ask(server.root)
            assert len(server.calls) == 1
        assert KEY not in str(refused.value)
        assert KEY not in caplog.text

    @ADAPTERS
    @pytest.mark.parametrize("behaviour", [hang, drip, cut], ids=["hang", "drip", "cut"])
    def test_a_server_that_does_not_end_its_reply_is_unavailable(
        self, ask: Callable[[str], None], behaviour: Behaviour
    ) -> None:
        with chat_server(behaviour) as server, pytest.raises(BackendUnavailable):
            ask(server.root)

    @ADAPTERS
    def test_a_server_that_is_not_there_is_unavailable(self, ask: Callable[[str], None]) -> None:
        with pytest.raises(BackendUnavailable):
            ask("http://127.0.0.1:9")

    @ADAPTERS
    def test_a_flood_is_refused(
        self, ask: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(model_api, "MAX_REPLY_BYTES", 1_000)
        with chat_server(flood) as server, pytest.raises(BackendError, match="over 1,000 bytes"):
            ask(server.root)

    @pytest.mark.parametrize(
        ("given", "pause"),
        [("7", 7.0), ("20", 20.0), ("21", False), ("", True), ("soon", True)],
        ids=["7", "20", "too long", "none", "word"],
    )
    def test_retry_after_is_honoured_within_bounds(self, given: str, pause: float | bool) -> None:
        pauses: list[float | bool] = []
        with chat_server(fails(429, headers={"Retry-After": given})) as server:
            api = model_api.ModelApi("m", base_url=server.root, api_key="", timeout_s=5)
            with pytest.raises(BackendUnavailable) as refused:
                api.fetch("/", {}, read=len, wanted="reply")
            pauses.append(model_api._wait_before_retry(refused.value))
            assert len(server.calls) == (1 if pause is False else model_api.MAX_ATTEMPTS)
        assert pauses == [pause]

    def test_the_key_is_in_no_repr(self) -> None:
        api = model_api.ModelApi("m", base_url="http://127.0.0.1:9", api_key=KEY, timeout_s=1)
        assert KEY not in repr(api) + repr(vars(api))


class TestSelection:
    @pytest.mark.parametrize("dimension", [384, 768, 1_024, 1_536, 4_000])
    def test_hashing_has_any_dimension(self, dimension: int) -> None:
        assert get_embedder(f"hashing-{dimension}").dimension == dimension

    @pytest.mark.parametrize("name", ["hashing-0", "hashing-4001", "hashing-", "openai/m", "x"])
    def test_a_name_that_stands_for_nothing_is_unknown(self, name: str) -> None:
        assert name not in embedders
        with pytest.raises(ImproperlyConfigured):
            get_embedder(name)

    def test_texts_stay_here_unless_an_api_is_configured(self) -> None:
        assert f"openai/{SMALL}" not in embedders

    def test_rerankers_are_chosen_by_name(self) -> None:
        assert isinstance(rerankers["answerai-colbert-small-v1"], LateInteractionReranker)
        assert rerankers["cohere/rerank-v3.5"].name == "cohere/rerank-v3.5"
