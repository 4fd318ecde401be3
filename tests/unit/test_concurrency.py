"""Turns of answering, and waiting for a slow model."""

from collections.abc import Callable
from threading import Event, Thread, current_thread, main_thread
from typing import Any

import pytest

from corpus.errors import BackendUnavailable, ClientDisconnected
from qa import concurrency
from qa.concurrency import (
    Listener,
    answering_slot,
    cancellation,
    run_with_progress,
)
from qa.types import Citation


class Leaver(Listener):
    """Leaves when it is asked for the second time."""

    def __init__(self) -> None:
        self.check_count = 0

    def raise_if_cancelled(self) -> None:
        self.check_count += 1
        if self.check_count > 1:
            raise ClientDisconnected("left")

    def on_text(self, text: str, citation: Citation) -> None:
        raise AssertionError("nothing is said")


def run_silently(work: Callable[[], Any], *, listener: Listener, is_slow: bool) -> Any:
    return run_with_progress(
        lambda report: work(),
        on_progress=lambda progress: None,
        listener=listener,
        is_slow=is_slow,
    )


def test_slow_work_is_left_to_itself_when_the_asker_leaves() -> None:
    released, ended = Event(), Event()
    told: list[bool] = []

    def work() -> None:
        is_cancelled = cancellation()
        told.append(is_cancelled.is_set())
        released.wait(30)
        told.append(is_cancelled.is_set())
        ended.set()

    with pytest.raises(ClientDisconnected):
        run_silently(work, listener=Leaver(), is_slow=True)
    assert not ended.is_set()
    released.set()
    assert ended.wait(10)
    assert told == [False, True]
    assert not cancellation().is_set()


@pytest.mark.parametrize("is_slow", [True, False], ids=["slow", "quick"])
def test_work_returns_what_it_found(is_slow: bool) -> None:
    assert run_silently(lambda: 7, listener=Leaver(), is_slow=is_slow) == 7
    assert run_silently(lambda: 7, listener=Listener(), is_slow=is_slow) == 7


def test_a_failure_of_the_work_is_raised() -> None:
    def fail() -> None:
        raise BackendUnavailable("gone")

    with pytest.raises(BackendUnavailable, match="gone"):
        run_silently(fail, listener=Leaver(), is_slow=True)


def test_what_slow_work_tells_is_heard_here_and_the_newest_only() -> None:
    heard: list[tuple[int, Thread]] = []
    has_heard = Event()

    def work(tell: Callable[[int], None]) -> str:
        assert current_thread() is not main_thread()
        tell(1)
        assert has_heard.wait(30)
        tell(2)
        tell(3)
        return "written"

    def hear(number: int) -> None:
        heard.append((number, current_thread()))
        has_heard.set()

    assert run_with_progress(work, on_progress=hear, listener=Listener(), is_slow=True) == "written"
    assert heard[0] == (1, main_thread())
    assert {number for number, _ in heard} <= {1, 3}


def test_work_whose_hearing_fails_is_left() -> None:
    is_cancelled = Event()

    def work(tell: Callable[[int], None]) -> None:
        tell(1)
        assert cancellation().wait(30)
        is_cancelled.set()

    def hear(number: int) -> None:
        raise BackendUnavailable("gone")

    with pytest.raises(BackendUnavailable, match="gone"):
        run_with_progress(work, on_progress=hear, listener=Listener(), is_slow=True)
    assert is_cancelled.wait(10)


def test_quick_work_tells_what_hears_itself() -> None:
    heard: list[int] = []

    def work(tell: Callable[[int], None]) -> int:
        tell(1)
        return 7

    assert run_with_progress(work, on_progress=heard.append, listener=Leaver(), is_slow=False) == 7
    assert heard == [1]


def test_who_gets_no_turn_is_told_to_come_again(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.PKB_ANSWER_CONCURRENCY = 1
    monkeypatch.setattr(concurrency, "MAX_WAIT_S", 0.05)
    refused = pytest.raises(BackendUnavailable, match="Try again soon")
    with answering_slot(), refused, answering_slot():
        pass
    with answering_slot():
        pass


def test_a_turn_passes_on(settings: Any) -> None:
    settings.PKB_ANSWER_CONCURRENCY = 1
    has_turn = Event()

    def take() -> None:
        with answering_slot():
            has_turn.set()

    waiting = Thread(target=take)
    with answering_slot():
        waiting.start()
        assert not has_turn.wait(0.1)
    assert has_turn.wait(10)
    waiting.join()
