"""Models that fail: embedders of a server and of a file, and language models."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2

from corpus.embedders.hashed_words import HashingEmbedder
from tests.campaign.installation import Installation, installed
from tests.campaign.ledger import new_text
from tests.campaign.load import writing
from tests.campaign.rounds import Family, Round, pause_of
from tests.support.chat_server import (
    KEY,
    Behaviour,
    Call,
    ChatServer,
    answers,
    chat_reply,
    chat_server,
    credulous,
    cut,
    drip,
    fails,
    flood,
    hang,
    says,
    statement,
)

FAULTS_OF_A_ROUND = 2
FAULT_FOR_S = 3.0
DIMENSION = 1_536
QUESTION = "Where does the note of the harbour begin?"
TEN_MIB = 10 * 2**20
SERVERS: dict[Path, ChatServer] = {}


def embed(call: Call) -> None:
    """Answer each text with its hashed words."""
    found = HashingEmbedder(DIMENSION).embed_passages(call.body["input"])
    rows = [{"index": i, "embedding": vector.tolist()} for i, vector in enumerate(found)]
    call.send(200, json.dumps({"data": rows}))


def vectors(make: Callable[[int], Any]) -> Behaviour:
    """Answer each text with what ``make`` makes of its place."""

    def behave(call: Call) -> None:
        rows = [{"index": i, "embedding": make(i)} for i in range(len(call.body["input"]))]
        call.send(200, json.dumps({"data": rows}))

    return behave


EMBEDDER_FAULTS: dict[str, Behaviour] = {
    "429": fails(429, headers={"Retry-After": "1"}),
    "500": fails(500),
    "hangs": hang,
    "cut": cut,
    "drips": drip,
    "no JSON": lambda call: call.send(200, "<html>"),
    "NaN": vectors(lambda i: [float("nan")] * DIMENSION),
    "one NaN": vectors(lambda i: [float("nan")] + [1.0] * (DIMENSION - 1)),
    "infinite": vectors(lambda i: [float("inf")] * DIMENSION),
    "zeros": vectors(lambda i: [0.0] * DIMENSION),
    "wrong dimension": vectors(lambda i: [1.0] * (DIMENSION // 2)),
    "texts for numbers": vectors(lambda i: ["one"] * DIMENSION),
    "one vector too few": lambda call: call.send(200, json.dumps({"data": []})),
    "10 MiB": lambda call: call.send(200, " " * TEN_MIB),
}
LM_FAULTS: dict[str, Behaviour] = {
    "429": fails(429, headers={"Retry-After": "3600"}),
    "500": fails(500),
    "hangs": hang,
    "cut": cut,
    "drips": drip,
    "no JSON": says("The harbour, I think."),
    "html": lambda call: call.send(200, "<html>"),
    "half JSON": says('{"verdict": "", "statements": [{"sources": ["S1.1"], "text": "The harbour'),
    "invented ids": answers(statement("The note begins at the harbour.", "S99.1", "zq", "[7]")),
    "invented words": answers(
        statement("The note begins on the moon in 1969.", "S1.1"), judge=credulous
    ),
    "10 MiB": lambda call: call.send(200, chat_reply("harbour " * (TEN_MIB // 8))),
    "8 MiB of nothing": flood,
    "no choices": lambda call: call.send(200, json.dumps({"choices": []})),
    "numbers": says("[" * 5_000),
}


def break_embedder(played: Round) -> None:
    """Have the embedder's server fail while clients write; what was taken in is embedded later."""
    server = SERVERS[played.installation.folder]
    with writing(played.installation, played.ledger, chance=played.chance):
        for _ in range(FAULTS_OF_A_ROUND):
            name = played.chance.choice(list(EMBEDDER_FAULTS))
            server.behaviour = EMBEDDER_FAULTS[name]
            pause_of(played.chance, FAULT_FOR_S)
            server.behaviour = embed
            played.faults += 1
            played.fault += f"{name}; "
            pause_of(played.chance, FAULT_FOR_S)
    server.behaviour = embed
    played.recover()


def break_lm(played: Round) -> None:
    """Have the language model fail in each way; every question is answered all the same."""
    server = SERVERS[played.installation.folder]
    names = played.chance.sample(list(LM_FAULTS), len(LM_FAULTS))
    with played.installation.client() as http:
        text, _ = new_text(played.chance, words=200)
        played.installation.read("SELECT 1")
        http.post("/ingest", json={"text": text}).raise_for_status()
        for name in names:
            server.behaviour = LM_FAULTS[name]
            played.faults += 1
            _ask(played, http, name)
    played.fault = f"{len(names)} failures of a language model"
    played.ledger.possible.pop("", None)
    played.verify()


def _ask(played: Round, http: httpx2.Client, name: str) -> None:
    reply = http.get("/answer", params={"q": QUESTION})
    played.check(reply.status_code == 200, f"{name}: {reply.status_code} {reply.text[:200]}")
    if reply.status_code != 200:
        return
    answer = reply.json()
    played.check(bool(answer["fallback"]) or answer["abstained"], f"{name}: it was believed")
    for citation in answer["citations"]:
        path = f"/documents/{citation['document_id']}/text"
        text = http.get(path, headers={"Accept": "text/plain"}).text
        quoted = text[citation["start_char"] : citation["end_char"]]
        played.check(quoted == citation["quote"], f"{name}: a quote is not in the source")


@contextmanager
def with_an_embedding_server() -> Iterator[Installation]:
    with chat_server(embed) as server:
        settings = {
            "EMBEDDING_MODEL": "openai/text-embedding-3-small",
            "PKB_EMBEDDING_API_BASE": f"{server.root}/v1",
            "PKB_EMBEDDING_API_KEY": KEY,
            "PKB_MODEL_TIMEOUT_S": "1",
        }
        with installed(settings) as installation:
            SERVERS[installation.folder] = server
            yield installation


@contextmanager
def with_a_language_model() -> Iterator[Installation]:
    with chat_server(hang) as server:
        settings = {
            "PKB_LM": "openai/m",
            "PKB_LM_API_BASE": f"{server.root}/v1",
            "PKB_LM_API_KEY": KEY,
            "PKB_LM_TIMEOUT_S": "1",
            "PKB_LM_PAUSE_S": "0",
            "PKB_ANSWER_CACHE": "0",
            "PKB_ANSWER_FROM": "0",
            "PKB_ABSTAIN_BELOW": "0",
        }
        with installed(settings) as installation:
            SERVERS[installation.folder] = server
            yield installation


EMBEDDERS = Family(with_an_embedding_server, break_embedder, share=0.06)
LANGUAGE_MODELS = Family(with_a_language_model, break_lm, share=0.03)
