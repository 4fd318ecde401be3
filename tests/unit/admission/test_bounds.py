"""How many requests run and wait, from the settings, the cores and the connections."""

from typing import Any

import pytest

from corpus.endpoints import Cost
from pkb.http import admission
from pkb.http.admission import queue_limits


def running(settings: Any) -> dict[Cost, int]:
    return {cost: limits.concurrent for cost, limits in queue_limits(settings).items()}


@pytest.mark.parametrize("cores", [1, 2, 64])
def test_those_that_run_have_a_connection_each(
    settings: Any, monkeypatch: pytest.MonkeyPatch, cores: int
) -> None:
    monkeypatch.setattr(admission, "usable_core_count", lambda: cores)
    settings.PKB_DB_POOL_SIZE = 20
    counts = running(settings)
    del counts[Cost.REPLAY]  # threads of their own ask for them, each for a moment
    assert [counts.pop(cost) for cost in (Cost.LOGIN, Cost.IDENTIFY)] == [1, 1]
    assert all(count >= 2 for count in counts.values())
    assert sum(counts.values()) < settings.PKB_DB_POOL_SIZE
    assert counts[Cost.SEARCH] == {1: 2, 2: 2, 64: 5}[cores]


def test_the_least_pool_leaves_a_place_of_each_cost(settings: Any) -> None:
    settings.PKB_DB_POOL_SIZE = 2
    settings.PKB_ANSWER_CONCURRENCY = 1
    assert all(count >= 1 for count in running(settings).values())


def test_what_the_settings_say_holds(settings: Any) -> None:
    settings.PKB_ANSWER_CONCURRENCY = 3
    settings.PKB_SEARCH_CONCURRENCY = 4
    settings.PKB_ENCODING_CONCURRENCY = 5
    settings.PKB_LIGHT_CONCURRENCY = 6
    settings.PKB_WAITING_PER_PLACE = 7
    settings.PKB_MAX_WAIT_S = 8
    bounds = queue_limits(settings)
    assert [bounds[cost].concurrent for cost in (Cost.ANSWER, Cost.SEARCH)] == [3, 4]
    assert [bounds[cost].concurrent for cost in (Cost.ENCODE, Cost.LIGHT)] == [5, 6]
    assert (bounds[Cost.ANSWER].queue_size, bounds[Cost.ANSWER].wait_s) == (21, 8)
    assert (bounds[Cost.ANSWER].overload_queue_size, bounds[Cost.LIGHT].overload_queue_size) == (
        1,
        3,
    )


def test_nobody_waits_where_nobody_may(settings: Any) -> None:
    settings.PKB_WAITING_PER_PLACE = 0
    assert {
        (limits.queue_size, limits.overload_queue_size)
        for limits in queue_limits(settings).values()
    } == {(0, 0)}
