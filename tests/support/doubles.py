"""Stand-ins for what is outside: exporters, models, language models' servers."""

from functools import cache
from typing import Any

from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from corpus.models import Collection
from corpus.vector_index import ensure_vector_index

# Words hashed into vectors: an embedder that needs no file.
HASHING_MODEL, HASHING_DIMENSION = "hashing-64", 64
HASHING = {
    "BACKEND": "corpus.embedders.hashed_words.HashingEmbedder",
    "OPTIONS": {"dimension": HASHING_DIMENSION},
}


class StubModel:
    """Is ready, and knows nothing; the methods of a port are put in by who needs them."""

    name = "stub"
    is_loaded = True

    def load(self) -> None:
        """Do nothing."""


@cache
def recorded_spans() -> InMemorySpanExporter:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return exporter


@cache
def recorded_metrics() -> InMemoryMetricReader:
    reader = InMemoryMetricReader()
    metrics.set_meter_provider(MeterProvider(metric_readers=[reader]))
    return reader


def points() -> dict[str, Any]:
    found = recorded_metrics().get_metrics_data()
    assert found is not None
    return {
        metric.name: list(metric.data.data_points)
        for resource in found.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }


def embed_by_hashing(settings: Any) -> None:
    """Let the default model be one that needs no file, and rank by nothing else."""
    settings.PKB_EMBEDDERS = {**settings.PKB_EMBEDDERS, HASHING_MODEL: HASHING}
    settings.PKB_EMBEDDING_MODEL = HASHING_MODEL
    settings.PKB_RERANKER_MODEL = "none"


def hash_collections() -> None:
    """Let all collections be of that model."""
    ensure_vector_index(model=HASHING_MODEL, dimension=HASHING_DIMENSION)
    Collection.objects.update(embedding_model=HASHING_MODEL, dimension=HASHING_DIMENSION)
