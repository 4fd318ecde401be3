"""ASGI application: Django and /mcp behind admission control; models load in the background."""

import os
import sys
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pkb.settings")

from pkb.http.handler import OneThreadHandler

django_application = OneThreadHandler()

from django.conf import settings  # noqa: E402
from django.db import connections  # noqa: E402

from pkb.databases import set_request_timeouts  # noqa: E402
from pkb.http.admission import AdmissionMiddleware, BodyLimits, queue_limits  # noqa: E402
from pkb.http.endpoint_lookup import MCP  # noqa: E402
from pkb.preload import start_loading  # noqa: E402
from pkb.telemetry_setup import set_up  # noqa: E402  (needs the settings)
from qa.api.mcp.transport import serve_mcp  # noqa: E402

# Interval at which threads yield the interpreter lock, so that the event loop is not blocked by
# computations. Answers do not get slower (docs/decisions/0014).
SWITCH_INTERVAL_S = 0.0003

sys.setswitchinterval(SWITCH_INTERVAL_S)
set_request_timeouts(connections.settings, settings)
set_up()
start_loading()


async def route(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "http" and scope["path"] == MCP:
        await serve_mcp(scope, receive, send)
    else:
        await django_application(scope, receive, send)


application = AdmissionMiddleware(
    route,
    queues=queue_limits(settings),
    bodies=BodyLimits(
        body_bytes=settings.PKB_MAX_BODY_BYTES,
        file_bytes=settings.PKB_MAX_FILE_BYTES,
        timeout_s=settings.PKB_BODY_TIMEOUT_S,
    ),
)
