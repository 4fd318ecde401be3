"""A typed client of pkb: ask, stream, search, ingest. It needs httpx and nothing else.

    with Client("http://127.0.0.1:8000") as kb:
        kb.ingest_text("The lighthouse at Bavoke was built in 1874.", title="Bavoke")
        answer = kb.ask("When was the lighthouse at Bavoke built?")
        print(answer.text or answer.notice, [each.quote for each in answer.citations])

If the service is busy (429, 503), the client waits as long as the service asks, and sends the
request again. It also retries after network errors. A retried ingest stores nothing twice, because
all its attempts have the same ``Idempotency-Key``.
"""

import json
import random
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, Self

import httpx

__all__ = ["Answer", "Client", "Count", "Event", "Passage", "PkbError", "Quote", "Stored"]

TOO_MANY, UNAVAILABLE, CONFLICT = 429, 503, 409
# The client gives up if the service asks for a longer wait.
MAX_WAIT_S = 60.0
FIRST_WAIT_S = 0.5

Mode = Literal["hybrid", "semantic", "lexical"]


class PkbError(Exception):
    """An error response of the service.

    Attributes:
        status: HTTP status; 0 without a reply.
        code: Error code, such as ``not_found``.
        errors: Invalid fields, each with ``field``, ``message`` and ``code``.
        body: The complete error object.
    """

    def __init__(self, status: int, body: Mapping[str, Any]) -> None:
        self.status = status
        self.code = str(body.get("error", ""))
        self.errors = list(body.get("errors", ()))
        self.body = body
        super().__init__(str(body.get("detail") or body.get("content") or body or status))


@dataclass(frozen=True)
class _FromJson:
    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Self:
        """Create it from a JSON object; ignore members that this version does not know."""
        return cls(**{each.name: body[each.name] for each in fields(cls) if each.name in body})


@dataclass(frozen=True)
class Quote(_FromJson):
    """A verbatim span of a document version: ``text[start_char:end_char] == quote``."""

    quote: str
    start_char: int
    end_char: int
    content_sha256: str
    title: str = ""
    source_uri: str = ""
    heading_path: Sequence[str] = ()
    page: int | None = None
    document_id: str | None = None
    chunk_id: str | None = None
    score: float = 0.0
    # Of citations: which part of the answer it holds up, and how well.
    answer_start: int = 0
    answer_end: int = 0
    support: str = ""
    # Where it stands on more pages than one.
    last_page: int | None = None
    # The day, month or year that its document is of.
    document_date: str | None = None
    # Where all collections were asked.
    collection: str = ""


@dataclass(frozen=True)
class Answer:
    """An answer, or the reason for none; ``raw`` is the complete answer object.

    Attributes:
        kind: ``answer``, ``unsure`` (see ``closest`` for passages) or ``abstained``.
        text: Empty unless ``kind`` is ``answer``.
        notice: Message for the user if there is no answer, or if it is about something else than
            the question names.
        session_id: The conversation; pass it with a follow-up question.
    """

    id: str
    question: str
    kind: str
    text: str
    confidence: float
    short: str | None
    citations: tuple[Quote, ...]
    closest: tuple[Quote, ...]
    notice: str | None
    session_id: str | None
    raw: Mapping[str, Any]

    @classmethod
    def of(cls, told: Mapping[str, Any], *, session_id: str | None = None) -> Self:
        return cls(
            id=told["id"],
            question=told["question"],
            kind=told["kind"],
            text=told["answer"],
            confidence=told["confidence"],
            short=told["short"],
            citations=tuple(Quote.of(each) for each in told["citations"]),
            closest=tuple(Quote.of(each) for each in told.get("closest") or ()),
            notice=told.get("notice"),
            session_id=told.get("session_id") or session_id,
            raw=told,
        )


@dataclass(frozen=True)
class Passage(_FromJson):
    """A search result."""

    chunk_id: str
    document_id: str
    document_name: str
    content: str
    score: float
    similarity_score: float
    start_char: int
    end_char: int
    heading_path: Sequence[str]
    metadata: Mapping[str, Any]
    # Where all collections were searched.
    collection: str = ""


@dataclass(frozen=True)
class Count(_FromJson):
    """Documents that mention a phrase, or state an amount.

    Attributes:
        unread_count: Documents without a text, which were not counted.
        unclear_count: Documents whose amount is unclear, which were not counted either.
        groups: Each with ``name``, ``document_count`` and ``mention_count``.
        results: One page of the documents or mentions, each with ``quote`` and its place.
        total_results: Length of the whole list.
    """

    query: str
    document_count: int
    mention_count: int
    searched_count: int
    unread_count: int
    groups: Sequence[Mapping[str, Any]]
    results: Sequence[Mapping[str, Any]]
    total_results: int
    unclear_count: int = 0
    currency: str = ""


@dataclass(frozen=True)
class Stored:
    """Result of an ingest: ``added``, ``replaced`` or ``unchanged``."""

    document_id: str
    outcome: Literal["added", "replaced", "unchanged"]
    chunk_count: int = 0


@dataclass(frozen=True)
class Event:
    """Event of a streamed answer: ``chunk`` with content, ``citation`` or finally ``done``."""

    type: str
    content: str
    citation: Quote | None = None
    answer: Answer | None = None


class Client:
    """Client of one service; safe to share between threads.

    Args:
        url: URL of the service, without a path.
        api_key: Sent as ``Authorization: Bearer``.
        timeout_s: Maximum wait for a reply, or for the next event of a stream.
        max_attempts: Maximum attempts of each request; 1: no retries.
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:8000",
        *,
        api_key: str | None = None,
        timeout_s: float = 120.0,
        max_attempts: int = 4,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._http = httpx.Client(
            base_url=url, headers=headers, timeout=timeout_s, transport=transport
        )
        self._max_attempts = max_attempts

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def ask(
        self,
        question: str,
        *,
        collection: str = "default",
        tags: Sequence[str] = (),
        session_id: str | None = None,
    ) -> Answer:
        """Ask a question.

        Args:
            session_id: A UUID of your choice; questions with the same one are a conversation.

        Raises:
            PkbError: The service rejected the question or did not reply.
            ValueError: Both tags and a session were given.
        """
        if session_id is None:
            params = {"q": question, "collection": collection, "tag": list(tags)}
            return Answer.of(self._call("GET", "/answer", params=params).json())
        if tags:
            raise ValueError("A question with a session_id cannot have tags.")
        body = {"question": question, "collection": collection, "session_id": session_id}
        return Answer.of(self._call("POST", "/ask", json=body).json())

    def stream(
        self, question: str, *, collection: str = "default", session_id: str | None = None
    ) -> Iterator[Event]:
        """Yield the verified parts of an answer; the last event, ``done``, has the complete answer.

        After a network error the stream resumes where it broke off.

        Raises:
            PkbError: The service rejected the question, or the stream ended with an error.
        """
        body: dict[str, Any] = {"question": question, "collection": collection}
        if session_id is not None:
            body["session_id"] = session_id
        request = self._http.build_request("POST", "/chat", json=body)
        last_id, address = "", ""
        for attempt in range(self._max_attempts):
            try:
                reply = self._send(request, stream=True)
                address = address or reply.headers["Location"]
                for last_id, told in _events(reply):  # noqa: B007  (kept for the next attempt)
                    yield _event(told)
                    if told["type"] == "done":
                        return
            except httpx.TransportError as exc:
                if not address or attempt + 1 == self._max_attempts:
                    raise PkbError(0, {"detail": str(exc)}) from exc
            headers = {"Last-Event-ID": last_id} if last_id else {}
            request = self._http.build_request("GET", address, headers=headers)
        raise PkbError(0, {"detail": "The stream ended before the answer did."})

    def search(
        self,
        query: str,
        *,
        collection: str = "default",
        top_k: int = 5,
        mode: Mode = "hybrid",
        tags: Sequence[str] = (),
        filters: Mapping[str, Any] | None = None,
        **choices: Any,
    ) -> list[Passage]:
        """Return passages, best first; ``choices`` are ``rerank`` and ``similarity_threshold``."""
        body = {"query": query, "collection": collection, "top_k": top_k, "mode": mode, **choices}
        body |= {"tags": list(tags)} if tags else {}
        body |= {"filters": filters} if filters else {}
        results = self._call("POST", "/search", json=body).json()["results"]
        return [Passage.of(each) for each in results]

    def count(self, query: str, *, collection: str = "*", **choices: Any) -> Count:
        """Count the documents that mention a word or phrase, exactly.

        With ``amount``, such as "over 500 EUR", it counts the documents that ``query`` names and
        that state such an amount.
        ``choices`` are fields of POST /count: ``amount``, ``group_by``, ``unit``, ``offset``, ...
        """
        body = {"query": query, "collection": collection, **choices}
        return Count.of(self._call("POST", "/count", json=body).json())

    def ingest_text(
        self, text: str, *, collection: str = "default", tags: Sequence[str] = (), **attributes: Any
    ) -> Stored:
        """Ingest a text; ``attributes`` are those of POST /ingest, such as ``title``.

        A text replaces the document with the same ``source_uri``.
        """
        body = {"text": text, "collection": collection, "tags": list(tags), **attributes}
        return self._ingest(json=body)

    def ingest_file(
        self,
        path: Path,
        *,
        collection: str = "default",
        tags: Sequence[str] = (),
        **attributes: str,
    ) -> Stored:
        """Ingest a file (docs/reference/formats.md lists the formats)."""
        data = {"collection": collection, "tags": list(tags), **attributes}
        return self._ingest(data=data, files={"file": (path.name, path.read_bytes())})

    def is_current(self, quote: Quote) -> bool:
        """Return whether a quote equals its span of the document, in the version that it names."""
        try:
            document = self._call("GET", f"/documents/{quote.document_id}/text").json()
        except PkbError as exc:
            if exc.status == httpx.codes.NOT_FOUND:
                return False
            raise
        is_same_version = document["content_sha256"] == quote.content_sha256
        span = document["text"][quote.start_char : quote.end_char]
        return bool(is_same_version and span == quote.quote)

    def _ingest(self, **body: Any) -> Stored:
        headers = {"Idempotency-Key": str(uuid.uuid4())}
        try:
            reply = self._call("POST", "/ingest", headers=headers, **body)
        except PkbError as exc:
            if exc.status == CONFLICT and "document_id" in exc.body:
                return Stored(exc.body["document_id"], "unchanged")
            raise
        stored = reply.json()
        is_new = reply.status_code == httpx.codes.CREATED
        return Stored(
            stored["document_id"], "added" if is_new else "replaced", stored["chunk_count"]
        )

    def _call(self, method: str, path: str, **request: Any) -> httpx.Response:
        return self._send(self._http.build_request(method, path, **request))

    def _send(self, request: httpx.Request, *, stream: bool = False) -> httpx.Response:
        for attempt in range(1, self._max_attempts + 1):
            is_last = attempt == self._max_attempts
            try:
                reply = self._http.send(request, stream=stream)
            except httpx.TransportError as exc:
                if is_last or not _may_repeat(request, exc):
                    raise PkbError(0, {"detail": f"{request.url}: {exc}"}) from exc
                time.sleep(_backoff_s(attempt))
                continue
            if reply.is_success:
                return reply
            reply.read()
            error = PkbError(reply.status_code, _body(reply))
            wait_s = _wait_s(reply, error, attempt)
            if is_last or wait_s is None or wait_s > MAX_WAIT_S:
                raise error
            time.sleep(wait_s)
        raise ValueError("max_attempts is at least 1.")


def _may_repeat(request: httpx.Request, error: httpx.TransportError) -> bool:
    """Return whether a failed request can be sent again: a question would be stored twice."""
    was_not_sent = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
    return (
        was_not_sent
        or request.method == "GET"
        or request.url.path in {"/search", "/count", "/ingest"}
    )


def _wait_s(reply: httpx.Response, error: PkbError, attempt: int) -> float | None:
    """Return the seconds to wait before the next attempt; None: do not retry."""
    is_busy = reply.status_code in {TOO_MANY, UNAVAILABLE} or error.code == "idempotency_key_busy"
    if not is_busy:
        return None
    asked = reply.headers.get("Retry-After", "")
    return float(asked) if asked.isdigit() else _backoff_s(attempt)


def _backoff_s(attempt: int) -> float:
    """Return the seconds to wait, doubled at each attempt, with a random factor."""
    return float(FIRST_WAIT_S * 2 ** (attempt - 1) * random.uniform(0.5, 1.0))  # noqa: S311


def _body(reply: httpx.Response) -> Mapping[str, Any]:
    try:
        body = reply.json()
    except ValueError:
        body = None
    return body if isinstance(body, dict) else {"detail": reply.text}


def _events(reply: httpx.Response) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the id and data of each event; ignore heartbeats (comments)."""
    event_id, data = "", ""
    try:
        for line in reply.iter_lines():
            name, _, value = line.partition(":")
            if name == "id":
                event_id = value.strip()
            elif name == "data":
                data += value.removeprefix(" ")
            elif not line and data:
                yield event_id, json.loads(data)
                data = ""
    finally:
        reply.close()


def _event(told: Mapping[str, Any]) -> Event:
    if told["type"] == "error":
        raise PkbError(0, told)
    citation = Quote.of(told["citation"]) if told.get("citation") else None
    answer = None
    if told["type"] == "done":
        answer = Answer.of(told["answer"], session_id=told["session_id"])
    return Event(told["type"], told.get("content") or "", citation, answer)
