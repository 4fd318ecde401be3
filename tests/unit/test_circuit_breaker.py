"""When a language model is left alone, and when it is asked again."""

from threading import Barrier, Thread

import pytest

from qa.answerers.circuit_breaker import FAILURES_IN_A_ROW, CircuitBreaker

LATE = "did not answer in time"


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def circuit(clock: Clock) -> CircuitBreaker:
    return CircuitBreaker(pause_s=60, clock=clock)


def test_a_model_that_answers_is_asked(circuit: CircuitBreaker) -> None:
    assert circuit.ask() == ""
    circuit.succeeded()
    assert circuit.ask() == ""


def test_after_a_timeout_it_is_not_asked_and_why_is_told(
    circuit: CircuitBreaker, clock: Clock
) -> None:
    circuit.failed(LATE, is_timeout=True)
    clock.now += 20
    assert circuit.ask() == "is not asked for 40 s more, since it did not answer in time"


def test_other_failures_must_come_in_a_row(circuit: CircuitBreaker) -> None:
    for _ in range(FAILURES_IN_A_ROW - 1):
        circuit.failed("failed on its side", is_timeout=False)
    assert circuit.ask() == ""
    circuit.succeeded()
    circuit.failed("failed on its side", is_timeout=False)
    assert circuit.ask() == ""
    for _ in range(FAILURES_IN_A_ROW - 1):
        circuit.failed("failed on its side", is_timeout=False)
    assert circuit.ask() == "is not asked for 60 s more, since it failed on its side"


def test_after_the_pause_one_may_try_and_the_others_wait_for_it(
    circuit: CircuitBreaker, clock: Clock
) -> None:
    circuit.failed(LATE, is_timeout=True)
    clock.now += 60
    assert circuit.ask() == ""
    assert circuit.ask() == "is being tried again, since it did not answer in time"
    circuit.succeeded()
    assert [circuit.ask(), circuit.ask()] == ["", ""]


def test_a_try_that_fails_is_enough_for_another_pause(
    circuit: CircuitBreaker, clock: Clock
) -> None:
    circuit.failed(LATE, is_timeout=True)
    circuit.succeeded()
    circuit.failed(LATE, is_timeout=True)
    clock.now += 60
    assert circuit.ask() == ""
    circuit.failed("could not be reached", is_timeout=False)
    assert circuit.ask() == "is not asked for 60 s more, since it could not be reached"


def test_a_try_that_nobody_waited_for_lets_the_next_one_try(
    circuit: CircuitBreaker, clock: Clock
) -> None:
    circuit.failed(LATE, is_timeout=True)
    clock.now += 60
    assert circuit.ask() == ""
    circuit.abandoned()
    assert circuit.ask() == ""


def test_without_a_pause_it_is_always_asked(clock: Clock) -> None:
    circuit = CircuitBreaker(pause_s=0, clock=clock)
    circuit.failed(LATE, is_timeout=True)
    assert circuit.ask() == ""


def test_of_many_at_once_one_tries(circuit: CircuitBreaker, clock: Clock) -> None:
    circuit.failed(LATE, is_timeout=True)
    clock.now += 60
    together, found = Barrier(8), list[str]()

    def ask() -> None:
        together.wait()
        found.append(circuit.ask())

    threads = [Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found.count("") == 1
