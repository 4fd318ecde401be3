"""Reads over what was asked and said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from django.db import models

if TYPE_CHECKING:
    from qa.models import Answer  # noqa: F401


class AnswerQuerySet(models.QuerySet["Answer"]):
    def unanswered(self) -> Self:
        """Keep abstentions."""
        return self.filter(text="")
