"""Webhooks: tell of events, and send what was told, signed as Standard Webhooks specifies.

``tell`` writes deliveries in the transaction of the change, so none is lost or untrue. A worker
sends them: soon after the commit, and looks for the rest once a minute.
"""

import base64
import hmac
import json
import secrets
from collections.abc import Callable, Iterable
from datetime import timedelta
from http import HTTPStatus
from time import time
from typing import Any
from uuid import UUID

from django.apps import apps
from django.conf import settings
from django.db import models, transaction
from django.db.models import Q
from django.utils import timezone

from corpus.access.principal import SYSTEM, Principal, Scope, acting_as
from corpus.errors import FetchingOff, InvalidInput, NotFetched, WebhookNotFound
from corpus.models import Collection, Webhook, WebhookDelivery
from corpus.models.base import OwnedModel
from corpus.models.webhook import MAX_REASON_CHARS
from corpus.postgres import execute, fetch_prepared
from corpus.public_web import check_url, post
from corpus.queue import enqueue_webhooks

MAX_WEBHOOKS = 20  # of one user
# Seconds of one attempt: a worker does nothing else meanwhile.
SEND_S = 5.0
# Seconds before each further attempt, together 43 hours.
RETRY_DELAYS_S = (60, 300, 1_800, 7_200, 18_000, 36_000, 86_400)
SECRET_PREFIX = "whsec_"  # noqa: S105
SECRET_BYTES = 32


class WebhookEvent(models.TextChoices):
    """Event types. The prefix before the dot is the kind of object, such as ``document``."""

    DOCUMENT_READY = "document.ready", "A document can be found"
    DOCUMENT_REPLACED = "document.replaced", "A new version of a document is stored"
    DOCUMENT_FAILED = "document.failed", "A document could not be read"
    DOCUMENT_DELETED = "document.deleted", "A document is deleted"
    JOB_ENDED = "job.ended", "A job has ended"
    ANSWER_STALE = "answer.stale", "A quote of your answer no longer stands in its document"
    ANSWER_DISAGREEMENT = "answer.disagreement", "Documents disagree about your question"
    QUESTION_CHANGED = "standing_question.changed", "The answer to your standing question changed"


# By the part of an event before its dot: the model of its subject, and its path in the API.
_SUBJECTS = {
    "document": ("corpus.Document", "/documents/{}"),
    "job": ("corpus.Job", "/jobs/{}"),
    "answer": ("qa.Answer", "/answers/{}"),
    "standing_question": ("qa.StandingQuestion", "/standing-questions/{}"),
}
_IS_WANTED = "SELECT FROM corpus_webhook WHERE is_active AND %s = ANY (events) LIMIT 1"
# The lock keeps the webhook until the commit.
_TELL = """
INSERT INTO corpus_webhookdelivery
       (id, webhook_id, event, subject_id, state, attempts, reason, created_at, next_at)
SELECT gen_random_uuid(), h.id, %(event)s, s.id, 'waiting', 0, '', %(now)s, %(now)s
  FROM corpus_webhook h
  JOIN unnest(%(ids)s::uuid[], %(collections)s::bigint[], %(makers)s::bigint[])
       AS s (id, collection_id, made_by_id) USING (collection_id)
 WHERE h.is_active AND %(event)s = ANY (h.events)
   AND (NOT %(is_owned)s OR h.made_by_id IS NOT DISTINCT FROM s.made_by_id)
   FOR KEY SHARE OF h
RETURNING id
"""


def tell(event: WebhookEvent, subjects: Iterable[Any]) -> None:
    """Write an event for the webhooks of its subjects' collections; call it in the transaction.

    Args:
        subjects: Rows with a collection; those of one user are told to that user's webhooks only.
    """
    with acting_as(SYSTEM):
        if not fetch_prepared(_IS_WANTED, [event.value]):
            return
        rows = list(subjects)
        values = {
            "event": event,
            "now": timezone.now(),
            "ids": [row.pk for row in rows],
            "collections": [row.collection_id for row in rows],
            "makers": [getattr(row, "made_by_id", None) for row in rows],
            "is_owned": any(isinstance(row, OwnedModel) for row in rows),
        }
        if execute(_TELL, values):
            transaction.on_commit(enqueue_webhooks)


def create_webhook(url: str, events: Iterable[str], *, collection: Collection) -> Webhook:
    """Create a webhook with a new secret.

    Raises:
        FetchingOff, NotFetched: Nothing may be sent to this URL.
        InvalidInput: The user has too many.
    """
    if Webhook.objects.count() >= MAX_WEBHOOKS:
        raise InvalidInput(f"You have {MAX_WEBHOOKS} webhooks already.")
    key = base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()
    hook = Webhook(collection=collection, secret=f"{SECRET_PREFIX}{key}")
    return change_webhook(hook, url=url, events=events)


def change_webhook(hook: Webhook, **values: Any) -> Webhook:
    """Set and save values: ``url``, ``events``, ``is_active``.

    Raises:
        FetchingOff, NotFetched: It is active, and nothing may be sent to its URL.
    """
    for name, value in values.items():
        setattr(hook, name, value)
    if hook.is_active:
        check_url(hook.url, hosts=settings.PKB_WEBHOOK_HOSTS)
    hook.events, hook.paused_until = sorted(set(hook.events)), None
    hook.save()
    return hook


def find_webhook(webhook_id: UUID) -> Webhook:
    """Return a webhook of the principal.

    Raises:
        WebhookNotFound: The principal has no such webhook.
    """
    hook = Webhook.objects.select_related("collection__owner").filter(pk=webhook_id).first()
    if hook is None:
        raise WebhookNotFound(f"There is no webhook {webhook_id}.")
    return hook


@transaction.atomic
def delete_webhook(webhook_id: UUID) -> None:
    """Delete a webhook with its deliveries, once no transaction tells it anything.

    Raises:
        WebhookNotFound: The principal has no such webhook.
    """
    list(Webhook.objects.select_for_update().filter(pk=webhook_id))
    find_webhook(webhook_id).delete()


def send_again(delivery_id: UUID, *, hook: Webhook) -> WebhookDelivery:
    """Let a delivery be sent at once, whatever became of it.

    Raises:
        WebhookNotFound: The webhook has no such delivery.
    """
    delivery = hook.deliveries.filter(pk=delivery_id).first()
    if delivery is None:
        raise WebhookNotFound(f"There is no delivery {delivery_id}.")
    delivery.state, delivery.attempts = WebhookDelivery.State.WAITING, 0
    delivery.next_at = timezone.now()
    delivery.save(update_fields=["state", "attempts", "next_at"])
    Webhook.objects.filter(pk=hook.pk).update(paused_until=None)
    transaction.on_commit(enqueue_webhooks)
    return delivery


def send_due(*, should_stop: Callable[[], bool] = lambda: False) -> bool:
    """Send what is due, oldest first.

    Returns:
        False if it stopped before everything was sent.
    """
    while not should_stop():
        delivery = _claim()
        if delivery is None:
            return True
        _send(delivery)
    return False


@transaction.atomic
def _claim() -> WebhookDelivery | None:
    """Return a due delivery; if the worker is killed now, it is due again after its delay."""
    now = timezone.now()
    with acting_as(SYSTEM):
        rows = WebhookDelivery.objects.select_for_update(of=("self",), skip_locked=True)
        reachable = Q(webhook__paused_until=None) | Q(webhook__paused_until__lte=now)
        due = rows.filter(reachable, state="waiting", next_at__lte=now, webhook__is_active=True)
        related = due.select_related("webhook__collection__owner")
        delivery = related.order_by("created_at", "pk").first()
        if delivery is not None:
            delay_s = RETRY_DELAYS_S[min(delivery.attempts, len(RETRY_DELAYS_S) - 1)]
            delivery.attempts += 1
            delivery.attempted_at, delivery.next_at = now, now + timedelta(seconds=delay_s)
            delivery.save(update_fields=["attempts", "attempted_at", "next_at"])
    return delivery


def _send(delivery: WebhookDelivery) -> None:
    hook = delivery.webhook
    body = _compose(delivery)
    if body is None:
        with acting_as(SYSTEM):
            delivery.delete()
        return
    headers = {"Content-Type": "application/json", **sign(str(delivery.pk), body, hook.secret)}
    status, reason, state = None, "", WebhookDelivery.State.WAITING
    try:
        status = post(hook.url, body, headers=headers, total_s=SEND_S)
    except (FetchingOff, NotFetched) as exc:
        reason = str(exc)[:MAX_REASON_CHARS]
    is_last = delivery.attempts > len(RETRY_DELAYS_S)
    # By Standard Webhooks, 410 says that nothing more is wanted.
    is_over = status == HTTPStatus.GONE or (is_last and status is None)
    if status is not None and HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        state = WebhookDelivery.State.SENT
    elif is_last or is_over:
        state = WebhookDelivery.State.FAILED
    # An address at which nothing answers is not tried for each of its deliveries.
    changed: dict[str, Any] = {"paused_until": delivery.next_at if status is None else None}
    if is_over:
        changed["is_active"] = False
    # Both may have been deleted meanwhile.
    with acting_as(SYSTEM):
        deliveries = WebhookDelivery.objects.filter(pk=delivery.pk)
        deliveries.update(state=state, status=status, reason=reason)
        Webhook.objects.filter(pk=hook.pk).update(**changed)


def _compose(delivery: WebhookDelivery) -> bytes | None:
    """Return the body by what the webhook's owner may read now; None if that is nothing."""
    hook = delivery.webhook
    model, path = _SUBJECTS[delivery.event.partition(".")[0]]
    owner = SYSTEM
    if hook.made_by_id is not None:
        owner = Principal(user_id=hook.made_by_id, scopes=frozenset({Scope.READ}))
    with acting_as(owner):
        rows: models.QuerySet[Any] = apps.get_model(model)._default_manager.filter(
            pk=delivery.subject_id, collection=hook.collection_id
        )
        subject = rows.first()
        is_readable = Webhook.objects.filter(pk=hook.pk).exists()
        is_deletion = delivery.event == WebhookEvent.DOCUMENT_DELETED
        if not is_readable or (subject is None) != is_deletion:
            return None
        data = {
            "id": str(delivery.subject_id),
            "path": path.format(delivery.subject_id),
            "collection": hook.collection.qualified_name,
        }
        if subject is not None:
            data["title"] = str(subject)
            data |= {"status": subject.status} if hasattr(subject, "status") else {}
    told = {"type": delivery.event, "timestamp": delivery.created_at.isoformat(), "data": data}
    return json.dumps(told, ensure_ascii=False).encode()


def sign(message_id: str, body: bytes, secret: str) -> dict[str, str]:
    """Return the headers of a message that prove who sent it, and when."""
    timestamp = str(int(time()))
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    digest = hmac.digest(key, f"{message_id}.{timestamp}.".encode() + body, "sha256")
    signature = f"v1,{base64.b64encode(digest).decode()}"
    return {
        "webhook-id": message_id,
        "webhook-timestamp": timestamp,
        "webhook-signature": signature,
    }
