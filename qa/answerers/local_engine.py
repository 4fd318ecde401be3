"""Run a GGUF file in this process through llama.cpp, as a DSPy engine with a deadline."""

import atexit
import math
import os
import re
import secrets
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Self, cast

from dspy import lm15

from qa.answerers.streamed_reply import OnText, collect_reply
from qa.concurrency import cancellation

CONTEXT_TOKENS = 4_096
# llama.cpp is stopped between batches; larger ones read a prompt only a few per cent faster.
BATCH_TOKENS = 64
STOP_TIMEOUT_S = 30.0
WARM_UP = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1}

# llama.cpp reads these as the model's own control tokens wherever they stand, so that a passage
# could end the user's turn and speak as the system.
_CONTROL_TOKEN = re.compile(r"<(?=\||/?s>|(?:start|end)_of_turn>|/?think>)|\[(?=/?INST\])")


@dataclass(frozen=True)
class ModelFile:
    """A GGUF file and how to run it.

    Attributes:
        threads: 0 for one a core but one: llama.cpp's threads wait for each other, so that a
            single busy core slows all of them several times over.
        context_tokens: Prompt and answer together.
    """

    path: Path
    threads: int = 0
    context_tokens: int = CONTEXT_TOKENS

    @property
    def thread_count(self) -> int:
        return self.threads or max(1, (os.cpu_count() or 2) - 1)


# A model is hundreds of megabytes and answers one request at a time: one is held per process.
_turn = threading.Lock()
_held: dict[ModelFile, Any] = {}
_is_exiting = threading.Event()


class LocalEngine:
    """One model file; ``until`` gives it the deadline of one answer."""

    def __init__(
        self, model: ModelFile, *, deadline: float = math.inf, on_text: OnText | None = None
    ) -> None:
        self._model = model
        self._deadline = deadline
        self._on_text = on_text

    def until(self, deadline: float, *, on_text: OnText | None = None) -> Self:
        """Return an engine of the same model that ends by this ``time.monotonic()``.

        Args:
            on_text: Called with each reply while it is written.
        """
        return type(self)(self._model, deadline=deadline, on_text=on_text)

    @property
    def is_loaded(self) -> bool:
        return self._model in _held

    def load(self) -> None:
        """Bring the model into memory; load after a fork, never before."""
        with _turn:
            _server_of(self._model)

    def complete(self, request: Any) -> Any:
        """Answer one ``lm15.Request`` with one ``lm15.Response``."""
        if self._on_text is None:
            return lm15.materialize_response(self.stream(request), request)
        return collect_reply(self.stream(request), request, on_text=self._on_text)

    def stream(self, request: Any) -> Generator[Any, None, None]:
        """Yield lm15's stream events; closing the iterator stops the model."""
        finish_reason, usage = "stop", lm15.Usage()
        yield lm15.StreamStartEvent(model=request.model)
        for event in _generate(self._model, _body(request), self._deadline):
            if "error" in event:
                raise _error(event["error"])
            for choice in event.get("choices") or []:
                if text := choice["delta"].get("content"):
                    yield lm15.StreamDeltaEvent(delta=lm15.TextDelta(text=text))
                finish_reason = choice["finish_reason"] or finish_reason
            if used := event.get("usage"):
                usage = lm15.Usage(used["prompt_tokens"], used["completion_tokens"])
        yield lm15.StreamEndEvent(finish_reason=finish_reason, usage=usage)

    def close(self) -> None:
        with _turn:
            _held.pop(self._model, None)


def _generate(
    model: ModelFile, body: dict[str, Any], deadline: float
) -> Generator[dict[str, Any], None, None]:
    """Yield what llama.cpp streams, until the deadline.

    It runs in a thread of its own: its call returns only when it is done, and would swallow an
    interrupt from the keyboard.
    """
    has_left = cancellation()
    if not _turn.acquire(timeout=_seconds_until(deadline)):
        raise lm15.TimeoutError("the local model was busy until the deadline")
    if has_left.is_set():
        _turn.release()
        raise lm15.TimeoutError("nobody waits for the local model's answer any more")
    events: SimpleQueue[Any] = SimpleQueue()
    is_over = threading.Event()
    stops = (is_over.is_set, _is_exiting.is_set, has_left.is_set)
    threading.Thread(target=_run, args=(model, body, events, stops), daemon=True).start()
    try:
        while (event := events.get(timeout=_seconds_until(deadline))) is not None:
            if isinstance(event, Exception):
                raise event
            yield event
    except Empty:
        raise lm15.TimeoutError("the local model was cut off at the deadline") from None
    finally:
        is_over.set()


def _run(
    model: ModelFile,
    body: dict[str, Any],
    events: SimpleQueue[Any],
    stops: Sequence[Callable[[], bool]],
) -> None:
    """Run one request to its end, or until one of ``stops`` says so, then end the turn."""

    def take(event: dict[str, Any]) -> bool:
        events.put(event)
        return any(stop() for stop in stops)

    try:
        _server_of(model).handle_chat_completions(body, take)
    except (lm15.LM15Error, RuntimeError, ValueError) as exc:
        events.put(exc)
    finally:
        _turn.release()
        events.put(None)


def _seconds_until(deadline: float) -> float:
    return min(max(deadline - time.monotonic(), 0.0), threading.TIMEOUT_MAX)


def _error(error: dict[str, Any]) -> Exception:
    is_too_long = error.get("type") == "exceed_context_size_error"
    kind = lm15.ContextLengthError if is_too_long else lm15.ServerError
    return cast("Exception", kind(str(error.get("message", ""))))


def _server_of(model: ModelFile) -> Any:
    if model not in _held:
        _held.clear()
        _held[model] = _start(model)
    return _held[model]


def _start(model: ModelFile) -> Any:
    """Load the model. llama.cpp insists on an HTTP server: it gets a socket nobody can open."""
    try:
        import xllamacpp  # noqa: PLC0415  (100 MB, and only where PKB_LM is a local model)
    except ImportError as exc:
        raise lm15.ConfigurationError("the package xllamacpp cannot be imported") from exc
    with tempfile.TemporaryDirectory(prefix="pkb-lm-") as folder:
        parameters = _parameters(xllamacpp.CommonParams(), model)
        parameters.hostnames = [str(Path(folder) / "closed.sock")]
        try:
            server = xllamacpp.Server(parameters)
            # Reads the weights in. And a server that never ran anything cannot be dropped: it
            # would wait for its loop for ever, with Python's lock in its hand.
            server.handle_chat_completions(WARM_UP)
        except (RuntimeError, ValueError) as exc:
            raise lm15.ConfigurationError(f"{model.path.name} cannot be loaded") from exc
    atexit.register(_stop)
    return server


def _stop() -> None:
    """Stop what runs: llama.cpp aborts a process that ends while it calls back into Python."""
    _is_exiting.set()
    if _turn.acquire(timeout=STOP_TIMEOUT_S):
        _held.clear()


def _parameters(parameters: Any, model: ModelFile) -> Any:
    parameters.model.path = str(model.path)
    parameters.n_ctx = model.context_tokens
    parameters.n_batch = parameters.n_ubatch = BATCH_TOKENS
    parameters.n_parallel = parameters.n_threads_http = 1
    parameters.cpuparams.n_threads = model.thread_count
    parameters.cpuparams_batch.n_threads = model.thread_count
    parameters.warmup = parameters.ui = False
    parameters.endpoint_slots = parameters.endpoint_props = False
    parameters.offline = True
    parameters.api_keys = [secrets.token_hex()]
    parameters.cache_ram_mib = 0  # else up to 8 GiB of old prompts
    parameters.verbosity = -1
    return parameters


def _body(request: Any) -> dict[str, Any]:
    system = [{"role": "system", "content": request.system}] if request.system else []
    turns = [{"role": turn.role, "content": _defuse(turn.text or "")} for turn in request.messages]
    body = {
        "messages": [*system, *turns],
        "temperature": request.config.temperature or 0.0,
        "stream": True,
        "stream_options": {"include_usage": True},
        "return_progress": True,  # an event a batch of the prompt, so that it can be stopped there
        "chat_template_kwargs": {"enable_thinking": False},
    }
    if request.config.max_tokens:
        body["max_tokens"] = request.config.max_tokens
    if wanted := request.config.response_format:
        inner = {"name": "answer", "schema": wanted.get("schema", {})}
        body["response_format"] = {"type": wanted["type"], "json_schema": inner}
    return body


def _defuse(text: str) -> str:
    return _CONTROL_TOKEN.sub(lambda found: f"{found[0]} ", text)
