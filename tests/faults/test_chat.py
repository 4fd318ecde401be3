"""A client that leaves, a model that fails, a database that goes: a chat ends, and says so."""

import json
import re
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import httpx2
import pytest

from tests.support.chat_server import ChatServer, chat_server, hang
from tests.support.documents import LIGHTHOUSE, LIGHTHOUSE_QUESTION
from tests.support.ports import is_ready
from tests.support.processes import (
    administering,
    end_sessions,
    name_of,
    read,
    served,
)
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("small_models")]


def post(address: str, path: str, **body: Any) -> Any:
    request = urllib.request.Request(  # noqa: S310 -- of this machine
        f"{address}{path}",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    return urllib.request.urlopen(request, timeout=120)  # noqa: S310


@contextmanager
def serving(database: str, lm: ChatServer) -> Iterator[str]:
    """A server whose language model is that one; yields its address."""
    with served(database, PKB_LM="openai/m", PKB_LM_API_BASE=f"{lm.root}/v1") as address:
        try:
            yield address
        finally:
            lm.released.set()


def last_events(database: str) -> list[str]:
    query = "SELECT body::text FROM qa_chatevent WHERE kind = 'error' ORDER BY id"
    return [str(row[0]) for row in read(database, query)]


def test_chats_end_when_the_client_or_the_database_goes(database: str) -> None:
    with chat_server(hang) as lm, serving(database, lm) as address:
        post(address, "/ingest", text=LIGHTHOUSE).close()
        leave_while_the_model_thinks(database, address, lm)
        lose_the_database_while_the_model_thinks(database, address, lm)


def leave_while_the_model_thinks(database: str, address: str, lm: ChatServer) -> None:
    response = post(address, "/chat", question=LIGHTHOUSE_QUESTION)
    location = response.headers["Location"]
    wait_until(lambda: len(lm.calls) == 1)
    response.close()
    # Whoever watches another answer is not held up by the one that hangs.
    assert httpx2.get(f"{address}/health", timeout=30).status_code == 200
    wait_until(lambda: len(last_events(database)) == 1, timeout_s=30)
    assert "asker_left" in last_events(database)[0]
    assert read(database, "SELECT count(*) FROM qa_answer") == [(0,)]
    again = httpx2.get(f"{address}{location}", timeout=30).text
    assert re.findall(r"event: (\w+)", again) == ["error"]


def lose_the_database_while_the_model_thinks(database: str, address: str, lm: ChatServer) -> None:
    response = post(address, "/chat", question=LIGHTHOUSE_QUESTION)
    wait_until(lambda: len(lm.calls) == 2)
    name = name_of(database)
    with administering() as admin:
        admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false".encode())
        end_sessions(admin, name)
        lm.released.set()
        text = response.read().decode()
        pages = ("/admin/", "/ui/library", "/documents")
        with ThreadPoolExecutor(len(pages)) as clients:
            told = clients.map(answer_without_a_database, [address] * len(pages), pages)
            assert set(told) == {(503, "5")}
        admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true".encode())
    assert re.findall(r"event: (\w+)", text)[-1] == "error"
    assert "The database does not answer; try again soon." in text
    wait_until(lambda: is_ready(address))


def answer_without_a_database(address: str, path: str) -> tuple[int, str | None]:
    """Return the status and ``Retry-After`` that somebody who is logged in is told."""
    session = {"Cookie": "sessionid=of-somebody-who-is-logged-in"}
    reply = httpx2.get(f"{address}{path}", headers=session, timeout=60)
    return reply.status_code, reply.headers.get("Retry-After")
