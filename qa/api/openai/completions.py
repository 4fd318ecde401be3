"""Replies in the format of OpenAI's chat completions, complete or streamed."""

import json
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from time import time
from typing import Any

from asgiref.sync import sync_to_async

from corpus.errors import PkbError
from qa.api.openai.chat_answers import Reply
from qa.api.openai.openai_errors import openai_error
from qa.api.openai.reply_text import Cited

DONE = b"data: [DONE]\n\n"


@dataclass(frozen=True, slots=True)
class Completion:
    """The fields that all parts of one reply share.

    Attributes:
        created: Unix time in seconds.
        model: As the request names it.
    """

    id: str
    created: int
    model: str

    def whole(self, reply: Reply) -> dict[str, Any]:
        message = {
            "role": "assistant",
            "content": reply.text,
            "refusal": None,
            "annotations": [_annotation(cited) for cited in reply.cited],
        }
        choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
        return {**self._head("chat.completion"), "choices": [choice], "usage": _usage(reply)}

    def chunk(self, delta: dict[str, Any], *, finish_reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish_reason, "logprobs": None}
        return as_event({**self._head("chat.completion.chunk"), "choices": [choice]})

    def usage_chunk(self, reply: Reply) -> bytes:
        head = self._head("chat.completion.chunk")
        return as_event({**head, "choices": [], "usage": _usage(reply)})

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}


def as_event(body: dict[str, Any]) -> bytes:
    """Return one server-sent event."""
    return b"data: " + json.dumps(body, ensure_ascii=False).encode() + b"\n\n"


def part_deltas(reply: Reply) -> Iterator[dict[str, Any]]:
    """Yield the delta of each part of the reply."""
    for part in reply.parts:
        annotated = {"annotations": [_annotation(part.cited)]} if part.cited else {}
        yield {"content": part.text, **annotated}


def _annotation(cited: Cited) -> dict[str, Any]:
    return {
        "type": "file_citation",
        "file_citation": {
            "file_id": cited.source.document_id,
            "filename": cited.source.name,
            "quote": cited.source.quote,
            "start_index": cited.start,
            "end_index": cited.end,
        },
    }


def _usage(reply: Reply) -> dict[str, int]:
    return {
        "prompt_tokens": reply.prompt_tokens,
        "completion_tokens": reply.completion_tokens,
        "total_tokens": reply.prompt_tokens + reply.completion_tokens,
    }


def begin_completion(answer_id: str, *, model: str) -> Completion:
    return Completion(f"chatcmpl-{answer_id}", int(time()), model)


async def stream_completion(
    answer: Callable[[], Reply], *, completion: Completion, with_usage: bool
) -> AsyncIterator[bytes]:
    """Yield the events of a reply; no text is sent before all of it is verified."""
    yield completion.chunk({"role": "assistant", "content": ""})
    try:
        reply = await sync_to_async(answer)()
    except PkbError as exc:
        problem = {"status": exc.status, "detail": str(exc) or exc.title, "error": exc.code}
        yield as_event(openai_error(problem))
        return
    for delta in part_deltas(reply):
        yield completion.chunk(delta)
    yield completion.chunk({}, finish_reason="stop")
    if with_usage:
        yield completion.usage_chunk(reply)
    yield DONE
