"""Remove user content from spans before they are exported.

Instrumentation records full URLs, whose query string may hold a question, and exception messages,
which may quote a document. All spans pass this module.
"""

import re
from collections.abc import Mapping, Sequence

from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.trace import Status
from opentelemetry.util.types import AttributeValue

_QUERIES = frozenset({"url.query", "url.fragment"})
# The log has both, with the request id.
_EXCEPTION_TEXTS = frozenset({"exception.message", "exception.stacktrace"})
_WITHHELD = _QUERIES | _EXCEPTION_TEXTS
_URL = re.compile(r"[a-z][a-z0-9+.-]{0,20}://|/", re.IGNORECASE)
_AFTER_THE_PATH = re.compile(r"[?#].*", re.DOTALL)
_CREDENTIALS = re.compile(r"(?<=://)[^/?#]*@")


class RedactingExporter(SpanExporter):
    """Exports spans without query strings, credentials and exception messages."""

    def __init__(self, inner: SpanExporter) -> None:
        self._inner = inner

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return self._inner.export([redact(span) for span in spans])

    def shutdown(self) -> None:
        self._inner.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._inner.force_flush(timeout_millis)


def redact(span: ReadableSpan) -> ReadableSpan:
    """Return a copy of the span with URLs and exceptions redacted."""
    return ReadableSpan(
        name=_without_query(span.name),
        context=span.context,
        parent=span.parent,
        resource=span.resource,
        attributes=_redacted(span.attributes),
        events=[
            Event(event.name, _redacted(event.attributes), event.timestamp) for event in span.events
        ],
        links=span.links,
        kind=span.kind,
        status=Status(span.status.status_code),
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )


def _redacted(attributes: Mapping[str, AttributeValue] | None) -> dict[str, AttributeValue]:
    redacted: dict[str, AttributeValue] = {}
    for name, value in (attributes or {}).items():
        if name in _WITHHELD:
            continue
        if isinstance(value, str):
            redacted[name] = _without_query(value)
        elif isinstance(value, Sequence):
            texts = [_without_query(each) for each in value if isinstance(each, str)]
            redacted[name] = texts or value
        else:
            redacted[name] = value
    return redacted


def _without_query(text: str) -> str:
    if not _URL.match(text):
        return text
    return _CREDENTIALS.sub("", _AFTER_THE_PATH.sub("", text))
