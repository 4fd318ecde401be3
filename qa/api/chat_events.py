"""Events of a streamed answer: created while it is answered, stored, and read again."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import structlog
from django.db import DatabaseError, IntegrityError, transaction
from django.utils import timezone

from corpus.api.outages import translate_error
from corpus.errors import ClientDisconnected, DatabaseUnavailable, PkbError
from corpus.models import Document
from qa import models
from qa.answer_record import (
    AnswerShown,
    CitationShown,
    StoredAnswerShown,
    cited_quote,
    new_answer_record,
    stored_answer_records,
)
from qa.concurrency import Listener
from qa.models import ChatEvent, ChatStream
from qa.search.display import add_quote_pages
from qa.sessions import Reply
from qa.types import Citation

log = structlog.get_logger(__name__)

# No event follows one of these, even if the stream's row is not finished.
LAST_KINDS = ("done", "error")
ERASED = models.Answer.Kind.ERASED


@dataclass(frozen=True, slots=True)
class Event:
    """One server-sent event; ``body`` has ``type``, ``content`` and ``citation``.

    Attributes:
        ordinal: Its id, from 1; 0 for events that are not stored.
    """

    ordinal: int
    kind: str
    body: dict[str, Any]


Ask = Callable[[Listener], Reply]
"""Answers a question, and tells the listener of its progress."""


class EventStreamWriter(Listener):
    """A listener that stores each event in the database, then publishes it."""

    def __init__(
        self,
        stream: ChatStream,
        *,
        publish: Callable[[Event], object],
        is_cancelled: Callable[[], bool],
        includes_steps: bool = False,
    ) -> None:
        self._stream = stream
        self._publish = publish
        self._is_cancelled = is_cancelled
        self._includes_steps = includes_steps
        self._count = 0

    def raise_if_cancelled(self) -> None:
        if self._is_cancelled():
            raise ClientDisconnected("The client disconnected before the answer was complete.")

    def on_step(self, step: str) -> None:
        if self._includes_steps:
            self._publish(Event(0, "step", _body("step", content=step)))

    def on_text(self, text: str, citation: Citation) -> None:
        self.raise_if_cancelled()
        with transaction.atomic():
            # Lock the document until the event is stored: a deletion then finds the event.
            document_id = citation.passage.document_id or None
            if document_id and not Document.objects.lock_for_key_share([document_id]):
                return  # just deleted: neither send nor store its words
            if text:  # a sentence with two sources is sent once
                self._write("chunk", content=text, document_id=document_id)
            # The citation as in the answer object, with its text and headings.
            path = citation.passage.heading_path
            place = {
                "chapter": path[0] if path else None,
                "section": path[1] if len(path) > 1 else None,
                "heading": path[-1] if path else None,
            }
            (placed,) = add_quote_pages([citation])
            shown = CitationShown(cited_quote(placed)).data
            self._write(
                "citation",
                citation={**shown, "text": citation.quote, "source": place},
                document_id=document_id,
            )

    def end(self, reply: Reply) -> None:
        answer = AnswerShown(new_answer_record(reply.answered)).data
        with transaction.atomic():
            self._finish(answer_id=reply.answered.id)
            if models.Answer.objects.filter(pk=reply.answered.id, kind=ERASED).exists():
                self._stream.events.filter(kind="chunk").delete()
            self._write("done", **_names(reply.answered.id, reply.session_id, answer))

    def fail(self, detail: str, code: str) -> None:
        """End with an error; send it even if it cannot be stored."""
        # Publish before storing: the database may be what failed.
        event = self._next("error", content=detail, error=code)
        self._publish(event)
        try:
            self._store(event)
            self._finish()
        except DatabaseError as exc:
            log.error("chat_error_not_kept", reason=type(exc).__name__)

    def _write(self, kind: str, *, document_id: str | None = None, **members: Any) -> None:
        event = self._next(kind, **members)
        self._store(event, document_id=document_id)
        self._publish(event)

    def _next(self, kind: str, **members: Any) -> Event:
        self._count += 1
        return Event(self._count, kind, _body(kind, **members))

    def _store(self, event: Event, *, document_id: str | None = None) -> None:
        ChatEvent.objects.create(
            stream=self._stream,
            ordinal=event.ordinal,
            kind=event.kind,
            body={} if event.kind == "done" else event.body,  # read again from its answer
            document_id=document_id,
        )

    def _finish(self, **fields: Any) -> None:
        row = ChatStream.objects.filter(pk=self._stream.pk)
        row.update(finished_at=timezone.now(), **fields)


def write_answer_events(ask: Ask, writer: EventStreamWriter) -> None:
    """Answer a question as events; a failure is the last event."""
    try:
        writer.raise_if_cancelled()
        writer.end(ask(writer))
    except PkbError as exc:
        log.info("chat_ended_early", reason=str(exc), code=exc.code)
        writer.fail(str(exc) or exc.title, exc.code)
    except IntegrityError:  # its stream was deleted with the conversation
        writer.fail("The conversation was deleted.", "conversation_deleted")
    except DatabaseError as exc:
        error = translate_error(exc) or DatabaseUnavailable("The database does not answer.")
        log.error("chat_broken_off", reason=type(exc).__name__)
        writer.fail(str(error), error.code)


def read_events(stream_id: UUID, after: int) -> tuple[list[Event], bool]:
    """Return the stored events after ``after``, and whether the stream has ended."""
    stream = ChatStream.objects.filter(pk=stream_id).first()
    if stream is None:
        return [], True
    events = []
    for row in stream.events.filter(ordinal__gt=after).order_by("ordinal"):
        body = row.body
        if row.kind == "done":
            records = stored_answer_records(models.Answer.objects.shown().filter(streams=stream))
            answer = StoredAnswerShown(records[0]).data if records else None
            body = _body("done", **_names(stream.answer_id, stream.session_id, answer))
        events.append(Event(row.ordinal, row.kind, body))
    has_ended = stream.finished_at is not None or any(e.kind in LAST_KINDS for e in events)
    return events, has_ended


def _body(kind: str, **members: Any) -> dict[str, Any]:
    return {"type": kind, "content": "", "citation": None, **members}


def _names(answer_id: object, session_id: object, answer: Any) -> dict[str, Any]:
    return {"answer_id": str(answer_id), "session_id": str(session_id), "answer": answer}
