"""Server-sent events of an answer, live and replayed; nothing here blocks the event loop.

A question is answered in one of ``PKB_ANSWER_CONCURRENCY`` threads; further questions wait
without a thread, while their clients receive heartbeats.
"""

import asyncio
import json
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cache, partial
from threading import Event as Flag
from time import monotonic
from uuid import UUID

import structlog
from django.conf import settings
from django.db import connection
from rest_framework.utils.encoders import JSONEncoder

from corpus.access.principal import Principal, acting_as
from qa.api.chat_events import (
    ChatRequest,
    Event,
    EventStreamWriter,
    read_events,
    write_answer_events,
)
from qa.models import RESUME_TIME, ChatStream

log = structlog.get_logger(__name__)

# Sent at once, so that every proxy sees the stream begin.
GREETING = b": answering\n\n"
HEARTBEAT = b": heartbeat\n\n"
# How often a replay polls for events created by another process or request.
POLL_INTERVAL_S = 0.25


async def stream_answer(request: ChatRequest, stream: ChatStream) -> AsyncGenerator[bytes, None]:
    """Yield the events of an answer as they come; stop the work if the client disconnects."""
    loop = asyncio.get_running_loop()
    events: asyncio.Queue[Event | None] = asyncio.Queue()
    is_cancelled = Flag()
    writer = EventStreamWriter(
        stream,
        publish=lambda event: loop.call_soon_threadsafe(events.put_nowait, event),
        is_cancelled=is_cancelled.is_set,
        includes_steps=request.includes_steps,
    )
    work = partial(_answer, request, stream, writer)
    threads = _thread_pool(settings.PKB_ANSWER_CONCURRENCY)
    future = loop.run_in_executor(threads, copy_context().run, work)
    future.add_done_callback(partial(_end, events))
    try:
        yield GREETING
        count = 0
        async for event in _wait_for_events(events):
            if event is None:
                yield HEARTBEAT
            else:
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


def _answer(request: ChatRequest, stream: ChatStream, writer: EventStreamWriter) -> None:
    try:
        with acting_as(request.principal):
            write_answer_events(request, stream=stream, writer=writer)
    finally:
        connection.close()


def _end(events: "asyncio.Queue[Event | None]", work: "asyncio.Future[None]") -> None:
    if not work.cancelled():
        work.exception()  # retrieve it here: a disconnected client will not
    events.put_nowait(None)


async def _wait_for_events(
    events: "asyncio.Queue[Event | None]",
) -> AsyncGenerator[Event | None, None]:
    """Yield events until the end; None whenever a heartbeat is due."""
    while True:
        try:
            event = await asyncio.wait_for(events.get(), settings.PKB_CHAT_HEARTBEAT_S)
        except TimeoutError:
            yield None
            continue
        if event is None:
            return
        yield event


async def replay_answer(
    stream_id: UUID, *, after: int, principal: Principal
) -> AsyncGenerator[bytes, None]:
    """Yield the stored events after ``after``, then those still to come."""
    loop = asyncio.get_running_loop()
    poll = partial(_poll, principal)
    last_event_at = last_sent_at = monotonic()
    yield GREETING
    while monotonic() - last_event_at < RESUME_TIME.total_seconds():
        events, has_ended = await loop.run_in_executor(None, poll, stream_id, after)
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


def _poll(principal: Principal, stream_id: UUID, after: int) -> tuple[list[Event], bool]:
    try:
        with acting_as(principal):
            return read_events(stream_id, after=after)
    finally:
        connection.close()


def _render(event: Event) -> bytes:
    data = json.dumps(event.body, cls=JSONEncoder, ensure_ascii=False)
    key = f"id: {event.ordinal}\n" if event.ordinal else ""
    return f"{key}event: {event.kind}\ndata: {data}\n\n".encode()
