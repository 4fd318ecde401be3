"""The service: Django over ASGI, /mcp beside it, telemetry on, models loading in the background."""

import os
from typing import Any

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pkb.settings")
pages = get_asgi_application()

from pkb.telemetry import set_up  # noqa: E402  (needs the settings)
from pkb.warming import start_warming  # noqa: E402
from qa.mcp.transport import serve_mcp  # noqa: E402

set_up()
start_warming()


async def application(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "http" and scope["path"] == "/mcp":
        await serve_mcp(scope, receive, send)
    else:
        await pages(scope, receive, send)
