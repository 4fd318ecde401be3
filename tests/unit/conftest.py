"""A unit test reaches nothing outside of its process."""

import socket
from typing import Any, NoReturn

import pytest

DATABASE = {"db", "transactional_db", "django_db_setup"}


def _refuse(_: socket.socket, address: Any) -> NoReturn:
    pytest.fail(f"a unit test connects to {address}")


@pytest.fixture(autouse=True)
def closed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse connections, those to Postgres by what asks for them: libpq has its own sockets."""
    if DATABASE & set(request.fixturenames) or request.node.get_closest_marker("django_db"):
        pytest.fail("a unit test asks for Postgres")
    monkeypatch.setattr(socket.socket, "connect", _refuse)
    monkeypatch.setattr(socket.socket, "connect_ex", _refuse)
