"""Webhooks, and what was or is to be sent to them."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Self

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone

from corpus.models.base import OwnedModel

MAX_WEBHOOK_URL_CHARS = 2_048
MAX_REASON_CHARS = 200
# How long deliveries are listed; more than all attempts of one take.
KEEP_DELIVERIES = timedelta(days=30)


class Webhook(OwnedModel):
    """An address that is told of events in one collection.

    Attributes:
        secret: ``whsec_`` and the Base64 of the key that signs.
        is_active: False: nothing is told or sent.
        paused_until: The address could not be reached; until then nothing is sent to it.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    collection = models.ForeignKey("corpus.Collection", models.CASCADE, related_name="+")
    url = models.CharField(max_length=MAX_WEBHOOK_URL_CHARS)
    events = ArrayField(models.CharField(max_length=40))
    secret = models.CharField(max_length=100, editable=False)
    is_active = models.BooleanField(default=True)
    paused_until = models.DateTimeField(null=True, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["-created_at", "id"]

    def __str__(self) -> str:
        return self.url


class DeliveryQuerySet(models.QuerySet["WebhookDelivery"]):
    def expired(self) -> Self:
        """Keep those that are no longer listed."""
        return self.filter(created_at__lt=timezone.now() - KEEP_DELIVERIES)


class WebhookDelivery(models.Model):
    """An event for a webhook, written in the transaction of what it tells of.

    It holds no word of its subject, whose title is read when it is sent.

    Attributes:
        id: Sent as ``webhook-id``, the same at each attempt.
        subject_id: The document, job, answer or standing question.
        status: HTTP status of the last attempt; None if no reply came.
        reason: Why no reply came.
        next_at: When it is sent, at the earliest.
    """

    class State(models.TextChoices):
        WAITING = "waiting"
        SENT = "sent"
        FAILED = "failed"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    webhook = models.ForeignKey(Webhook, models.CASCADE, related_name="deliveries", db_index=False)
    event = models.CharField(max_length=40)
    subject_id = models.UUIDField()
    state = models.CharField(max_length=20, choices=State.choices, default=State.WAITING)
    attempts = models.PositiveSmallIntegerField(default=0, help_text="times it was sent")
    status = models.PositiveSmallIntegerField(null=True)
    reason = models.CharField(max_length=MAX_REASON_CHARS, default="")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    next_at = models.DateTimeField(default=timezone.now, editable=False)
    attempted_at = models.DateTimeField(null=True, editable=False)

    objects = DeliveryQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "-id"]
        indexes = [
            models.Index("webhook", "created_at", "id", name="delivery_listing"),
            models.Index(
                "created_at", name="delivery_waiting", condition=models.Q(state="waiting")
            ),
        ]

    def __str__(self) -> str:
        return f"{self.event} {self.subject_id}"
