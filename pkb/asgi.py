"""The service: Django over ASGI, /mcp beside it, telemetry on, models loading in the background."""

import os
import sys
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pkb.settings")

from pkb.http.handler import OneThreadHandler

django_application = OneThreadHandler()

from pkb.http.handler import open_in_turn  # noqa: E402
from pkb.preload import start_warming  # noqa: E402
from pkb.telemetry import set_up  # noqa: E402  (needs the settings)
from qa.api.mcp.transport import serve_mcp  # noqa: E402

# Seconds after which a thread that computes lets others go on: the event loop among them. The
# answers take as long (docs/decisions/0014).
SWITCH_INTERVAL_S = 0.0003

sys.setswitchinterval(SWITCH_INTERVAL_S)
set_up()
start_warming()
QUESTIONS = frozenset({"/answer", "/ask", "/ask-selected", "/chat", "/v1/chat/completions"})
pages = open_in_turn(django_application, paths=QUESTIONS)


async def application(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "http" and scope["path"] == "/mcp":
        await serve_mcp(scope, receive, send)
    else:
        await pages(scope, receive, send)
