"""Django's ASGI handler: a thread a request, and a body that was read before."""

from typing import Any

import django
from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIHandler
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from pkb.http.bodies import Body


class OneThreadHandler(ASGIHandler):
    """Go to a thread once a request; Django's own goes there twice for each middleware.

    Everything here is synchronous but for what streams, which the event loop still sends. Each
    change over waits for the interpreter's lock (docs/decisions/0014).
    """

    def __init__(self) -> None:
        django.setup(set_prefix=False)
        super().__init__()

    def load_middleware(self, is_async: bool = False) -> None:
        super().load_middleware(is_async=False)

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        return await sync_to_async(self.get_response, thread_sensitive=True)(request)

    async def read_body(self, receive: Any) -> Any:
        return receive.hand_on() if isinstance(receive, Body) else await super().read_body(receive)
