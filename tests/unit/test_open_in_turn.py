"""Questions open one after the other; whatever else is asked does not wait for them."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from pkb.http.handler import OPENING_S, Application, open_in_turn


class Doors:
    """An application whose requests begin to answer when they are told to."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.may_answer: dict[str, asyncio.Event] = {}
        self.may_end = asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.begun.append(scope["name"])
        await self.may_answer.setdefault(scope["name"], asyncio.Event()).wait()
        if scope["name"] == "broken":
            raise RuntimeError
        await send({"type": "http.response.start"})
        await self.may_end.wait()


async def discard(message: Any) -> None:
    """What is sent is of no concern here."""


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def start(application: Application, name: str, path: str = "/chat") -> "asyncio.Task[None]":
    scope = {"type": "http", "path": path, "name": name}

    async def ask() -> None:
        await application(scope, None, discard)

    return asyncio.create_task(ask())


def in_loop(test: Callable[[Doors, Application], Any]) -> None:
    async def run() -> None:
        doors = Doors()
        await test(doors, open_in_turn(doors, paths=frozenset({"/chat"})))

    asyncio.run(run())


def test_a_chat_opens_when_the_one_before_has_begun_to_answer() -> None:
    async def test(doors: Doors, application: Application) -> None:
        tasks = [start(application, name) for name in ("first", "second")]
        await settle()
        assert doors.begun == ["first"]
        doors.may_answer["first"].set()
        await settle()
        assert doors.begun == ["first", "second"]
        assert not any(task.done() for task in tasks)
        doors.may_answer["second"].set()
        doors.may_end.set()
        await asyncio.gather(*tasks)

    in_loop(test)


def test_other_paths_do_not_wait() -> None:
    async def test(doors: Doors, application: Application) -> None:
        tasks = [start(application, "chat"), start(application, "health", "/health")]
        await settle()
        assert doors.begun == ["chat", "health"]
        for task in tasks:
            task.cancel()

    in_loop(test)


def test_one_that_waits_for_its_answer_holds_up_nobody() -> None:
    async def test(doors: Doors, application: Application) -> None:
        tasks = [start(application, name) for name in ("waiting", "next")]
        while doors.begun != ["waiting", "next"]:
            await asyncio.sleep(OPENING_S / 10)
        assert not doors.may_answer["waiting"].is_set()
        for task in tasks:
            task.cancel()

    in_loop(test)


@pytest.mark.parametrize("end", ["broken", "cancelled"])
def test_a_chat_that_fails_or_leaves_makes_room(end: str) -> None:
    async def test(doors: Doors, application: Application) -> None:
        failing, following = start(application, end), start(application, "next")
        await settle()
        if end == "broken":
            doors.may_answer[end].set()
        else:
            failing.cancel()
        await settle()
        assert doors.begun == [end, "next"]
        following.cancel()
        await asyncio.gather(failing, following, return_exceptions=True)

    in_loop(test)
