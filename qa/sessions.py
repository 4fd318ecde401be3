"""Conversations: ask within one; find, rename and delete saved ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from time import perf_counter
from uuid import UUID, uuid5

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from corpus.access.principal import (
    SYSTEM,
    acting_as,
    current_restricted_key_id,
    current_user_id,
)
from corpus.embedders.tokens import count_cl100k_tokens
from corpus.errors import SessionNotFound
from corpus.models import Chunk
from corpus.sentences import sentence_spans
from qa.answer_question import answer_question
from qa.context import QAContext
from qa.models import Answer, Message, Session
from qa.retention import reset_completed_question
from qa.search.hybrid import passage_of
from qa.types import AnsweredQuestion, Exchange, Quote

# Exchanges of a session that a question is read with.
CONTEXT_MESSAGES = 3
CONTEXT_TOKENS = 3_000


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer within a session."""

    answered: AnsweredQuestion
    session_id: UUID
    timestamp: datetime
    latency_ms: int


def continues_session(session_id: UUID | None) -> bool:
    """Return whether a question of this session has an earlier one."""
    expired = Session.objects.expired()
    return Message.objects.filter(session=session_id).exclude(session__in=expired).exists()


def open_session(session_id: UUID | None = None, *, keep: bool = False) -> Session:
    """Return the session with this id, created if missing or expired; a new one for None.

    Args:
        session_id: An id of one's own. Another user's id maps to a fixed other id, so that nobody
            learns whether it exists.
        keep: Save the session: it is listed and does not expire.
    """
    if session_id is None:
        return Session.objects.create(is_kept=keep)
    key, user_id = session_id, current_user_id()
    if user_id is not None and not Session.objects.filter(pk=session_id).exists():
        key = uuid5(session_id, f"{user_id}:{current_restricted_key_id() or ''}")
    Session.objects.expired().filter(pk=key).delete()
    session, is_new = Session.objects.get_or_create(pk=key, defaults={"is_kept": keep})
    if keep and not session.is_kept:
        session.is_kept = True
        Session.objects.filter(pk=session.pk).update(is_kept=True)
    if not is_new:
        _touch(session)
    return session


def ask_in_session(
    question: str,
    *,
    session: Session,
    collection: str,
    context: QAContext,
    tags: Sequence[str] = (),
    document_id: UUID | None = None,
    selected_text: str = "",
    context_tokens: int = CONTEXT_TOKENS,
    route: str = "ask",
) -> Reply:
    """Answer a question within its session and store the exchange.

    Args:
        selected_text: A text sent with the question; it is searched first.
        context_tokens: Most tokens of the history to use.

    Raises:
        CollectionNotFound, DocumentNotFound: As ``answer_question``.
        BackendError: A model failed and there is no fallback.
        ClientDisconnected: By the context's listener.
    """
    started = perf_counter()
    answered = answer_question(
        question,
        collection=collection,
        tags=tags,
        document_id=document_id,
        k=settings.PKB_RETRIEVAL_K,
        context=context,
        route=route,
        history=load_history(session, max_tokens=context_tokens),
        selected_text=selected_text,
    )
    _store_exchange(session, answered)
    latency_ms = round((perf_counter() - started) * 1000)
    return Reply(answered, session.pk, timezone.now(), latency_ms)


def load_history(session: Session, *, max_tokens: int) -> list[Exchange]:
    """Return the last exchanges, oldest first: at most 3, within the token limit."""
    messages = session.messages.select_related("answer").order_by("-created_at", "-pk")
    messages = messages.prefetch_related("answer__citations")[:CONTEXT_MESSAGES]
    exchanges = [
        Exchange(
            message.answer.question,
            message.searched,
            message.answer.text,
            versions=_quoted_versions(message.answer),
            short=None if at else _find_short(message.answer),
        )
        for at, message in enumerate(messages)
    ]
    return trim_history(exchanges[::-1], max_tokens)


def _quoted_versions(answer: Answer) -> tuple[str, ...]:
    """Return the document versions of ``Exchange.versions``."""
    quoted = [each.content_sha256 for each in answer.citations.all() if each.document_id]
    others = [other["content_sha256"] for other in answer.disagreement]
    closest = [close["content_sha256"] for close in answer.closest[:1]]
    return tuple(dict.fromkeys([*quoted, *others] if quoted else closest))


def _find_short(answer: Answer) -> Quote | None:
    """Return the quote of ``Exchange.short``."""
    short_start, short_end = answer.short_start or 0, answer.short_end or 0
    for citation in answer.citations.all():
        start, end = short_start - citation.answer_start, short_end - citation.answer_start
        if 0 <= start <= end <= len(citation.quote):
            break
    else:
        return None
    chunk = Chunk.objects.with_document().filter(citations=citation).first()
    if chunk is None or chunk.document.content_sha256 != citation.content_sha256:
        return None
    # A language model's statement is no quote: nothing of it is marked in the document.
    if start == end or citation.quote[start:end] != answer.text[short_start:short_end]:
        start, end = sentence_spans(citation.quote)[0]
    passage = passage_of(chunk, score=answer.confidence, similarity=0.0)
    return Quote(passage, citation.start_char + start, citation.start_char + end)


def trim_history(exchanges: Sequence[Exchange], max_tokens: int = CONTEXT_TOKENS) -> list[Exchange]:
    """Return the last of these exchanges that a question is read with, oldest first."""
    recent: list[Exchange] = []
    token_count = 0
    for exchange in reversed(exchanges[-CONTEXT_MESSAGES:]):
        token_count += count_cl100k_tokens(f"{exchange.question}\n{exchange.answer}")
        if token_count > max_tokens:
            break
        recent.insert(0, exchange)
    return recent


@transaction.atomic
def _store_exchange(session: Session, answered: AnsweredQuestion) -> None:
    """Add an exchange to its session, unless that was deleted meanwhile.

    If a saved conversation was deleted, its running answer is deleted, too.
    """
    if not Session.objects.lock_for_key_share([str(session.pk)]):
        if session.is_kept:
            Answer.objects.filter(pk=answered.id).delete()
        return
    # A self-contained question is recognized by its two equal forms.
    is_as_asked = answered.searched == " ".join(answered.answer.question.split())
    searched = answered.answer.question if is_as_asked else answered.searched
    message = Message.objects.create(session=session, answer_id=answered.id, searched=searched)
    # The question may have been completed from an answer erased meanwhile.
    if session.messages.filter(answer__kind=Answer.Kind.ERASED).exists():
        reset_completed_question(message)
    _touch(session)


def _touch(session: Session) -> None:
    Session.objects.filter(pk=session.pk).update(last_used_at=timezone.now())


def find_session(session_id: UUID) -> Session:
    """Return a saved conversation with its first question and question count.

    Raises:
        SessionNotFound: There is no such saved conversation.
    """
    session = Session.objects.listed().filter(pk=session_id).first()
    if session is None:
        raise SessionNotFound(f"There is no chat {session_id}.")
    return session


def rename_session(session_id: UUID, name: str) -> Session:
    """Rename a conversation; an empty name shows its first question instead.

    Raises:
        SessionNotFound: There is no such saved conversation.
    """
    find_session(session_id)
    Session.objects.filter(pk=session_id).update(name=name)
    return find_session(session_id)


@transaction.atomic
def delete_session(session_id: UUID) -> None:
    """Delete a conversation with its answers, citations, feedback and events.

    Raises:
        SessionNotFound: There is no such saved conversation.
    """
    # Locked: a running answer is added before, or finds it deleted.
    session = Session.objects.filter(pk=session_id, is_kept=True).select_for_update().first()
    if session is None:
        raise SessionNotFound(f"There is no chat {session_id}.")
    # Also answers from collections that the user can no longer read.
    with acting_as(SYSTEM):
        Answer.objects.filter(message__session=session).delete()
        session.delete()
