"""Call a server that speaks OpenAI's chat protocol, as a DSPy engine with a deadline.

lm15, which comes with DSPy, speaks the protocol; litellm is never imported. ``engine="lm15"``
would work, but it limits only the wait for each byte, so a server that drips bytes never times out;
it also reads the environment and keeps the key among the LM's arguments.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from copy import copy
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import Any, Self

from dspy import lm15

from qa.answerers.lm_settings import DIALECTS
from qa.concurrency import cancellation

OnText = Callable[[str], None]
"""Receives the text of a reply, as far as it is written."""

CONNECT_TIMEOUT_S = 10.0
# About ten times the longest draft; each call of an ``OnText`` passes the whole text again.
MAX_STREAMED_CHARS = 20_000
MAX_REPLY_BYTES = 2 * 2**20
EVENT_STREAM = "text/event-stream"
FIRST_FAILURE = 400


class RemoteEngine:
    """One server and model; ``until`` sets the deadline of one answer."""

    def __init__(self, model: str, *, api_base: str = "", api_key: str = "") -> None:
        """Use ``openai/...`` or ``ollama_chat/...`` at ``api_base``, the server's root URL."""
        prefix, _, self._model = model.partition("/")
        root = api_base.rstrip("/")
        if prefix == "ollama_chat" and root and not root.endswith("/v1"):
            root = f"{root}/v1"  # Ollama's own API is at the root, the OpenAI-compatible one here
        address = {"base_url": root} if api_base else {}
        key = api_key or "none"  # servers without keys still expect the header
        self._make_engine = partial(
            lm15.OpenAIChatLM, api_key=key, compat=DIALECTS[prefix], **address
        )
        self._transport: Any = self._make_engine().transport
        self._deadline = self._timeout_s = float("inf")
        self._on_text: OnText | None = None

    def until(self, deadline: float, *, on_text: OnText | None = None) -> Self:
        """Return an engine on the same connections that ends by this ``time.monotonic()``.

        Args:
            on_text: Called with each reply while it is being written; without it, none is.
        """
        bounded = copy(self)
        bounded._deadline, bounded._on_text = deadline, on_text
        return bounded

    def each_within(self, timeout_s: float) -> Self:
        """Return an engine on the same connections that gives each request this time."""
        bounded = copy(self)
        bounded._timeout_s = timeout_s
        return bounded

    def with_key(self, api_key: str) -> Self:
        """Return an engine for the same server and model that sends this key."""
        keyed = copy(self)
        keyed._make_engine = partial(self._make_engine, api_key=api_key)
        return keyed

    def complete(self, request: Any) -> Any:
        """Return the ``lm15.Response`` to one ``lm15.Request``."""
        own_request = replace(request, model=self._model)
        deadline = min(self._deadline, time.monotonic() + self._timeout_s)
        is_streamed = self._on_text is not None
        transport = _TimedTransport(self._transport, deadline, is_streamed=is_streamed)
        engine = self._make_engine(transport=transport)
        try:
            if self._on_text is None:
                return engine.complete(own_request)
            try:
                events = _forward_text(engine.stream(own_request), self._on_text)
                return lm15.materialize_response(events, own_request)
            except _NotStreamed:  # some OpenAI-like servers do not know of streams
                return engine.complete(own_request)
        except lm15.StreamAssemblyError as exc:
            raise lm15.TransportError("the reply broke off") from exc
        except lm15.TransportError as exc:
            if time.monotonic() < deadline:
                raise
            raise lm15.TimeoutError("no reply by the deadline") from exc


def _forward_text(events: Any, on_text: OnText) -> Iterator[Any]:
    """Yield the events of a stream, and report its text."""
    text = ""
    with closing(events):
        for event in events:
            if event.type == "delta" and event.delta.type == "text":
                text += event.delta.text
                if len(text) <= MAX_STREAMED_CHARS:
                    on_text(text)
            yield event


class _NotStreamed(Exception):
    """The response to a request for a stream is none."""


class _TimedTransport:
    """A transport with one deadline for connecting, sending and all reads.

    Args:
        is_streamed: A response that is no event stream raises ``_NotStreamed`` at first. The next
            request is then not sent, but gets that response.
    """

    def __init__(self, inner: Any, deadline: float, *, is_streamed: bool) -> None:
        self._inner = inner
        self._deadline = deadline
        self._is_streamed = is_streamed
        self._response: _TimedResponse | None = None

    def stream(self, request: Any) -> "_TimedResponse":
        if self._response is not None:
            return self._response
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise lm15.TimeoutError("the deadline has passed")
        if cancellation().is_set():
            raise lm15.TimeoutError("nobody waits for the answer any more")
        request.connect_timeout = min(left, CONNECT_TIMEOUT_S)
        request.read_timeout = request.write_timeout = min(left, 3_600.0)
        response = _TimedResponse(self._inner.stream(request), self._deadline)
        kinds = [value for name, value in response.headers if name.lower() == "content-type"]
        is_stream = any(kind.lower().startswith(EVENT_STREAM) for kind in kinds)
        if self._is_streamed and response.status < FIRST_FAILURE and not is_stream:
            self._response = response
            raise _NotStreamed
        return response


class _TimedResponse:
    def __init__(self, inner: Any, deadline: float) -> None:
        self._inner = inner
        self._deadline = deadline
        self.status = inner.status
        self.reason = inner.reason
        self.headers = inner.headers
        self.http_version = inner.http_version

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._inner.close()

    def __iter__(self) -> Iterator[bytes]:
        size_bytes = 0
        for chunk in self._inner:
            size_bytes += len(chunk)
            if size_bytes > MAX_REPLY_BYTES:
                raise lm15.ProviderError(f"the reply is over {MAX_REPLY_BYTES} bytes")
            if time.monotonic() > self._deadline:
                raise lm15.TimeoutError("the reply was not complete by the deadline")
            if cancellation().is_set():
                raise lm15.TimeoutError("nobody waits for the answer any more")
            yield chunk

    def read(self) -> bytes:
        return b"".join(self)
