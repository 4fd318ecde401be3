"""Servers on 127.0.0.1 with the protocols of embedding and reranking servers."""

import atexit
import json
import threading
from collections.abc import Mapping
from functools import cache
from typing import Any

import tiktoken

from corpus.embedders.hashed_words import HashingEmbedder
from tests.support.chat_server import KEY, Behaviour, Call, ChatServer

MAX_INPUTS, MAX_TOKENS = 2_048, 300_000


def embed(call: Call) -> None:
    """Answer with hashed words, and refuse what the real one refuses."""
    texts = call.body["input"]
    counts = [len(tiktoken.get_encoding("cl100k_base").encode_ordinary(text)) for text in texts]
    is_good = (
        call.path == "/v1/embeddings"
        and call.authorization == f"Bearer {KEY}"
        and 1 <= len(texts) <= MAX_INPUTS
        and all(texts)
        and max(counts) <= 8_191
        and sum(counts) <= MAX_TOKENS
    )
    if not is_good:
        call.send(400, json.dumps({"error": {"message": f"bad: {call.authorization}"}}))
        return
    embedder = HashingEmbedder(call.body.get("dimensions", 1_536))
    embedder.max_tokens = 8_191
    rows = [
        {"object": "embedding", "index": i, "embedding": (3 * vector).tolist()}
        for i, vector in enumerate(embedder.embed_passages(texts))
    ]
    reply = {"object": "list", "model": call.body["model"], "data": rows[::-1]}
    call.send(200, json.dumps(reply))


def rerank(call: Call) -> None:
    """Judge by the words that query and text share, best first, as Cohere's v2 does."""
    query, texts = call.body["query"], call.body["documents"]
    if call.path != "/v2/rerank" or not (query and all(texts)) or len(texts) > 1_000:
        call.send(400, json.dumps({"message": "bad request"}))
        return
    shares = _judge(query, texts)
    rows = [{"index": i, "relevance_score": share} for i, share in enumerate(shares)]
    rows.sort(key=lambda row: -row["relevance_score"])
    call.send(200, json.dumps({"id": "r1", "results": rows[: call.body["top_n"]]}))


# The most texts that a text-embeddings-inference server takes by default.
TEI_MAX_INPUTS = 32
WIDTH = 8


def serve_as(server: str) -> Behaviour:
    """Return the behaviour of a self-hosted server, by its documentation.

    Args:
        server: ``vllm``, ``infinity``, ``ollama`` or ``tei``.
    """

    def respond(call: Call) -> None:
        body = call.body
        texts = body.get("inputs") or body.get("input") or body.get("texts") or body["documents"]
        is_reranking = call.path == "/rerank"
        if call.path != {
            "vllm": "/v1/embeddings", "infinity": "/embeddings", "ollama": "/api/embed",
            "tei": "/embed",
        }[server] and (not is_reranking or server == "ollama"):  # fmt: skip
            call.send(404, "{}")
        elif server == "tei" and len(texts) > TEI_MAX_INPUTS:
            call.send(413, json.dumps({"error": "batch size", "error_type": "Validation"}))
        elif server != "tei" and body.get("model") != "m":
            call.send(404, json.dumps({"error": f"model {body.get('model')} not found"}))
        elif is_reranking:
            shares = _judge(body["query"], texts)
            key = "score" if server == "tei" else "relevance_score"
            rows = [{"index": i, key: share} for i, share in enumerate(shares)]
            rows.sort(key=lambda row: -row[key])
            call.send(200, json.dumps(rows if server == "tei" else {"results": rows}))
        else:
            vectors = HashingEmbedder(WIDTH).embed_passages(texts).tolist()
            rows = [{"index": i, "embedding": vector} for i, vector in enumerate(vectors)]
            replies = {"tei": vectors, "ollama": {"embeddings": vectors}}
            call.send(200, json.dumps(replies.get(server, {"data": rows})))

    return respond


def _judge(query: str, texts: list[str]) -> list[float]:
    embedder = HashingEmbedder(512)
    shares = (embedder.embed_passages(texts) @ embedder.embed_query(query)).clip(0, 1)
    return [float(share) for share in shares]


def embedding_reply(*vectors: Any, **others: Any) -> Mapping[str, Any]:
    rows = [{"index": i, "embedding": vector} for i, vector in enumerate(vectors)]
    return {"data": rows, **others}


@cache
def _running(behaviour: Behaviour) -> ChatServer:
    server = ChatServer(behaviour)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.daemon = True
    thread.start()
    atexit.register(server.server_close)
    return server


def embedding_server() -> str:
    """Return the base URL of a server that runs until the tests end."""
    return f"{_running(embed).root}/v1"


def rerank_server() -> str:
    """Return the base URL of a server that runs until the tests end."""
    return f"{_running(rerank).root}/v2"
