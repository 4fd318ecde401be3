"""The service: Django over ASGI, /mcp beside it, telemetry on, models loading in the background."""

import os
import sys
from typing import Any

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pkb.settings")
django_application = get_asgi_application()

from pkb.opening import open_in_turn  # noqa: E402
from pkb.telemetry import set_up  # noqa: E402  (needs the settings)
from pkb.warming import start_warming  # noqa: E402
from qa.mcp.transport import serve_mcp  # noqa: E402

# Seconds after which a thread that computes lets others go on: the event loop among them.
SWITCH_INTERVAL_S = 0.001

sys.setswitchinterval(SWITCH_INTERVAL_S)
set_up()
start_warming()
pages = open_in_turn(django_application, paths=frozenset({"/chat"}))


async def application(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "http" and scope["path"] == "/mcp":
        await serve_mcp(scope, receive, send)
    else:
        await pages(scope, receive, send)
