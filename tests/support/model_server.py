"""Servers on 127.0.0.1 with the protocols of OpenAI's embeddings and Cohere's reranking."""

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
    embedder = HashingEmbedder(512)
    shares = (embedder.embed_passages(texts) @ embedder.embed_query(query)).clip(0, 1)
    rows = [{"index": i, "relevance_score": float(share)} for i, share in enumerate(shares)]
    rows.sort(key=lambda row: -row["relevance_score"])
    call.send(200, json.dumps({"id": "r1", "results": rows[: call.body["top_n"]]}))


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
