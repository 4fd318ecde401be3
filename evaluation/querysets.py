"""Querysets of evaluation questions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from django.db import models
from django.db.models.functions import StrIndex

if TYPE_CHECKING:
    from corpus.models import Collection
    from evaluation.models import Question  # noqa: F401


class QuestionQuerySet(models.QuerySet["Question"]):
    def accepted(self, collection: Collection) -> Self:
        """Return the accepted questions of a collection, oldest first."""
        return self.filter(collection=collection, state="accepted").order_by("created_at", "pk")

    def with_current_quote(self) -> Self:
        """Return questions whose quote is still in their document, or without a document."""
        place = StrIndex("document__raw_text", models.F("quote"))
        return self.annotate(place=place).filter(models.Q(document=None) | models.Q(place__gt=0))
