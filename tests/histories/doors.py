"""What a client does at the doors, each request recorded with what it changed or showed."""

import json
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from typing import Any

import httpx2

from tests.histories.history import History
from tests.histories.model import Act, Failure, Read, Sighting, Write
from tests.histories.shelf import Folder, Shelf
from tests.histories.shown import (
    read_events,
    show_quote,
    shown_by_answer,
    shown_by_events,
    shown_by_search,
    shown_by_text,
)
from tests.histories.texts import COMMON_WORD, write_version

MAX_SHOWN = 50
REFUSED = {429, 503}
# A job of a few small files.
JOB_WITHIN_S = 120
JOB_POLL_S = 0.05
# Answers and streams that are read again: so many of the last.
KEPT = 40


@dataclass
class Sent:
    """A request that was sent, and its reply; ``reply`` is None where none came."""

    door: str
    invoked: float
    returned: float
    reply: httpx2.Response | None

    @property
    def status(self) -> int:
        return self.reply.status_code if self.reply is not None else 0

    @property
    def body(self) -> Any:
        assert self.reply is not None
        return self.reply.json()


@dataclass
class Doors:
    """One client; what it sees is written into the history.

    Attributes:
        run_job: Brings a job to its end, where no worker does so beside.
        pause: Called with seconds, by a client that was told to come again.
    """

    http: httpx2.Client
    shelf: Shelf
    history: History
    client: int = 0
    run_job: Callable[[str], None] = lambda job_id: None
    pause: Callable[[float], None] = time.sleep

    def put(self, place: str, tags: Iterable[str], *, as_file: bool) -> None:
        """Store a new version of a place, in place of any."""
        version = self.shelf.new_version(place)
        text = write_version(place, version)
        given: dict[str, Any] = {
            "collection": self.shelf.collection,
            "source_uri": f"note:{place}",
            "title": f"House {place}",
            "tags": list(tags),
        }
        metadata = {"version": version}
        if as_file:
            form = {**given, "metadata": json.dumps(metadata)}
            files = {"file": (f"{place}.md", text.encode(), "text/markdown")}
            sent = self._send("POST", "/ingest", data=form, files=files)
        else:
            sent = self._send("POST", "/ingest", json={**given, "metadata": metadata, "text": text})
        if self._note_write(sent, {200, 201}, Act.PUT, place, version=version, tags=tags):
            self.shelf.document_ids[place] = sent.body["document_id"]

    def delete(self, place: str) -> None:
        document_id = self.shelf.document_ids.get(place)
        if document_id is not None:
            sent = self._send("DELETE", f"/documents/{document_id}", door="DELETE /documents")
            self._note_write(sent, {204}, Act.DELETE, place)

    def tag(self, place: str, tags: Iterable[str]) -> None:
        document_id = self.shelf.document_ids.get(place)
        if document_id is not None:
            path = f"/ui/documents/{document_id}/tags"
            form, token = {"tags": ", ".join(tags)}, {"X-CSRFToken": self._token()}
            sent = self._send("POST", path, door="POST tags", data=form, headers=token)
            self._note_write(sent, {302}, Act.TAG, place, tags=tags)

    def _token(self) -> str:
        """Return the token that a page was given for its forms."""
        if "csrftoken" not in self.http.cookies:
            self._send("GET", "/ui/ask")
        return str(self.http.cookies.get("csrftoken"))

    def sync(self, folder: Folder, change: Callable[[Folder], list[Write]]) -> None:
        """Change files of a folder, and have it mirrored.

        Args:
            change: Changes the files; returns what of each place is to be seen once it is mirrored.
        """
        writes = change(folder)
        given = {"directory_path": str(folder.path), "index_name": self.shelf.collection}
        sent = self._send("POST", "/encode_batch", json=given)
        while sent.status in REFUSED:
            sent = self._send("POST", "/encode_batch", json=given)
        self._note_failure(sent, {202})
        ended = self._wait_for_job(sent) if sent.status == 202 else inf
        for write in writes:
            self.history.add(
                Write(write.act, write.place, sent.invoked, ended, write.version, write.tags,
                      client=self.client)
            )  # fmt: skip

    def _wait_for_job(self, begun: Sent) -> float:
        job_id = begun.body["job_id"]
        self.run_job(job_id)
        deadline = time.monotonic() + JOB_WITHIN_S
        while time.monotonic() < deadline:
            sent = self._send("GET", f"/jobs/{job_id}", door="GET /jobs")
            if sent.status == 200 and sent.body["finished_at"]:
                if sent.body["status"] == "succeeded" and not sent.body["failed"]:
                    return sent.returned
                break
            self.pause(JOB_POLL_S)
        detail = sent.reply.text if sent.reply is not None else "no reply"
        self.history.add(Failure("sync", begun.invoked, sent.status, detail, self.client))
        return inf

    def search(self, *, mode: str, tag: str = "", rerank: bool = False) -> None:
        """Search so widely that all that is there is found."""
        body = {
            "query": COMMON_WORD, "mode": mode, "top_k": MAX_SHOWN, "rerank": rerank,
            "collection": self.shelf.collection, "tags": [tag] if tag else [],
        }  # fmt: skip
        sent = self._send("POST", "/search", json=body)
        if self._note_failure(sent, {200}):
            is_whole = len(sent.body["results"]) < MAX_SHOWN
            shelf = self.shelf.places if is_whole else frozenset()
            self._note_read(sent, shown_by_search(sent.body), shelf=shelf, tag=tag)

    def search_version(self, version: int) -> None:
        """Search what is of one version, by its metadata."""
        wanted = {"type": "eq", "key": "version", "value": version}
        body = {"query": COMMON_WORD, "mode": "lexical", "top_k": MAX_SHOWN, "filters": wanted}
        sent = self._send("POST", "/search", json={**body, "collection": self.shelf.collection})
        if self._note_failure(sent, {200}):
            self._note_read(sent, shown_by_search(sent.body, version=version))

    def answer(self, question: str, *, tag: str = "") -> None:
        params = {"q": question, "collection": self.shelf.collection, "k": 8}
        sent = self._send("GET", "/answer", params=params | ({"tag": tag} if tag else {}))
        if self._note_failure(sent, {200}):
            self._note_read(sent, shown_by_answer(sent.body, self.shelf), tag=tag)
            self.shelf.answer_ids = [*self.shelf.answer_ids, sent.body["id"]][-KEPT:]

    def chat(self, question: str) -> None:
        body = {"question": question, "collection": self.shelf.collection}
        sent = self._send("POST", "/chat", json=body)
        if self._note_failure(sent, {200}):
            assert sent.reply is not None
            events = list(read_events(sent.reply.text))
            if not events or events[-1][0] != "done":
                detail = sent.reply.text[-300:]
                self.history.add(Failure("POST /chat", sent.invoked, 200, detail, self.client))
            self._note_read(sent, shown_by_events(events, self.shelf))
            location = sent.reply.headers["Location"]
            self.shelf.streams = [*self.shelf.streams, location][-KEPT:]

    def read_answer(self, answer_id: str) -> None:
        """Read an answer that was given before."""
        sent = self._send("GET", f"/answers/{answer_id}", door="GET /answers")
        if not self._note_failure(sent, {200}):
            return
        quoted = [show_quote(each, self.shelf) for each in sent.body["citations"] if each["quote"]]
        said = shown_by_text(sent.body["answer"], self.shelf)
        self._note_read(sent, [*quoted, *said], is_kept=True)
        pointed = [*sent.body["closest"], *(sent.body["disagreement"] or ())]
        self._note_read(sent, [show_quote(each, self.shelf) for each in pointed])

    def read_stream(self, location: str) -> None:
        """Read a stream again; it is kept for minutes."""
        sent = self._send("GET", location, door="GET /chat")
        if self._note_failure(sent, {200}):
            assert sent.reply is not None
            events = [each for each in read_events(sent.reply.text) if each[0] != "done"]
            self._note_read(sent, shown_by_events(events, self.shelf), is_kept=True)

    def _send(self, method: str, path: str, *, door: str = "", **content: Any) -> Sent:
        name = door or f"{method} {path}"
        invoked = time.monotonic()
        reply = None
        with suppress(httpx2.TransportError):
            reply = self.http.request(method, path, **content)
        sent = Sent(name, invoked, time.monotonic(), reply)
        if sent.status in REFUSED:
            self.history.refuse()
            assert reply is not None
            self.pause(float(reply.headers.get("Retry-After", 1)))
        return sent

    def _note_write(
        self, sent: Sent, done: set[int], act: Act, place: str, *, version: int = 0,
        tags: Iterable[str] = (),
    ) -> bool:  # fmt: skip
        """Write down what had effect, or may have had; tell whether it had."""
        if sent.status not in done:
            self._note_failure(sent, {404})
            if 0 < sent.status < 500:
                return False
        returned = sent.returned if sent.status in done else inf
        self.history.add(
            Write(act, place, sent.invoked, returned, version, frozenset(tags), self.client)
        )
        return returned < inf

    def _note_failure(self, sent: Sent, expected: set[int]) -> bool:
        """Return whether a request was answered as expected; write down what none should be."""
        if sent.status in expected:
            return True
        if sent.status not in REFUSED:
            detail = sent.reply.text[:300] if sent.reply is not None else "no reply"
            failure = Failure(sent.door, sent.invoked, sent.status, detail, self.client)
            self.history.add(failure)
        return False

    def _note_read(
        self, sent: Sent, seen: Iterable[Sighting], *, shelf: frozenset[str] = frozenset(),
        tag: str = "", is_kept: bool = False,
    ) -> None:  # fmt: skip
        read = Read(
            sent.door, sent.invoked, sent.returned, tuple(seen), shelf, tag, is_kept, self.client
        )
        self.history.add(read)
