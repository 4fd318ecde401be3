"""Names of spans and metrics, and functions to record them.

This module uses only the OpenTelemetry API, which does nothing until ``pkb.telemetry_setup`` sets
it up.
Spans never contain text of questions or documents.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum, StrEnum
from time import perf_counter

import structlog
from django.conf import settings
from opentelemetry import metrics, trace
from opentelemetry.metrics import CallbackT

_tracer = trace.get_tracer("pkb")
_meter = metrics.get_meter("pkb")


class Step(StrEnum):
    """Names of spans."""

    INGEST = "ingest"
    LOAD = "load"
    NORMALIZE = "normalize"
    HASH = "hash"
    CHUNKING = "chunking"
    EMBEDDING = "embedding"
    WRITE_DOCUMENT = "db.write.document"
    WRITE_CHUNKS = "db.write.chunks"
    WRITE_EMBEDDINGS = "db.write.embeddings"
    WRITE_TAGS = "db.write.tags"
    ANSWER = "answer"
    PARSE = "parse"
    RETRIEVE_VECTOR = "retrieve.vector"
    RETRIEVE_LEXICAL = "retrieve.lexical"
    RETRIEVE_FUSE = "retrieve.fuse"
    RERANK = "rerank"
    ANSWER_DSPY = "answer.dspy"
    CITE = "cite"
    READ_VECTOR = "db.read.vector"
    READ_LEXICAL = "db.read.lexical"
    READ_CANDIDATES = "db.read.candidates"
    READ_TOKENS = "db.read.tokens"
    EMBED_TOKENS = "rerank.embed"


ingest_requests = _meter.create_counter("ingest.requests")
answer_requests = _meter.create_counter("answer.requests")
answer_cache = _meter.create_counter("answer.cache")
ingest_latency_ms = _meter.create_histogram("ingest.latency_ms", unit="ms")
answer_latency_ms = _meter.create_histogram("answer.latency_ms", unit="ms")
prompt_tokens = _meter.create_histogram("llm.tokens.prompt")
completion_tokens = _meter.create_histogram("llm.tokens.completion")
refused_requests = _meter.create_counter("http.refused")
hit_rate_at_k = _meter.create_histogram("retrieval.hit_rate_at_k")
mean_score_top1 = _meter.create_histogram("retrieval.mean_score_top1")
mean_score_topk = _meter.create_histogram("retrieval.mean_score_topk")


class Gauge(Enum):
    """Gauges that are read at each export: name, unit and description."""

    MODELS_LOADED = ("models.loaded", "", "1 once all models are in memory")
    DATABASE_UP = ("database.up", "", "1 while the database answers")
    WORKERS = ("worker.alive", "", "workers with a heartbeat in the last 30 seconds")
    WORKER_LAST_SEEN = ("worker.last_seen", "s", "time since the last heartbeat of any worker")
    HOME_WORKERS = ("worker.home", "", "those of them on the host that keeps the files")
    QUEUE_WAITING = ("queue.waiting", "", "tasks that a worker could start now")
    QUEUE_OLDEST = ("queue.oldest", "s", "wait of the oldest of them")
    HOME_OLDEST = ("queue.home_oldest", "s", "the same for tasks of the host that keeps the files")
    QUEUE_FAILED = ("queue.failed", "", "tasks that failed unexpectedly")
    DISK_FREE = ("disk.free", "By", "free space of a disk that pkb uses")
    DISK_SIZE = ("disk.size", "By", "size of that disk")
    BACKUP_AGE = ("backup.age", "s", "time since the last good backup")
    BACKUP_FAILED = ("backup.failed", "", "1 if the last attempt of a backup failed")
    BACKUP_INTERVAL = ("backup.interval", "s", "configured time between backups")


def observe(gauge: Gauge, callback: CallbackT) -> None:
    """Register a callback that returns the value at each export."""
    name, unit, description = gauge.value
    _meter.create_observable_gauge(name, [callback], unit=unit, description=description)


def current_request_id() -> str:
    """Return the id of the current request; in a job, of the request that created it."""
    return str(structlog.contextvars.get_contextvars().get("request_id", ""))


@contextmanager
def span(name: Step, **attributes: str | int | float | bool) -> Iterator[trace.Span]:
    """Record a span around the block."""
    with _tracer.start_as_current_span(name.value, attributes=attributes) as current:
        yield current


@contextmanager
def measured(
    requests: metrics.Counter, latency_ms: metrics.Histogram, *, model: str, route: str
) -> Iterator[None]:
    """Count a request and record its duration in milliseconds, also if it fails."""
    labels = metric_labels(model=model, route=route)
    started = perf_counter()
    try:
        yield
    finally:
        requests.add(1, labels)
        latency_ms.record((perf_counter() - started) * 1000, labels)


def metric_labels(*, model: str, route: str) -> dict[str, str]:
    return {"env": settings.PKB_OTEL_ENVIRONMENT, "model": model, "route": route}
