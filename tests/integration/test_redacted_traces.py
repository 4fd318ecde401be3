"""What a process that exports traces writes of requests with a question in their address."""

import pytest

from tests.support.processes import run_python

pytestmark = pytest.mark.slow

SECRET = "whatidaearns"
PATHS = (
    "/documents",
    "/tags",
    "/nowhere",
    "/ui/library",
    "/admin/login/",
    "/admin/corpus/document/",
)
PROGRAM = f"""
from contextlib import suppress
import django
django.setup()
from django.contrib.auth import get_user_model
from django.test import Client
from opentelemetry import metrics, trace
from corpus.telemetry import Step, span
client = Client(raise_request_exception=False)
client.force_login(get_user_model().objects.create_superuser("ida"))
for path in {PATHS}:
    client.get(path, {{"q": "{SECRET}"}}, headers={{"Referer": "http://h/?q={SECRET}"}})
with suppress(ValueError), span(Step.PARSE):
    raise ValueError("{SECRET}")
trace.get_tracer_provider().shutdown()
metrics.get_meter_provider().shutdown()
"""


def test_no_query_string_and_no_message_is_exported(database: str) -> None:
    done = run_python(
        "-c",
        PROGRAM,
        DATABASE_URL=database,
        DJANGO_SETTINGS_MODULE="pkb.settings",
        OTEL_EXPORTER="console",
        ALLOWED_HOSTS="testserver",
        OTEL_INSTRUMENTATION_HTTP_CAPTURE_HEADERS_SERVER_REQUEST="referer",
    )
    assert done.returncode == 0, done.stderr
    for told in ('"GET documents"', '"http.url": "http://testserver/documents"', "ValueError"):
        assert told in done.stdout
    assert "http://h/" in done.stdout  # a header that was asked for
    assert SECRET not in done.stdout + done.stderr
