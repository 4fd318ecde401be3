"""/v1/responses as OpenAI's own client sees it."""

import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from openai import BadRequestError, NotFoundError, OpenAI
from openai.types.responses import Response, ResponseInputParam, ResponseStreamEvent
from pydantic import TypeAdapter

from corpus.endpoints import Cost
from corpus.errors import BackendUnavailable
from corpus.models import Collection
from pkb.http.endpoint_lookup import find_endpoint
from qa.notices import NOTHING_NEAR
from tests.support.client import Api
from tests.support.documents import LIGHTHOUSE, LIGHTHOUSE_QUESTION, Ingest

# The server of these tests is a thread with WSGI.
pytestmark = pytest.mark.filterwarnings("ignore:StreamingHttpResponse must consume")

MODEL = "pkb/default"
UNKNOWN = "Zxqv blorptang fnimble wuzzlethorp?"
# Who asked before, and what was said.
BEFORE: ResponseInputParam = [
    {"role": "developer", "content": "Be brief."},
    {"role": "user", "content": [{"type": "input_text", "text": LIGHTHOUSE_QUESTION}]},
    {
        "type": "message", "id": "msg_1", "status": "completed", "role": "assistant",
        "content": [{
            "type": "output_text", "annotations": [],
            "text": "It was built by the engineer Orsolya Quill. [1]",
        }],
    },
    {"type": "reasoning", "id": "rs_1", "summary": []},
    {"role": "user", "content": "And how many steps does its keeper climb?"},
]  # fmt: skip


@pytest.fixture
def client(live_server: Any, ingest: Ingest) -> Iterator[OpenAI]:
    ingest(LIGHTHOUSE, title="Coast")
    with OpenAI(base_url=f"{live_server.url}/v1", api_key="unused", max_retries=0) as opened:
        yield opened


def annotations_of(response: Response) -> list[Any]:
    (message,) = response.output
    assert message.type == "message"
    (part,) = message.content
    assert part.type == "output_text"
    return [annotation.model_dump() for annotation in part.annotations]


def test_a_response_cites_what_it_says(client: OpenAI, live_server: Any) -> None:
    response = client.responses.create(
        model=MODEL, input=LIGHTHOUSE_QUESTION, instructions="Rhyme.", temperature=2
    )
    text = response.output_text
    assert (response.status, response.model, response.error) == ("completed", MODEL, None)
    assert "Orsolya Quill" in text
    assert "[1]" in text
    cited = annotations_of(response)[0]
    assert (cited["type"], cited["filename"]) == ("file_citation", "Coast")
    assert text[cited["start_index"] : cited["end_index"]] == cited["quote"]
    assert text[cited["index"] :].startswith(" [1]")
    stored = httpx2.get(f"{live_server.url}/documents/{cited['file_id']}/text").json()["text"]
    assert cited["quote"] in stored
    answer_id = response.id.removeprefix("resp_")
    assert httpx2.get(f"{live_server.url}/answers/{answer_id}").status_code == 200
    # What was asked for and is not in force is not said to be.
    assert (response.instructions, response.temperature, response.tools) == (None, None, [])
    usage = response.usage
    assert usage is not None
    assert usage.total_tokens == usage.input_tokens + usage.output_tokens > usage.input_tokens


def test_a_web_page_is_cited_by_its_address(client: OpenAI, ingest: Ingest) -> None:
    page = "The windmill at Orrin was bought in 1911 by the miller Tove Askeland from Bergen."
    ingest(page, title="Orrin", source_uri="https://orrin.example/mill")
    response = client.responses.create(model=MODEL, input="Who bought the windmill at Orrin?")
    cited = annotations_of(response)[0]
    assert (cited["type"], cited["title"]) == ("url_citation", "Orrin")
    assert cited["url"] == "https://orrin.example/mill"
    assert response.output_text[cited["start_index"] : cited["end_index"]] == cited["quote"]


def test_a_follow_up_is_completed_from_the_items_before(client: OpenAI) -> None:
    response = client.responses.create(model=MODEL, input=BEFORE)
    assert "212 steps" in response.output_text


def test_a_stream_says_what_the_whole_response_says(client: OpenAI) -> None:
    whole = client.responses.create(model=MODEL, input=LIGHTHOUSE_QUESTION)
    with client.responses.stream(model=MODEL, input=LIGHTHOUSE_QUESTION) as stream:
        events = list(stream)
        last = stream.get_final_response()
    said = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    assert said == whole.output_text == last.output_text
    assert annotations_of(last) == annotations_of(whole)
    added = [
        event.annotation
        for event in events
        if event.type == "response.output_text.annotation.added"
    ]
    assert added == annotations_of(whole)


def test_the_events_of_a_stream_are_those_of_the_sdk(client: OpenAI, live_server: Any) -> None:
    body = {"model": MODEL, "input": LIGHTHOUSE_QUESTION, "stream": True}
    reply = httpx2.post(f"{live_server.url}/v1/responses", json=body)
    assert reply.headers["Content-Type"] == "text/event-stream"
    lines = [block.split("\n") for block in reply.text.strip().split("\n\n")]
    told = [json.loads(data.removeprefix("data: ")) for _, data in lines]
    assert [name for name, _ in lines] == [f"event: {event['type']}" for event in told]
    assert [event["sequence_number"] for event in told] == list(range(len(told)))
    strict: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
    events = [strict.validate_python(event) for event in told]
    kinds = [event.type.removeprefix("response.") for event in events]
    assert kinds == [
        "created", "in_progress", "output_item.added", "content_part.added",
        "output_text.delta", "output_text.annotation.added", "output_text.delta",
        "output_text.done", "content_part.done", "output_item.done", "completed",
    ]  # fmt: skip
    ids = {event.item_id for event in events if hasattr(event, "item_id")}
    assert ids == {events[-1].response.output[0].id}
    assert events[0].response.id == events[-1].response.id


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_an_abstention_is_said_plainly(client: OpenAI, stream: bool) -> None:
    reply: Any = client.responses.create(model=MODEL, input=UNKNOWN, stream=stream)
    response = list(reply)[-1].response if stream else reply
    assert response.output_text == NOTHING_NEAR
    assert annotations_of(response) == []


def test_an_unknown_model_is_not_found(client: OpenAI) -> None:
    with pytest.raises(NotFoundError) as caught:
        client.responses.create(model="gpt-4o", input="Who?")
    assert (caught.value.code, caught.value.param) == ("model_not_found", "model")


def test_what_is_not_kept_cannot_be_continued(client: OpenAI) -> None:
    first = client.responses.create(model=MODEL, input=LIGHTHOUSE_QUESTION)
    with pytest.raises(BadRequestError, match="send the messages before this one in `input`") as no:
        client.responses.create(model=MODEL, input="And when?", previous_response_id=first.id)
    assert no.value.param == "previous_response_id"


IMAGE = {"type": "input_image", "image_url": "data:image/png;base64,AA=="}


@pytest.mark.parametrize(
    "fields",
    [
        {"input": ""},
        {"input": []},
        {"input": 5},
        {"input": ["Who?"]},
        {"input": [{"type": "reasoning"}]},
        {"input": [{"type": "item_reference", "id": "msg_1"}]},
        {"input": [{"role": "assistant", "content": "Hello."}]},
        {"input": [{"role": "user", "content": [IMAGE]}]},
        {"input": [{"role": "user", "content": [{"type": ["input_text"], "text": "Who?"}]}]},
        {"input": [{"role": "user", "content": None}]},
        {"input": [{"role": "wizard", "content": "Who?"}]},
        {"input": "x" * 2_001},
        {"conversation": "conv_1"},
        {"background": True},
        {"stream": "perhaps"},
    ],
    ids=lambda fields: json.dumps(fields)[:60],
)
def test_a_bad_response_is_refused(
    api: Api, collection: Collection, fields: dict[str, Any]
) -> None:
    body = {"model": MODEL, "input": "Who built it?", **fields}
    reply = api.post("/v1/responses", body)
    assert reply.status_code == 400
    error = reply.json()["error"]
    assert error["type"] == "invalid_request_error"
    assert error["param"].startswith(next(iter(fields)))


def test_a_failing_model_ends_the_stream_as_failed(
    api: Api, collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: Any, **kwargs: Any) -> None:
        raise BackendUnavailable("The model does not answer.")

    monkeypatch.setattr("qa.api.openai.replies.answer_question", fail)
    body = {"model": MODEL, "input": "Who built it?"}
    assert api.post("/v1/responses", body).status_code == 503
    reply: Any = api.post("/v1/responses", {**body, "stream": True})
    last = b"".join(reply).decode().strip().split("\n\n")[-1]
    assert last.startswith("event: response.failed\n")
    assert "The model does not answer." in last


def test_a_response_takes_a_place_of_an_answer() -> None:
    assert find_endpoint("POST", "/v1/responses").cost == Cost.ANSWER
