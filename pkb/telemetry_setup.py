"""OpenTelemetry setup: optional exporters, and metrics for Prometheus."""

from functools import cache
from typing import Any

from django.conf import settings
from opentelemetry import metrics, trace
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.instrumentation.django import DjangoInstrumentor
from opentelemetry.instrumentation.psycopg import PsycopgInstrumentor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import (
    ConsoleMetricExporter,
    MetricExporter,
    PeriodicExportingMetricReader,
)
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SpanExporter

from pkb.redaction import RedactingExporter
from pkb.status.gauges import observe_state


@cache
def set_up() -> None:
    """Install the tracer and meter providers, once per process."""
    resource = Resource.create(
        {SERVICE_NAME: settings.PKB_OTEL_SERVICE_NAME, SERVICE_VERSION: settings.VERSION}
    )
    readers: list[Any] = [PrometheusMetricReader()]
    spans: SpanExporter
    points: MetricExporter
    if settings.PKB_OTEL_EXPORTER != "none":
        endpoint = settings.PKB_OTEL_ENDPOINT
        if settings.PKB_OTEL_EXPORTER == "console":
            spans, points = ConsoleSpanExporter(), ConsoleMetricExporter()
        else:
            spans = OTLPSpanExporter(endpoint=f"{endpoint}/v1/traces")
            points = OTLPMetricExporter(endpoint=f"{endpoint}/v1/metrics")
        readers.append(PeriodicExportingMetricReader(points))
        tracing = TracerProvider(resource=resource)
        tracing.add_span_processor(BatchSpanProcessor(RedactingExporter(spans)))
        trace.set_tracer_provider(tracing)
        DjangoInstrumentor().instrument()
        PsycopgInstrumentor().instrument()
    metrics.set_meter_provider(MeterProvider(resource=resource, metric_readers=readers))
    observe_state()
