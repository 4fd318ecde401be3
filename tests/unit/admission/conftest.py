"""Tests of admission are coroutines, and leave no file open."""

import asyncio
from collections.abc import Iterator
from inspect import iscoroutinefunction, signature
from typing import Any

import pytest

from pkb.http.bodies import Body
from tests.unit.admission import LeapingLoop


def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a coroutine in a loop whose clock leaps."""
    test = pyfuncitem.obj
    if not iscoroutinefunction(test):
        return None
    with asyncio.Runner(loop_factory=LeapingLoop) as runner:
        runner.run(test(**{name: pyfuncitem.funcargs[name] for name in signature(test).parameters}))
    return True


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
