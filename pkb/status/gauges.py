"""Gauges of the service status, read when metrics are collected."""

from collections.abc import Callable, Iterator
from functools import partial
from time import monotonic
from typing import NamedTuple

from opentelemetry.metrics import CallbackOptions, Observation

from corpus.telemetry import Gauge, observe
from pkb.status.service_status import State, read_state

# A collector reads all gauges within milliseconds: one status serves them.
CACHE_S = 1.0

ReadState = Callable[[], State]


class Measure(NamedTuple):
    gauge: Gauge
    value: float
    labels: dict[str, str] = {}


class CachedState:
    """Reads the status and caches it for a moment."""

    def __init__(self, read: ReadState = read_state, *, cache_s: float = CACHE_S) -> None:
        self._read = read
        self._cache_s = cache_s
        self._cached: tuple[float, State] | None = None

    def __call__(self) -> State:
        cached = self._cached
        if cached is None or monotonic() - cached[0] > self._cache_s:
            state = self._read()
            # Cached from the end of the read, which may take longer than the cache time.
            self._cached = cached = (monotonic(), state)
        return cached[1]


def observe_state() -> None:
    """Register the gauges with OpenTelemetry."""
    read = CachedState()
    for gauge in Gauge:
        observe(gauge, partial(_observations, read, gauge))


def _observations(read: ReadState, gauge: Gauge, options: CallbackOptions) -> list[Observation]:
    measures = (each for each in measure_state(read()) if each.gauge is gauge)
    return [Observation(each.value, each.labels) for each in measures]


def measure_state(state: State) -> Iterator[Measure]:
    """Yield the known measures; without the database, none of workers and queue."""
    yield Measure(Gauge.MODELS_LOADED, state.models_loaded)
    yield Measure(Gauge.DATABASE_UP, state.workers is not None)
    if state.workers is not None:
        yield Measure(Gauge.WORKERS, state.alive_count)
        yield Measure(Gauge.HOME_WORKERS, state.home_alive_count)
    for worker in (state.workers or ())[:1]:
        yield Measure(Gauge.WORKER_LAST_SEEN, worker.silent.total_seconds())
    if state.backlog is not None:
        oldest, home_oldest = state.backlog.oldest, state.backlog.home_oldest
        yield Measure(Gauge.QUEUE_WAITING, state.backlog.waiting_count)
        yield Measure(Gauge.QUEUE_OLDEST, oldest.total_seconds() if oldest else 0)
        yield Measure(Gauge.HOME_OLDEST, home_oldest.total_seconds() if home_oldest else 0)
        yield Measure(Gauge.QUEUE_FAILED, state.backlog.failed_count)
    for disk in state.disks:
        yield Measure(Gauge.DISK_FREE, disk.free_bytes, {"use": disk.use})
        yield Measure(Gauge.DISK_SIZE, disk.size_bytes, {"use": disk.use})
    if state.backups is not None:
        yield Measure(Gauge.BACKUP_FAILED, bool(state.backups.failure))
        yield Measure(Gauge.BACKUP_INTERVAL, state.backup_interval.total_seconds())
        if state.backups.age is not None:
            yield Measure(Gauge.BACKUP_AGE, state.backups.age.total_seconds())
