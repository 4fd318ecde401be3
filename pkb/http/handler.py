"""Django's ASGI handler with one thread switch per request and a body that is read already."""

from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import Any

import django
from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIHandler
from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase

from pkb.http.bodies import Body


class OneThreadHandler(ASGIHandler):
    """Runs each request in a thread with one switch; Django switches twice per middleware.

    Everything is synchronous except streams, which the event loop sends. Each switch waits for
    the interpreter lock (docs/decisions/0014).
    """

    def __init__(self) -> None:
        django.setup(set_prefix=False)
        super().__init__()

    def load_middleware(self, is_async: bool = False) -> None:
        super().load_middleware(is_async=False)

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        response = await sync_to_async(self.get_response, thread_sensitive=True)(request)
        if isinstance(response, StreamingHttpResponse) and not response.is_async:
            # A static file. Django would read it completely, with a warning.
            response.streaming_content = _read_by_part(iter(response))
        return response

    async def read_body(self, receive: Any) -> Any:
        return (
            receive.detach_file() if isinstance(receive, Body) else await super().read_body(receive)
        )


async def _read_by_part(parts: Iterator[bytes]) -> AsyncIterator[bytes]:
    read = sync_to_async(partial(next, parts, None), thread_sensitive=False)
    while (part := await read()) is not None:
        yield part
