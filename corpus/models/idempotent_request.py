"""Stored responses of requests with an ``Idempotency-Key``."""

from collections.abc import Iterable
from typing import Any, Self
from uuid import UUID

from django.db import models
from django.db.models.fields.json import KT
from django.utils import timezone

from corpus.models.base import BoundModel


class IdempotentRequestQuerySet(models.QuerySet["IdempotentRequest"]):
    def naming(self, documents: Iterable[UUID]) -> Self:
        """Keep requests whose response names one of these documents."""
        keys = [str(key) for key in documents]
        return self.alias(named=KT("body__document_id")).filter(named__in=keys)


class IdempotentRequest(BoundModel):
    """The response to a request with an ``Idempotency-Key``."""

    key = models.CharField(max_length=255)
    request_sha256 = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField()
    body: "models.JSONField[Any, Any]" = models.JSONField()
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = IdempotentRequestQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                "made_by",
                "made_with",
                "key",
                name="idempotent_key_once_a_user",
                nulls_distinct=False,
            ),
        ]
        indexes = [models.Index(KT("body__document_id"), name="idempotent_document")]

    def __str__(self) -> str:
        return self.key
