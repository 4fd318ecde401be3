"""A request's middleware and its view share one thread; what streams is sent by the event loop."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from threading import get_ident
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator
from django.http import FileResponse, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.urls import path

from pkb.http.handler import OneThreadHandler

communicator: Any = ApplicationCommunicator  # it has no types
threads: list[int] = []


def recording(
    get_response: Callable[[HttpRequest], HttpResponseBase],
) -> Callable[[HttpRequest], HttpResponseBase]:
    def middleware(request: HttpRequest) -> HttpResponseBase:
        threads.append(get_ident())
        response = get_response(request)
        threads.append(get_ident())
        return response

    return middleware


def show(request: HttpRequest) -> HttpResponse:
    threads.append(get_ident())
    return HttpResponse("shown")


async def _parts() -> AsyncIterator[bytes]:
    yield b"one "
    threads.append(get_ident())
    yield b"two"


def stream(request: HttpRequest) -> StreamingHttpResponse:
    return StreamingHttpResponse(_parts())


def send_file(request: HttpRequest) -> FileResponse:
    return FileResponse(Path(__file__).open("rb"))


def fail(request: HttpRequest) -> HttpResponse:
    raise LookupError("gone")


urlpatterns = [
    path("show", show),
    path("stream", stream),
    path("file", send_file),
    path("fail", fail),
]


@pytest.fixture(autouse=True)
def pages(settings: Any) -> None:
    settings.ROOT_URLCONF = __name__
    settings.MIDDLEWARE = [f"{__name__}.recording"] * 3
    threads.clear()


async def get(page: str) -> tuple[int, bytes]:
    scope: dict[str, Any] = {
        "type": "http", "method": "GET", "path": page, "query_string": b"", "headers": [],
    }  # fmt: skip
    client = communicator(OneThreadHandler(), scope)
    await client.send_input({"type": "http.request", "body": b""})
    status = (await client.receive_output())["status"]
    body = b""
    while True:
        part = await client.receive_output()
        body += part.get("body", b"")
        if not part.get("more_body"):
            await client.wait()
            return status, body


def test_middleware_and_view_run_in_one_thread_beside_the_loop() -> None:
    assert asyncio.run(get("/show")) == (200, b"shown")
    assert len(threads) == 7
    assert len(set(threads)) == 1
    assert get_ident() not in threads


def test_what_streams_is_sent_by_the_loop() -> None:
    assert asyncio.run(get("/stream")) == (200, b"one two")
    assert threads[-1] == get_ident()


def test_a_file_is_sent_whole_and_without_a_warning() -> None:
    assert asyncio.run(get("/file")) == (200, Path(__file__).read_bytes())


def test_a_view_that_fails_is_a_500() -> None:
    assert asyncio.run(get("/fail"))[0] == 500
