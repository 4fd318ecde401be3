"""Collect a streamed reply of a language model, and report it while it is being written."""

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

from dspy import lm15

OnText = Callable[[str], None]
"""Receives the text of a reply, as far as it is written."""

# About ten times the longest draft; each call passes the whole text again.
MAX_STREAMED_CHARS = 20_000


def collect_reply(events: Any, request: Any, *, on_text: OnText) -> Any:
    """Return the ``lm15.Response`` of a stream; report the text while it arrives."""
    return lm15.materialize_response(_forward_text(events, on_text), request)


def _forward_text(events: Any, on_text: OnText) -> Iterator[Any]:
    text = ""
    with closing(events):
        for event in events:
            if event.type == "delta" and event.delta.type == "text":
                text += event.delta.text
                if len(text) <= MAX_STREAMED_CHARS:
                    on_text(text)
            yield event
