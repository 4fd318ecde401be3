"""No file stays open after a test of admission."""

from collections.abc import Iterator
from typing import Any

import pytest

from pkb.http.admission import BodyLimits
from pkb.http.bodies import Body

WAIT_S = 30.0
TIMEOUT_S = 10.0
BODIES = BodyLimits(body_bytes=1_000, file_bytes=5_000, timeout_s=TIMEOUT_S)


@pytest.fixture(autouse=True)
def no_file_stays_open(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    opened: list[Body] = []
    make = Body.__init__

    def record(self: Body, receive: Any, caller: str) -> None:
        make(self, receive, caller)
        opened.append(self)

    monkeypatch.setattr(Body, "__init__", record)
    yield
    assert all(body.file.closed for body in opened)
