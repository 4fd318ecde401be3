"""Ask within a session: what was said before completes the question, and the answer is kept."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from time import perf_counter
from uuid import UUID, uuid5

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from corpus.access.principal import current_restricted_key_id, current_user_id
from corpus.embedders.tokens import count_cl100k_tokens
from qa.answer_question import AnsweredQuestion, answer_question
from qa.context import QAContext
from qa.models import Answer, Message, Session
from qa.retention import reset_completed_question
from qa.types import Exchange

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


def open_session(session_id: UUID | None = None, *, keep: bool = False) -> Session:
    """Return the session of that id, made if it is not there or has expired; a new one for None.

    Args:
        session_id: Of one's own session; what else a user chooses leads to one of another id,
            always the same, so that nobody is told whether somebody has this.
        keep: It does not expire from now on, and is listed.
    """
    if session_id is None:
        return Session.objects.create(is_kept=keep)
    key = _own_key(session_id)
    Session.objects.expired().filter(pk=key).delete()
    session, is_new = Session.objects.get_or_create(pk=key, defaults={"is_kept": keep})
    if keep and not session.is_kept:
        session.is_kept = True
        Session.objects.filter(pk=session.pk).update(is_kept=True)
    if not is_new:
        _touch(session)
    return session


def _own_key(session_id: UUID) -> UUID:
    user_id = current_user_id()
    if user_id is None or Session.objects.filter(pk=session_id).exists():
        return session_id
    return uuid5(session_id, f"{user_id}:{current_restricted_key_id() or ''}")


def ask_in_session(
    question: str,
    *,
    session: Session,
    collection: str,
    context: QAContext,
    tags: Sequence[str] = (),
    selected_text: str = "",
    context_tokens: int = CONTEXT_TOKENS,
    route: str = "ask",
) -> Reply:
    """Answer a question within its session and keep both.

    Args:
        selected_text: A text that came with the question: the answer is looked for in it first.
        context_tokens: Most tokens of what was said before that the question is read with.

    Raises:
        CollectionNotFound: There is no such collection.
        BackendError: A model failed and nothing stands in for it.
        ClientDisconnected: By the context's listener.
    """
    started = perf_counter()
    answered = answer_question(
        question,
        collection=collection,
        tags=tags,
        k=settings.PKB_RETRIEVAL_K,
        context=context,
        route=route,
        history=recall(session, most_tokens=context_tokens),
        selected_text=selected_text,
    )
    _remember(session, answered)
    latency_ms = round((perf_counter() - started) * 1000)
    return Reply(answered, session.pk, timezone.now(), latency_ms)


def recall(session: Session, *, most_tokens: int) -> list[Exchange]:
    """Return the last exchanges of a session, oldest first: at most 3, and so many tokens."""
    messages = session.messages.select_related("answer").order_by("-created_at", "-pk")
    exchanges = [
        Exchange(message.answer.question, message.searched, message.answer.text)
        for message in messages[:CONTEXT_MESSAGES]
    ]
    return list(reversed(trim_history(exchanges, most_tokens)))


def trim_history(exchanges: Sequence[Exchange], most_tokens: int) -> list[Exchange]:
    """Return the first ones that have at most so many tokens together."""
    kept = []
    for exchange in exchanges:
        most_tokens -= count_cl100k_tokens(f"{exchange.question}\n{exchange.answer}")
        if most_tokens < 0:
            break
        kept.append(exchange)
    return kept


@transaction.atomic
def _remember(session: Session, answered: AnsweredQuestion) -> None:
    """Put an exchange into its session, unless that was deleted meanwhile.

    With a conversation that someone deletes goes what is being said in it.
    """
    if not Session.objects.lock_for_key_share([str(session.pk)]):
        if session.is_kept:
            Answer.objects.filter(pk=answered.id).delete()
        return
    # A question that stands on its own is told by its two forms being equal.
    is_as_asked = answered.searched == " ".join(answered.answer.question.split())
    searched = answered.answer.question if is_as_asked else answered.searched
    message = Message.objects.create(session=session, answer_id=answered.id, searched=searched)
    # Erased since the conversation was read: the question may have been completed from it.
    if session.messages.filter(answer__kind=Answer.Kind.ERASED).exists():
        reset_completed_question(message)
    _touch(session)


def _touch(session: Session) -> None:
    Session.objects.filter(pk=session.pk).update(last_used_at=timezone.now())
