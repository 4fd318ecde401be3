"""How many requests of each cost run and wait, from the settings, the cores and the database."""

import os
from typing import Any

from pkb.http.costs import Cost
from pkb.http.gate import BodyBounds
from pkb.http.places import Bounds

# Who reads a stream again holds a thread only four times a second, for a query.
REPLAYS = 16
# Connections that no place counts on: /health, streams that are told from threads of their own.
SPARE_CONNECTIONS = 4
LEAST_LIGHT = 2


def place_bounds(settings: Any) -> dict[Cost, Bounds]:
    """Return the bounds of each cost; those that run have a database connection each.

    Where the settings leave it open, searches and encodings run one a core, two at least and a
    quarter of the connections at most; light requests have the connections that are left.
    """
    pool_size = settings.PKB_DB_POOL_SIZE
    by_cores = max(1, min(max(2, os.cpu_count() or 1), pool_size // 4))
    answers = settings.PKB_ANSWER_CONCURRENCY
    searches = settings.PKB_SEARCH_CONCURRENCY or by_cores
    encodings = settings.PKB_ENCODING_CONCURRENCY or by_cores
    left = pool_size - answers - searches - encodings - SPARE_CONNECTIONS
    running = {
        Cost.ANSWER: answers,
        Cost.SEARCH: searches,
        Cost.ENCODE: encodings,
        Cost.REPLAY: REPLAYS,
        Cost.LIGHT: settings.PKB_LIGHT_CONCURRENCY or max(LEAST_LIGHT, left),
    }
    return {
        cost: Bounds(
            running=count,
            waiting=count * settings.PKB_WAITING_PER_PLACE,
            standing=_standing(count) if settings.PKB_WAITING_PER_PLACE else 0,
            wait_s=settings.PKB_MAX_WAIT_S,
        )
        for cost, count in running.items()
    }


def _standing(running: int) -> int:
    """Half of those that run: the wait is half of the time that one takes."""
    return max(1, running // 2)


def body_bounds(settings: Any) -> BodyBounds:
    return BodyBounds(
        body_bytes=settings.PKB_MAX_BODY_BYTES,
        file_bytes=settings.PKB_MAX_FILE_BYTES,
        timeout_s=settings.PKB_BODY_TIMEOUT_S,
    )
