"""Django's ASGI handler, with all of a request's middleware and its view in one thread."""

import django
from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIHandler
from django.http import HttpRequest
from django.http.response import HttpResponseBase


class OneThreadHandler(ASGIHandler):
    """Go to a thread once a request; Django's own goes there twice for each middleware.

    Everything here is synchronous but for what streams, which the event loop still sends. Each
    change over waits for the interpreter's lock: /health beside 100 new chats took 33 ms, with
    this 25 (p50 of three runs each of benchmarks/streaming.py, two cores).
    """

    def __init__(self) -> None:
        django.setup(set_prefix=False)
        super().__init__()

    def load_middleware(self, is_async: bool = False) -> None:
        super().load_middleware(is_async=False)

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        return await sync_to_async(self.get_response, thread_sensitive=True)(request)
