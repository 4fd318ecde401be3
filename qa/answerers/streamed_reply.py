"""A reply of a language model that is heard while it is written."""

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

from dspy import lm15

HearText = Callable[[str], None]
"""Takes the text of a reply, as far as it is written."""

# Some ten times the longest draft; each hearing reads all of it again.
MOST_HEARD_CHARS = 20_000


def collect_reply(events: Any, request: Any, *, hear: HearText) -> Any:
    """Return the ``lm15.Response`` of a stream, and have it heard on the way."""
    return lm15.materialize_response(_told(events, hear), request)


def _told(events: Any, hear: HearText) -> Iterator[Any]:
    text = ""
    with closing(events):
        for event in events:
            if event.type == "delta" and event.delta.type == "text":
                text += event.delta.text
                if len(text) <= MOST_HEARD_CHARS:
                    hear(text)
            yield event
