"""Reads over what was asked and said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from django.db import models

if TYPE_CHECKING:
    from qa.models import Answer  # noqa: F401


class AnswerQuerySet(models.QuerySet["Answer"]):
    def unanswered(self) -> Self:
        """Keep abstentions."""
        return self.filter(text="")

    def by_question(self) -> models.QuerySet[Any, Any]:
        """One row a question: ``question``, how often it was asked (``times``), when last."""
        rows = self.order_by().values("question")
        counted = rows.annotate(times=models.Count("pk"), last=models.Max("created_at"))
        return counted.order_by("-times", "-last")
