"""A client that leaves, a model that fails, a database that goes: a chat ends, and says so."""

import json
import os
import re
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any

import httpx
import pytest

from tests.contracts.chat_server import ChatServer, chat_server, hang
from tests.factories import LIGHTHOUSE, LIGHTHOUSE_QUESTION
from tests.ports import free_port
from tests.processes import administering, end_sessions, manage, own_database, read, wait_until

pytestmark = pytest.mark.slow


@pytest.fixture
def database(django_db_setup: None, django_db_blocker: pytest.FixtureDef[None]) -> Iterator[str]:
    name = f"test_chat_{os.getpid()}"
    with django_db_blocker.unblock(), own_database(name) as url:  # type: ignore[attr-defined]
        yield url


def post(port: int, path: str, **body: Any) -> Any:
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    return urllib.request.urlopen(request, timeout=120)  # noqa: S310


@contextmanager
def serving(database: str, lm: ChatServer) -> Iterator[int]:
    """A server whose language model is that one; yields its port."""
    port = free_port()
    env = {"PKB_LM": "openai/m", "PKB_LM_API_BASE": f"{lm.root}/v1", "PKB_WORKER": "off"}
    process = manage("serve", "--port", str(port), database=database, **env)
    # A full pipe would stop the server.
    log = Thread(target=process.communicate, daemon=True)
    log.start()
    try:
        wait_until(lambda: is_ready(port))
        yield port
    finally:
        lm.released.set()
        process.terminate()
        log.join(60)


def is_ready(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/ready", timeout=5) as response:
            return bool(response.status == 200)
    except OSError:
        return False


def last_events(database: str) -> list[str]:
    query = "SELECT body::text FROM qa_chatevent WHERE kind = 'error' ORDER BY id"
    return [str(row[0]) for row in read(database, query)]


def test_chats_end_when_the_client_or_the_database_goes(database: str) -> None:
    with chat_server(hang) as lm, serving(database, lm) as port:
        post(port, "/ingest", text=LIGHTHOUSE).close()
        leave_while_the_model_thinks(database, port, lm)
        lose_the_database_while_the_model_thinks(database, port, lm)


def leave_while_the_model_thinks(database: str, port: int, lm: ChatServer) -> None:
    response = post(port, "/chat", question=LIGHTHOUSE_QUESTION)
    location = response.headers["Location"]
    wait_until(lambda: len(lm.calls) == 1)
    response.close()
    # Whoever watches another answer is not held up by the one that hangs.
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=30) as health:
        assert health.status == 200
    wait_until(lambda: len(last_events(database)) == 1, timeout_s=30)
    assert "asker_left" in last_events(database)[0]
    assert read(database, "SELECT count(*) FROM qa_answer") == [(0,)]
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{location}", timeout=30) as again:
        assert re.findall(r"event: (\w+)", again.read().decode()) == ["error"]


def lose_the_database_while_the_model_thinks(database: str, port: int, lm: ChatServer) -> None:
    response = post(port, "/chat", question=LIGHTHOUSE_QUESTION)
    wait_until(lambda: len(lm.calls) == 2)
    name = f"test_chat_{os.getpid()}"
    with administering() as admin:
        admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false".encode())
        end_sessions(admin, name)
        lm.released.set()
        text = response.read().decode()
        for page in ("/admin/", "/ui/library", "/documents"):
            assert answer_without_a_database(port, page) == (503, "5")
        admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true".encode())
    assert re.findall(r"event: (\w+)", text)[-1] == "error"
    assert "The database does not answer; try again soon." in text
    wait_until(lambda: is_ready(port))


def answer_without_a_database(port: int, path: str) -> tuple[int, str | None]:
    """Return the status and ``Retry-After`` that somebody who is logged in is told."""
    session = {"Cookie": "sessionid=of-somebody-who-is-logged-in"}
    reply = httpx.get(f"http://127.0.0.1:{port}{path}", headers=session, timeout=60)
    return reply.status_code, reply.headers.get("Retry-After")
