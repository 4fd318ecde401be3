"""/v1 as OpenAI's own client sees it, and /v1/rerank as Cohere has it."""

from collections.abc import Iterator
from typing import Any

import httpx2
import numpy as np
import pytest
from openai import BadRequestError, NotFoundError, OpenAI
from openai.types.chat import ChatCompletionMessageParam

from corpus.embedders import get_embedder
from corpus.errors import BackendUnavailable
from corpus.models import Collection
from qa.notices import NOTHING_NEAR
from tests.support.client import Api
from tests.support.documents import BAKERY, LIGHTHOUSE_QUESTION

pytestmark = pytest.mark.slow

MODEL = "pkb/default"
EMBEDDER = "bge-small-en-v1.5"


@pytest.fixture
def client(service: str) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{service}/v1", api_key="unused", max_retries=0) as opened:
        yield opened


def asking(question: str) -> list[ChatCompletionMessageParam]:
    return [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Where is it?"},
        {"role": "assistant", "content": "At Bavoke."},
        {"role": "user", "content": question},
    ]


def test_collections_are_models(client: OpenAI) -> None:
    assert MODEL in [model.id for model in client.models.list()]
    assert client.models.retrieve(MODEL).owned_by == "pkb"


def test_a_completion_cites_what_it_says(client: OpenAI, service: str) -> None:
    reply = client.chat.completions.create(model=MODEL, messages=asking(LIGHTHOUSE_QUESTION))
    (choice,) = reply.choices
    content = choice.message.content or ""
    assert choice.finish_reason == "stop"
    assert "Orsolya Quill" in content
    assert "[1]" in content
    annotations: list[Any] = choice.message.model_dump()["annotations"]
    cited = annotations[0]["file_citation"]
    assert annotations[0]["type"] == "file_citation"
    assert cited["filename"] == "Coast"
    assert content[cited["start_index"] : cited["end_index"]] == cited["quote"]
    text = httpx2.get(f"{service}/documents/{cited['file_id']}/text").json()["text"]
    assert cited["quote"] in text
    assert reply.usage is not None
    assert reply.usage.completion_tokens > 5
    assert reply.usage.total_tokens == reply.usage.prompt_tokens + reply.usage.completion_tokens


def test_a_follow_up_is_completed_from_the_messages_before(client: OpenAI) -> None:
    messages: list[ChatCompletionMessageParam] = [
        {"role": "user", "content": LIGHTHOUSE_QUESTION},
        {"role": "assistant", "content": "It was built by the engineer Orsolya Quill. [1]"},
        {"role": "user", "content": "And how many steps does its keeper climb?"},
    ]
    reply = client.chat.completions.create(model=MODEL, messages=messages)
    assert "212 steps" in (reply.choices[0].message.content or "")


def test_a_stream_says_what_the_whole_reply_says(client: OpenAI) -> None:
    messages = asking(LIGHTHOUSE_QUESTION)
    whole = client.chat.completions.create(model=MODEL, messages=messages).choices[0].message
    stream = client.chat.completions.create(
        model=MODEL, messages=messages, stream=True, stream_options={"include_usage": True}
    )
    chunks = list(stream)
    deltas = [choice.delta.model_dump() for chunk in chunks for choice in chunk.choices]
    assert "".join(delta["content"] or "" for delta in deltas) == whole.content
    streamed = [one for delta in deltas for one in delta.get("annotations") or ()]
    annotations: list[Any] = whole.model_dump()["annotations"]
    assert [one["file_citation"] for one in streamed] == [
        one["file_citation"] for one in annotations
    ]
    assert deltas[0]["role"] == "assistant"
    assert chunks[-2].choices[0].finish_reason == "stop"
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.total_tokens > 0


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_an_abstention_is_said_plainly(client: OpenAI, stream: bool) -> None:
    asked = asking("Zxqv blorptang fnimble wuzzlethorp?")
    reply: Any = client.chat.completions.create(model=MODEL, messages=asked, stream=stream)
    if stream:
        parts = [choice.delta.content or "" for chunk in reply for choice in chunk.choices]
        assert "".join(parts) == NOTHING_NEAR
    else:
        assert reply.choices[0].message.content == NOTHING_NEAR
        assert reply.choices[0].message.annotations == []


@pytest.mark.parametrize("model", ["gpt-4o", "pkb/absent", "default"])
def test_an_unknown_model_is_not_found(client: OpenAI, model: str) -> None:
    with pytest.raises(NotFoundError) as caught:
        client.chat.completions.create(model=model, messages=asking("Who?"))
    assert (caught.value.code, caught.value.param) == ("model_not_found", "model")
    assert caught.value.type == "invalid_request_error"


def test_embeddings_are_the_embedders(client: OpenAI) -> None:
    texts = ["rye bread", "a lighthouse"]
    reply = client.embeddings.create(model=EMBEDDER, input=texts)  # the client asks for base64
    given = np.array([row.embedding for row in reply.data], np.float32)
    assert [row.index for row in reply.data] == [0, 1]
    assert np.allclose(given, get_embedder(EMBEDDER).embed_passages(texts), atol=1e-5)
    assert reply.usage.total_tokens > 2
    short = client.embeddings.create(model=EMBEDDER, input=texts[0], dimensions=16).data[0]
    assert np.allclose(short.embedding, given[0, :16] / np.linalg.norm(given[0, :16]), atol=1e-5)


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"input": [1, 2, 3]}, "input"),
        ({"input": [[1, 2], [3]]}, "input"),
        ({"input": ["text", " "]}, "input"),
        ({"input": "text", "dimensions": 385}, "dimensions"),
    ],
    ids=["tokens", "lists-of-tokens", "blank", "too-many-dimensions"],
)
def test_what_cannot_be_embedded_is_refused(
    client: OpenAI, fields: dict[str, Any], param: str
) -> None:
    with pytest.raises(BadRequestError) as caught:
        client.embeddings.create(model=EMBEDDER, **fields)
    assert caught.value.param == param


def chat(api: Api, **fields: Any) -> Any:
    body = {"model": MODEL, "messages": [{"role": "user", "content": "Who built it?"}], **fields}
    return api.post("/v1/chat/completions", body)


IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}


@pytest.mark.parametrize(
    "fields",
    [
        {"messages": []},
        {"messages": "hello"},
        {"messages": [{"role": "assistant", "content": "Hello."}]},
        {"messages": [{"role": "user", "content": " "}]},
        {"messages": [{"role": "user", "content": [IMAGE]}]},
        {"messages": [{"role": "user", "content": 5}]},
        {"messages": [{"role": "user", "content": "x" * 2_001}]},
        {"messages": [{"role": "wizard", "content": "Who?"}]},
        {"n": 2},
        {"stream": "perhaps"},
    ],
    ids=["none", "string", "no-user", "blank", "image", "number", "long", "role", "n", "stream"],
)
def test_a_bad_completion_is_refused(
    api: Api, collection: Collection, fields: dict[str, Any]
) -> None:
    response = chat(api, **fields)
    assert response.status_code == 400
    error = response.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["type"] == "invalid_request_error"
    assert error["param"].startswith(next(iter(fields)))


@pytest.mark.parametrize("accept", ["text/event-stream", "image/png", "application/json"])
def test_a_completion_does_not_depend_on_accept(
    api: Api, collection: Collection, accept: str
) -> None:
    body = {
        "model": MODEL,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Who?"}]}],
    }
    reply = api.post("/v1/chat/completions", body, headers={"Accept": accept})
    assert reply.status_code == 200
    assert reply.json()["choices"][0]["message"]["content"] == NOTHING_NEAR


def test_a_failing_model_is_an_event_of_the_stream(
    api: Api, collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: Any, **kwargs: Any) -> None:
        raise BackendUnavailable("The model does not answer.")

    monkeypatch.setattr("qa.api.openai.replies.answer_question", fail)
    assert chat(api).status_code == 503
    with pytest.warns(Warning, match="asynchronous iterators"):
        body = b"".join(chat(api, stream=True)).decode()
    assert '"code": "backend_unavailable"' in body
    assert "[DONE]" not in body


QUINCES = ["The ferry carries mail.", {"text": "The orchard grows quinces."}, BAKERY]


def rerank(api: Api, **fields: Any) -> Any:
    body = {"query": "Which place grows quinces?", "documents": QUINCES, **fields}
    return api.post("/v1/rerank", body)


def test_documents_are_reranked(api: Api, db: None) -> None:
    body = rerank(api).json()
    scores = [result["relevance_score"] for result in body["results"]]
    assert body["results"][0]["index"] == 1
    assert sorted(scores, reverse=True) == scores
    assert 0 <= min(scores) <= max(scores) <= 1
    assert "document" not in body["results"][0]
    best = rerank(api, top_n=1, return_documents=True, model="answerai-colbert-small-v1").json()
    assert [result["document"] for result in best["results"]] == [QUINCES[1]]


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"documents": []}, 400),
        ({"documents": [5]}, 400),
        ({"documents": [{"title": "x"}]}, 400),
        ({"top_n": 0}, 400),
        ({"query": ""}, 400),
        ({"documents": [{"text": ""}]}, 400),
        ({"documents": [{"text": " \f"}]}, 400),
        ({"model": "rerank-v9"}, 404),
    ],
    ids=["none", "number", "no-text", "top-n", "query", "empty-text", "blank-text", "model"],
)
def test_a_bad_rerank_is_refused(api: Api, db: None, fields: dict[str, Any], status: int) -> None:
    response = rerank(api, **fields)
    assert response.status_code == status
    assert "error" in response.json()


def test_other_doors_keep_their_errors(api: Api, db: None) -> None:
    assert api.get("/v1/nothing").json()["status_code"] == 404
    assert api.get("/collections/absent").json()["error"] == "collection_not_found"


def test_more_text_than_the_models_take_at_once_is_400(api: Api, settings: Any) -> None:
    settings.PKB_MODEL_INPUT_CHARS = 100
    texts = ["rye bread " * 3, "a ferry " * 10]
    embedding = {"model": EMBEDDER, "input": texts}
    ranking = {"query": "mail", "documents": [texts[0], {"text": texts[1]}]}
    for path, body in {"embeddings": embedding, "rerank": ranking}.items():
        response = api.post(f"/v1/{path}", body)
        assert response.status_code == 400
        assert "at most 100 are allowed" in response.json()["error"]["message"]
