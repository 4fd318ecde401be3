"""Replies in the format of OpenAI's responses, complete or streamed."""

import json
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from itertools import count
from time import time
from typing import Any

from asgiref.sync import sync_to_async

from corpus.errors import PkbError
from qa.api.openai.chat_answers import Reply
from qa.api.openai.reply_text import Cited

# A response has one message, and that one part.
_PLACE = {"output_index": 0, "content_index": 0}
# These parameters have no effect and are not reported as applied.
_UNUSED: dict[str, Any] = {
    "error": None, "incomplete_details": None, "instructions": None, "metadata": {},
    "parallel_tool_calls": False, "previous_response_id": None, "store": False,
    "temperature": None, "tool_choice": "none", "tools": [], "top_p": None, "usage": None,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ResponseShape:
    """The fields that all parts of one response share.

    Attributes:
        key: Suffix of the ids of the response and its message.
        created_at: Unix time in seconds.
        model: As the request names it.
    """

    key: str
    created_at: int
    model: str

    @property
    def message_id(self) -> str:
        return f"msg_{self.key}"

    def whole(self, reply: Reply) -> dict[str, Any]:
        output = [self.message("completed", [_output_text(reply)])]
        return self.body("completed", output=output, usage=_usage(reply))

    def body(self, status: str, **fields: Any) -> dict[str, Any]:
        return {
            **_UNUSED,
            "id": f"resp_{self.key}",
            "object": "response",
            "created_at": self.created_at,
            "model": self.model,
            "status": status,
            "output": [],
            **fields,
        }

    def message(self, status: str, content: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            "id": self.message_id,
            "type": "message",
            "role": "assistant",
            "status": status,
            "content": content,
        }


def begin_response(key: str, *, model: str) -> ResponseShape:
    return ResponseShape(key, int(time()), model)


async def stream_response(
    answer: Callable[[], Reply], *, shape: ResponseShape
) -> AsyncIterator[bytes]:
    """Yield the events of a reply; no text is sent before all of it is verified."""
    numbers = count()

    def as_event(kind: str, **fields: Any) -> bytes:
        body = {"type": kind, "sequence_number": next(numbers), **fields}
        return f"event: {kind}\ndata: {json.dumps(body, ensure_ascii=False)}\n\n".encode()

    for kind in ("created", "in_progress"):
        yield as_event(f"response.{kind}", response=shape.body("in_progress"))
    try:
        reply = await sync_to_async(answer)()
    except PkbError as exc:
        error = {"code": "server_error", "message": str(exc) or exc.title}
        yield as_event("response.failed", response=shape.body("failed", error=error))
        return
    for kind, fields in _events_of(reply, shape):
        yield as_event(kind, **fields)


def _events_of(reply: Reply, shape: ResponseShape) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield kind and fields of the events after a response has been created."""
    text = _output_text(reply)
    begun, done = shape.message("in_progress", []), shape.message("completed", [text])
    part = {**_PLACE, "item_id": shape.message_id}
    yield "response.output_item.added", {"output_index": 0, "item": begun}
    empty = {**text, "text": "", "annotations": []}
    yield "response.content_part.added", {**part, "part": empty}
    yield from _text_events(reply, part)
    yield "response.output_text.done", {**part, "text": reply.text, "logprobs": []}
    yield "response.content_part.done", {**part, "part": text}
    yield "response.output_item.done", {"output_index": 0, "item": done}
    yield "response.completed", {"response": shape.whole(reply)}


def _text_events(reply: Reply, part: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    numbers = count()
    for said in reply.parts:
        yield "response.output_text.delta", {**part, "delta": said.text, "logprobs": []}
        if said.cited:
            annotation = _annotation(said.cited)
            numbered = {"annotation_index": next(numbers), "annotation": annotation}
            yield "response.output_text.annotation.added", {**part, **numbered}


def _output_text(reply: Reply) -> dict[str, Any]:
    annotations = [_annotation(cited) for cited in reply.cited]
    return {"type": "output_text", "text": reply.text, "annotations": annotations, "logprobs": []}


def _annotation(cited: Cited) -> dict[str, Any]:
    """Cite a web page by its URL, and any other document by its id."""
    source = cited.source
    span = {
        "file_id": source.document_id,
        "quote": source.quote,
        "start_index": cited.start,
        "end_index": cited.end,
    }
    if source.source_uri.startswith(("https://", "http://")):
        return {"type": "url_citation", "url": source.source_uri, "title": source.name, **span}
    return {"type": "file_citation", "filename": source.name, "index": cited.end, **span}


def _usage(reply: Reply) -> dict[str, Any]:
    return {
        "input_tokens": reply.prompt_tokens,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": reply.completion_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": reply.prompt_tokens + reply.completion_tokens,
    }
