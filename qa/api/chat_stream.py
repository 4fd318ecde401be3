"""Server-sent events of an answer, live and replayed; nothing here blocks the event loop."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cache, partial
from threading import Event as Flag
from time import monotonic
from typing import Any, TypeVar

import structlog
from django.conf import settings
from django.db import connection
from django.http import StreamingHttpResponse
from rest_framework.utils.encoders import JSONEncoder

from qa.api.chat_events import Event, EventStreamWriter
from qa.models import RESUME_TIME, ChatStream

log = structlog.get_logger(__name__)

# Sent at once, so that every proxy sees the stream begin.
GREETING = b": answering\n\n"
HEARTBEAT = b": heartbeat\n\n"
# How often a replay polls for events created by another process or request.
POLL_INTERVAL_S = 0.25
EVENT_STREAM = "text/event-stream"

Read = Callable[[int], tuple[list[Event], bool]]
"""Returns the stored events after one, and whether the stream has ended."""

Result = TypeVar("Result")


def respond_with_events(events: AsyncIterator[bytes], **headers: str) -> StreamingHttpResponse:
    """Return a response that no proxy stores or delays."""
    headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no", **headers}
    return StreamingHttpResponse(events, content_type=EVENT_STREAM, headers=headers)


def render_event(body: Any, *, kind: str = "", number: int = 0) -> bytes:
    """Return a server-sent event with its data in JSON, and a name and an id if it has them."""
    data = json.dumps(body, cls=JSONEncoder, ensure_ascii=False)
    key, name = f"id: {number}\n" if number else "", f"event: {kind}\n" if kind else ""
    return f"{key}{name}data: {data}\n\n".encode()


async def stream_answer(
    answer: Callable[[EventStreamWriter], None], stream: ChatStream, *, includes_steps: bool
) -> AsyncGenerator[bytes, None]:
    """Yield the events of an answer as they come; stop the work if the client disconnects.

    A question is answered in one of ``PKB_ANSWER_CONCURRENCY`` threads. Further questions wait
    without a thread, while their clients receive heartbeats.

    Args:
        answer: Answers with ``write_answer_events``, as the principal that it is bound to.
    """
    loop = asyncio.get_running_loop()
    events: asyncio.Queue[Event | None] = asyncio.Queue()
    is_cancelled = Flag()
    writer = EventStreamWriter(
        stream,
        publish=lambda event: loop.call_soon_threadsafe(events.put_nowait, event),
        is_cancelled=is_cancelled.is_set,
        includes_steps=includes_steps,
    )
    work = partial(_close_connection_after, partial(answer, writer))
    threads = _thread_pool(settings.PKB_ANSWER_CONCURRENCY)
    future = loop.run_in_executor(threads, copy_context().run, work)
    future.add_done_callback(partial(_end, events))
    try:
        yield GREETING
        count = 0
        while True:
            try:
                event = await asyncio.wait_for(events.get(), settings.PKB_CHAT_HEARTBEAT_S)
            except TimeoutError:
                yield HEARTBEAT
                continue
            if event is None:
                break
            count = max(count, event.ordinal)
            yield _render(event)
        if failure := future.exception():
            log.error("chat_failed", exc_info=failure)
            request_id = structlog.contextvars.get_contextvars().get("request_id", "")
            detail = f"Something went wrong. Request id: {request_id}"
            body = {"type": "error", "content": detail, "citation": None, "error": "error"}
            yield _render(Event(count + 1, "error", body))
    finally:
        is_cancelled.set()


@cache
def _thread_pool(size: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(size, thread_name_prefix="chat")


def _close_connection_after(work: Callable[[], Result]) -> Result:
    """Do the work, and then close the database connection of this thread."""
    try:
        return work()
    finally:
        connection.close()


def _end(events: "asyncio.Queue[Event | None]", work: "asyncio.Future[None]") -> None:
    if not work.cancelled():
        work.exception()  # retrieve it here: a disconnected client will not
    events.put_nowait(None)


async def replay_answer(read: Read, *, after: int) -> AsyncGenerator[bytes, None]:
    """Yield the stored events after ``after``, then those still to come."""
    loop = asyncio.get_running_loop()
    last_event_at = last_sent_at = monotonic()
    yield GREETING
    while monotonic() - last_event_at < RESUME_TIME.total_seconds():
        poll = partial(_close_connection_after, partial(read, after))
        events, has_ended = await loop.run_in_executor(None, poll)
        for event in events:
            yield _render(event)
            after, last_event_at = event.ordinal, monotonic()
            last_sent_at = last_event_at
        if has_ended:
            return
        if monotonic() - last_sent_at > settings.PKB_CHAT_HEARTBEAT_S:
            yield HEARTBEAT
            last_sent_at = monotonic()
        await asyncio.sleep(POLL_INTERVAL_S)


def _render(event: Event) -> bytes:
    return render_event(event.body, kind=event.kind, number=event.ordinal)
