"""Stand-ins for what is outside: exporters, models, language models' servers."""

from dataclasses import replace
from functools import cache

from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from qa.types import Passage, Reading


def read_as(
    passage: Passage, answer: str = "", *, score: float = 0.0, margin: float = 0.0
) -> Passage:
    """The passage as a reader leaves it that found this answer in its text."""
    start = passage.text.index(answer)
    reading = Reading(score, start, start + len(answer), margin)
    return replace(passage, reading=reading)


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
