"""The name of every span and metric, and the means to record them.

Only the OpenTelemetry API is used here: without a set-up (``pkb.telemetry``) all of it does
nothing. Text of questions and documents is never put on a span.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from time import perf_counter

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


def observe_backups(*, age_s: CallbackT, failure: CallbackT) -> None:
    """Have each look at the metrics ask how old the last backup is, and whether a try failed."""
    _meter.create_observable_gauge("backup.age", [age_s], unit="s")
    _meter.create_observable_gauge("backup.failed", [failure])


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
