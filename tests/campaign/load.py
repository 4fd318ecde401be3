"""Clients that write while something happens to the service."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from threading import Event, Thread
from typing import Any

import httpx2

from tests.campaign.installation import Installation
from tests.campaign.ledger import ABSENT, Ledger, new_text

CLIENTS = 3
ADDRESSES_PER_CLIENT = 25
WORDS = (30, 900)
# After an error a client waits, as one that reads Retry-After would, but less.
PAUSE_S = 0.1
# How often a client does the round's own operation, and not any.
MOSTLY = 0.7
OPERATIONS = ("ingest", "replace", "delete", "upload")
TIMEOUT_S = 60.0


@dataclass
class Client:
    """Writes to addresses that are its own, one request after the other."""

    installation: Installation
    ledger: Ledger
    number: int
    chance: Random
    operation: str
    words: tuple[int, int] = WORDS

    def write_until(self, is_over: Event) -> None:
        with self.installation.client(TIMEOUT_S) as http:
            while not is_over.is_set():
                if not self._write(http):
                    time.sleep(PAUSE_S)

    def _write(self, http: httpx2.Client) -> bool:
        """Do one thing; tells whether it was answered."""
        often = self.operation in OPERATIONS and self.chance.random() < MOSTLY
        operation = self.operation if often else self.chance.choice(OPERATIONS)
        own = [f"note:{self.number}-{each}" for each in range(ADDRESSES_PER_CLIENT)]
        present = self.ledger.present(own)
        absent = [each for each in own if each not in present]
        if operation in {"replace", "delete"} and not present:
            operation = "ingest"
        pool = absent if operation in {"ingest", "upload"} and absent else present
        address = self.chance.choice(pool)
        if operation == "delete":
            return self._delete(http, address)
        return self._send(http, address, as_file=operation == "upload")

    def _send(self, http: httpx2.Client, address: str, *, as_file: bool) -> bool:
        text, mark = new_text(self.chance, words=self.chance.randint(*self.words))
        given: dict[str, Any] = {"json": {"text": text, "source_uri": address}}
        if as_file:
            page = f"<html><body><p>{text}</p></body></html>".encode()
            given = {"files": {"file": (f"{mark}.html", page)}, "data": {"source_uri": address}}
        self.ledger.ask(address, mark)
        status = status_of(http, "POST", "/ingest", **given)
        self.ledger.settle(address, mark, status)
        return status is not None and status < 500

    def _delete(self, http: httpx2.Client, address: str) -> bool:
        found = document_id(http, address)
        if found is None:
            return False
        self.ledger.ask(address, ABSENT)
        status = status_of(http, "DELETE", f"/documents/{found}")
        self.ledger.settle(address, ABSENT, 204 if status == 404 else status)
        return status is not None and status < 500


def document_id(http: httpx2.Client, address: str) -> str | None:
    try:
        reply = http.get("/documents", params={"q": address, "limit": 200})
    except httpx2.TransportError:
        return None
    if reply.status_code != httpx2.codes.OK:
        return None
    rows = reply.json()["results"]
    return next((str(row["id"]) for row in rows if row["source_uri"] == address), None)


def status_of(http: httpx2.Client, method: str, path: str, **given: Any) -> int | None:
    """Return the status of a request; None where no answer came."""
    try:
        return http.request(method, path, **given).status_code
    except httpx2.TransportError:
        return None


@contextmanager
def writing(
    installation: Installation,
    ledger: Ledger,
    *,
    chance: Random,
    operation: str = "",
    words: tuple[int, int] = WORDS,
) -> Iterator[None]:
    """Have clients write until the block ends; each brings its last request to its end."""
    is_over = Event()
    clients = [
        Client(installation, ledger, number, Random(chance.random()), operation, words)  # noqa: S311
        for number in range(CLIENTS)
    ]
    threads = [Thread(target=each.write_until, args=[is_over]) for each in clients]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        is_over.set()
        for thread in threads:
            thread.join()
