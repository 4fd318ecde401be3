"""A proved answer as OpenAI's clients read it: marked text, annotations, chunks of a stream."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from qa.types import Answer, Citation

ABSTENTION = "The documents do not hold an answer to this question."
DONE = b"data: [DONE]\n\n"


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of the text; its annotation is about the part that the piece ends with."""

    text: str
    annotation: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """What the parts of one reply have in common.

    Attributes:
        created: Seconds since 1970.
        model: As the request names it.
    """

    id: str
    created: int
    model: str

    def whole(self, pieces: Sequence[Piece], usage: dict[str, int]) -> dict[str, Any]:
        message = {
            "role": "assistant",
            "content": "".join(piece.text for piece in pieces),
            "refusal": None,
            "annotations": [piece.annotation for piece in pieces if piece.annotation],
        }
        choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
        return {**self._head("chat.completion"), "choices": [choice], "usage": usage}

    def chunk(self, delta: dict[str, Any], *, finish_reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish_reason, "logprobs": None}
        return as_event({**self._head("chat.completion.chunk"), "choices": [choice]})

    def usage_chunk(self, usage: dict[str, int]) -> bytes:
        head = self._head("chat.completion.chunk")
        return as_event({**head, "choices": [], "usage": usage})

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}


def as_event(body: dict[str, Any]) -> bytes:
    """Return one server-sent event."""
    return b"data: " + json.dumps(body, ensure_ascii=False).encode() + b"\n\n"


def as_pieces(answer: Answer) -> list[Piece]:
    """Cut the answer after each cited part and set the marker there: ``[1]`` is the first."""
    return list(_cut(answer)) if answer.text else [Piece(ABSTENTION)]


def piece_deltas(pieces: Sequence[Piece]) -> Iterator[dict[str, Any]]:
    """What a stream says of each piece."""
    for piece in pieces:
        annotated = {"annotations": [piece.annotation]} if piece.annotation else {}
        yield {"content": piece.text, **annotated}


def _cut(answer: Answer) -> Iterator[Piece]:
    ordered = sorted(answer.citations, key=lambda citation: citation.answer_end)
    markers = [f" [{number}]" for number in range(1, len(ordered) + 1)]
    at = 0
    for citation, marker in zip(ordered, markers, strict=True):
        # Markers that stand before the cited part move it.
        start = citation.answer_start + sum(
            len(earlier)
            for other, earlier in zip(ordered, markers, strict=True)
            if other.answer_end <= citation.answer_start
        )
        end = start + citation.answer_end - citation.answer_start
        text = answer.text[at : citation.answer_end] + marker
        yield Piece(text, _annotation(citation, start=start, end=end))
        at = citation.answer_end
    if rest := answer.text[at:]:
        yield Piece(rest)


def _annotation(citation: Citation, *, start: int, end: int) -> dict[str, Any]:
    return {
        "type": "file_citation",
        "file_citation": {
            "file_id": citation.passage.document_id,
            "filename": citation.passage.name,
            "quote": citation.quote,
            "start_index": start,
            "end_index": end,
        },
    }
