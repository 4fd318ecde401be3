"""Spans leave without what people wrote: query strings, credentials, messages of exceptions."""

from contextlib import suppress
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode, Tracer

from pkb.redaction import RedactingExporter

SECRET = "what+does+Ida+earn"


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def tracer(exporter: InMemorySpanExporter) -> Tracer:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(RedactingExporter(exporter)))
    return provider.get_tracer("test")


def only(exporter: InMemorySpanExporter) -> ReadableSpan:
    (span,) = exporter.get_finished_spans()
    return span


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("http.url", f"http://me:word@h:80/answer?q={SECRET}", "http://h:80/answer"),
        ("url.full", f"https://h/answer?q={SECRET}#part", "https://h/answer"),
        ("http.target", f"/answer?q={SECRET}", "/answer"),
        ("url.query", f"q={SECRET}", None),
        ("http.request.header.referer", [f"https://h/ui/ask?q={SECRET}"], ("https://h/ui/ask",)),
        ("any.other", f"HTTP://h/?{SECRET}", "HTTP://h/"),
        ("db.statement", "SELECT '?' || %s", "SELECT '?' || %s"),
        ("http.status_code", 200, 200),
        ("counts", [1, 2], (1, 2)),
    ],
)
def test_addresses_end_with_their_path(
    tracer: Tracer, exporter: InMemorySpanExporter, name: str, value: Any, told: Any
) -> None:
    tracer.start_span("GET", attributes={name: value}).end()
    found = (only(exporter).attributes or {}).get(name)
    assert (tuple(found) if isinstance(found, list) else found) == told


def test_an_exception_is_told_by_its_type_alone(
    tracer: Tracer, exporter: InMemorySpanExporter
) -> None:
    with suppress(ValueError), tracer.start_as_current_span("parse"):
        raise ValueError(SECRET)
    span = only(exporter)
    (event,) = span.events
    assert (event.name, dict(event.attributes or {})["exception.type"]) == (
        "exception",
        "ValueError",
    )
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, None)
    assert SECRET not in span.to_json()


def test_all_else_of_a_span_stays(tracer: Tracer, exporter: InMemorySpanExporter) -> None:
    with (
        tracer.start_as_current_span("outer") as outer,
        tracer.start_as_current_span("inner", attributes={"batch": 3}) as inner,
    ):
        inner.add_event("began", {"chunk_count": 2})
    span = exporter.get_finished_spans()[0]
    assert (span.name, dict(span.attributes or {})) == ("inner", {"batch": 3})
    assert span.parent is not None
    assert span.parent.span_id == outer.get_span_context().span_id
    assert dict(span.events[0].attributes or {}) == {"chunk_count": 2}
    assert span.status.status_code is StatusCode.UNSET
    assert span.start_time is not None
    assert span.end_time is not None
    assert span.end_time >= span.start_time
