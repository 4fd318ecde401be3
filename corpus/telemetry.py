"""The name of every span and metric, the means to record them, and the id of a request.

Only the OpenTelemetry API is used here: without a set-up (``pkb.telemetry``) all of it does
nothing. Text of questions and documents is never put on a span.
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
    """What is timed."""

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
    """What is looked up whenever the metrics are read: name, unit and meaning."""

    MODELS_LOADED = ("models.loaded", "", "1 once all models are in memory")
    DATABASE_UP = ("database.up", "", "1 while the database answers")
    WORKERS = ("worker.alive", "", "workers that were heard of in the last 30 seconds")
    WORKER_LAST_SEEN = ("worker.last_seen", "s", "since any worker was heard of")
    HOME_WORKERS = ("worker.home", "", "of the workers, those of the host that keeps the files")
    QUEUE_WAITING = ("queue.waiting", "", "tasks that a worker could begin now")
    QUEUE_OLDEST = ("queue.oldest", "s", "for how long the first of them has waited")
    HOME_OLDEST = ("queue.home_oldest", "s", "the same of those that are for that host alone")
    QUEUE_FAILED = ("queue.failed", "", "tasks that broke off unforeseen")
    DISK_FREE = ("disk.free", "By", "what is left where something is kept")
    DISK_SIZE = ("disk.size", "By", "of the disk where something is kept")
    BACKUP_AGE = ("backup.age", "s", "since the last good backup")
    BACKUP_FAILED = ("backup.failed", "", "1 while the last try of a backup failed")
    BACKUP_INTERVAL = ("backup.interval", "s", "from one backup to the next, as it should be")
    REPLICA_USED = ("replica.used", "", "1 while searches read the standby")
    REPLICA_BEHIND = ("replica.behind", "By", "of the primary's log, not replayed by the standby")
    REPLICA_LAG = ("replica.lag", "s", "age of the newest commit of a standby that lacks some")


class Count(Enum):
    """What is counted elsewhere, and looked up as gauges are."""

    REPLICA_READS = ("replica.reads", "", "what searches read, by server and why not the standby")


Measured = Gauge | Count


def observe(measured: Measured, callback: CallbackT) -> None:
    """Have each look at the metrics ask for it."""
    name, unit, description = measured.value
    is_gauge = isinstance(measured, Gauge)
    create = _meter.create_observable_gauge if is_gauge else _meter.create_observable_counter
    create(name, [callback], unit=unit, description=description)


def current_request_id() -> str:
    """Return the id under which the request at work is logged; in a job the one that made it."""
    return str(structlog.contextvars.get_contextvars().get("request_id", ""))


@contextmanager
def span(name: Step, **attributes: str | int | float | bool) -> Iterator[trace.Span]:
    """Time what is done inside, as a child of the span around it."""
    with _tracer.start_as_current_span(name.value, attributes=attributes) as current:
        yield current


@contextmanager
def measured(
    requests: metrics.Counter, latency_ms: metrics.Histogram, *, model: str, route: str
) -> Iterator[None]:
    """Count a request and its time in milliseconds, be it answered or failed."""
    labels = metric_labels(model=model, route=route)
    started = perf_counter()
    try:
        yield
    finally:
        requests.add(1, labels)
        latency_ms.record((perf_counter() - started) * 1000, labels)


def metric_labels(*, model: str, route: str) -> dict[str, str]:
    return {"env": settings.PKB_OTEL_ENVIRONMENT, "model": model, "route": route}
