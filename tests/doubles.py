"""Stand-ins for what is outside: exporters, language models' servers."""

from functools import cache

import numpy as np
from numpy.typing import NDArray
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from qa.proof.confidence import AnswerabilityHead

# Finds every text as little of an answer as every other.
BLIND = AnswerabilityHead(np.zeros((2, 1), np.float32), np.zeros((2, 2), np.float32))


def no_states(query: str, text: str) -> NDArray[np.float32]:
    return np.zeros((1, 1), np.float32)


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
