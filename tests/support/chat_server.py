"""A server on 127.0.0.1 with OpenAI's chat protocol that behaves as a test tells it."""

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from qa.answerers.lm_answerer import LMAnswerer
from qa.grounding.drafts import Claim
from qa.types import Query
from tests.support.passages import passage

KEY = "sk-a-key-that-must-not-be-seen-4711"
QUESTION = "How tall is the tower?"
QUERY = Query(QUESTION, "default")
USAGE = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}

Behaviour = Callable[["Call"], None]
Judge = Callable[[Claim], bool | str]
"""Whether a scripted model accepts a claim that it is asked to check."""


_VERDICTS: dict[Any, str] = {True: "supported", False: "unsupported"}
_ITEM = re.compile(r"^Item \d+\nEvidence: (.*?)\nStatement: ([^\n]*)$", re.DOTALL | re.MULTILINE)


class Call(BaseHTTPRequestHandler):
    """One request: ``body`` is its JSON, ``number`` counts from 1."""

    server: "ChatServer"
    body: dict[str, Any]
    number: int

    def do_POST(self) -> None:
        self.body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.counting:
            self.server.calls.append(self)
            self.number = len(self.server.calls)
        self.server.behaviour(self)

    @property
    def authorization(self) -> str:
        return self.headers.get("Authorization", "")

    @property
    def prompt(self) -> str:
        return "\n".join(message["content"] for message in self.body["messages"])

    @property
    def claims(self) -> list[Claim]:
        """What it asks to check, in order; empty where it asks for something else."""
        if "`verdicts`" not in self.prompt:
            return []
        shown = self.prompt.rpartition("[[ ## items ## ]]\n")[2]
        return [Claim(found[2], evidence=found[1]) for found in _ITEM.finditer(shown)]

    def send(self, status: int, body: str, *, headers: dict[str, str] | None = None) -> None:
        raw = body.encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(raw)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)

    def begin_stream(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()

    def stream(self, text: str) -> None:
        """Send the next piece of a reply."""
        choice = {"index": 0, "delta": {"content": text}, "finish_reason": None}
        self.send_event({"id": "c1", "object": "chat.completion.chunk", "choices": [choice]})

    def end_stream(self, finish_reason: str = "stop") -> None:
        choice = {"index": 0, "delta": {}, "finish_reason": finish_reason}
        for last in ({"choices": [choice]}, {"choices": [], "usage": USAGE}):
            self.send_event({"id": "c1", "object": "chat.completion.chunk", **last})
        self.wfile.write(b"data: [DONE]\n\n")

    def send_event(self, body: dict[str, Any]) -> None:
        self.wfile.write(f"data: {json.dumps(body)}\n\n".encode())
        self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:
        """Stay silent."""


class ChatServer(ThreadingHTTPServer):
    """Keeps every call it got."""

    daemon_threads = True

    def __init__(self, behaviour: Behaviour) -> None:
        super().__init__(("127.0.0.1", 0), Call)
        self.behaviour = behaviour
        self.calls: list[Call] = []
        self.counting = threading.Lock()
        self.released = threading.Event()

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: object, client_ip: object) -> None:
        """A client that went away is part of these tests."""


@contextmanager
def chat_server(behaviour: Behaviour) -> Iterator[ChatServer]:
    with ChatServer(behaviour) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.released.set()
            server.shutdown()
            thread.join()


def chat_reply(text: str) -> str:
    """Return the reply of a chat completion, with a usage of 100 and 20 tokens."""
    choice = {
        "index": 0,
        "finish_reason": "stop",
        "message": {"role": "assistant", "content": text},
    }
    return json.dumps(
        {"id": "c1", "object": "chat.completion", "model": "m", "choices": [choice], "usage": USAGE}
    )


def says(text: str, *, piece_chars: int = 5) -> Behaviour:
    """Say it, as a stream of so many characters a piece to who asks for one."""

    def behave(call: Call) -> None:
        if not call.body.get("stream"):
            call.send(200, chat_reply(text))
            return
        call.begin_stream()
        for start in range(0, len(text), piece_chars):
            call.stream(text[start : start + piece_chars])
        call.end_stream()

    return behave


def says_whole(text: str) -> Behaviour:
    """Say it at once, whatever was asked for: a server that does not know of streams."""
    return lambda call: call.send(200, chat_reply(text))


def statement(text: str, *sources: str) -> dict[str, Any]:
    """Return a statement as a model writes it, with the ids of the segments it points at."""
    return {"sources": list(sources), "text": text}


def written(*statements: dict[str, Any], verdict: str = "") -> str:
    """Return what a model writes that keeps to the order of the schema; no statements refuse."""
    return json.dumps({"verdict": verdict, "statements": statements})


def answers(
    *statements: dict[str, Any], verdict: str = "", judge: Judge | None = None
) -> Behaviour:
    """Write these statements, and check claims like ``judge``: if none is given, with care.

    A model with care accepts what it wrote, and what stands in the evidence.
    """
    own = [each["text"] for each in statements]
    given = [f"{verdict.capitalize()}. {text}" for text in own[:1]] if verdict else []
    return checked_by(
        judge or careful(*own, *given), writes=says(written(*statements, verdict=verdict))
    )


def checked_by(judge: Judge, *, writes: Behaviour) -> Behaviour:
    """Check claims as the judge does; behave as told where a draft is asked for."""

    def behave(call: Call) -> None:
        if claims := call.claims:
            judged = [judge(claim) for claim in claims]
            verdicts = [_VERDICTS.get(each, each) for each in judged]
            says(json.dumps({"verdicts": verdicts}))(call)
        else:
            writes(call)

    return behave


def careful(*true: str) -> Judge:
    """Accept what stands in the evidence word for word, and what is known to be true."""

    def judge(claim: Claim) -> bool:
        return claim.statement in true or claim.statement in " ".join(claim.evidence.split())

    return judge


def credulous(claim: Claim) -> bool:
    """Accept everything."""
    return True


def fails(status: int, *, headers: dict[str, str] | None = None) -> Behaviour:
    """Fail with an error body that quotes the key, as some gateways do."""

    def behave(call: Call) -> None:
        message = f"Incorrect API key provided: {call.authorization}"
        error = {"message": message, "code": call.authorization, "type": "error"}
        call.send(status, json.dumps({"error": error}), headers=headers)

    return behave


def in_turn(*behaviours: Behaviour) -> Behaviour:
    """Behave like each of them once, then like the last."""
    return lambda call: behaviours[min(call.number, len(behaviours)) - 1](call)


def hang(call: Call) -> None:
    call.server.released.wait(30)


def drip(call: Call) -> None:
    """Send a byte of a long body every 50 ms: no single read ever times out."""
    call.send_response(200)
    call.send_header("Content-Length", "100000")
    call.end_headers()
    while not call.server.released.wait(0.05):
        call.wfile.write(b" ")


def cut(call: Call) -> None:
    """Promise more than is sent."""
    raw = chat_reply("half an answer").encode()
    call.send_response(200)
    call.send_header("Content-Length", str(len(raw)))
    call.end_headers()
    call.wfile.write(raw[: len(raw) // 2])


def breaks_off(text: str) -> Behaviour:
    """Stream the beginning of a reply, and close without its end."""

    def behave(call: Call) -> None:
        call.begin_stream()
        call.stream(text)

    return behave


def stops_at(text: str) -> Behaviour:
    """Stream the beginning of a reply, and nothing more until it is released."""

    def behave(call: Call) -> None:
        breaks_off(text)(call)
        hang(call)

    return behave


def reports_an_error_after(text: str) -> Behaviour:
    def behave(call: Call) -> None:
        breaks_off(text)(call)
        call.send_event({"error": {"message": f"no memory, {call.authorization}", "code": "500"}})

    return behave


def drip_stream(call: Call) -> None:
    """Send a word of a long reply every 50 ms: no single read ever times out."""
    call.begin_stream()
    while not call.server.released.wait(0.05):
        call.stream("word ")


def flood_stream(call: Call) -> None:
    call.begin_stream()
    for _ in range(200):
        call.stream("word " * 10_000)


def flood(call: Call) -> None:
    """Send far more than an answer can be."""
    call.send(200, " " * 8 * 2**20)


def openai(server: ChatServer, **options: Any) -> LMAnswerer:
    return LMAnswerer("openai/m", api_base=f"{server.root}/v1", api_key=KEY, **options)


def use_language_model(settings: Any, server: ChatServer, **options: Any) -> None:
    """Have answers written by the model of this server."""
    at = {"model": "openai/m", "api_base": f"{server.root}/v1", "api_key": "sk-x"}
    answerer = {
        "BACKEND": "qa.answerers.lm_answerer.LMAnswerer",
        "OPTIONS": {**at, "timeout_s": 10.0, **options},
    }
    settings.PKB_ANSWERERS = {**settings.PKB_ANSWERERS, "default": answerer}


@contextmanager
def language_model(settings: Any, behaviour: Behaviour, **options: Any) -> Iterator[ChatServer]:
    """Have answers written by a model that behaves so, until the block ends."""
    with chat_server(behaviour) as server:
        use_language_model(settings, server, **options)
        yield server


TALL = "The tower is 330 metres tall."
GOOD = answers(statement(TALL, "S1.1"))


PASSAGES = [
    passage("The tower is 330 metres tall and stands in Paris."),
    passage("Prometheus scrapes metrics every 15 seconds."),
    passage("A feature store serves features to training and to inference."),
]
