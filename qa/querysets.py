"""Querysets of answers, citations, conversations and feedback."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Self

from django.apps import apps
from django.conf import settings
from django.db import models
from django.db.models import Case, Count, Exists, F, OuterRef, Prefetch, Q, Subquery, Value, When
from django.db.models.fields.json import KeyTextTransform, KeyTransform
from django.db.models.functions import Coalesce, Substr
from django.utils import timezone

from corpus.models.base import LockableQuerySet
from qa.intent import IntentKind

if TYPE_CHECKING:
    from qa.models import Answer, ChatStream, Citation, Feedback, Session  # noqa: F401

# Intents that documents cannot answer.
NO_QUESTIONS = (IntentKind.GREETING, IntentKind.OVERVIEW)


class AnswerQuerySet(LockableQuerySet["Answer"]):
    def unanswered(self) -> Self:
        """Keep questions to the documents that got no answer."""
        return self.filter(text="").exclude(kind="erased").exclude(intent__in=NO_QUESTIONS)

    def by_question(self) -> models.QuerySet[Any, Any]:
        """Group by question: ``question``, count (``times``), and last time."""
        rows = self.order_by().values("question")
        counted = rows.annotate(times=models.Count("pk"), last=models.Max("created_at"))
        return counted.order_by("-times", "-last")

    def of_session(self, session: Session) -> Self:
        """Keep the answers of a conversation, oldest first."""
        return self.filter(message__session=session).order_by("message__created_at", "message__pk")

    def shown(self) -> Self:
        """Prefetch what an answer object shows, with the state of each citation."""
        citations = apps.get_model("qa", "Citation").objects.compared()
        return self.prefetch_related(Prefetch("citations", queryset=citations))


class CitationQuerySet(models.QuerySet["Citation"]):
    def compared(self) -> Self:
        """Annotate the span's current text, and its context if the version is the same."""
        length = F("end_char") - F("start_char")
        around = F("context_end") - F("context_start")
        same_version = Q(document__content_sha256=F("content_sha256"))
        # Page ranges are stored, except with older answers.
        unplaced = same_version & Q(page__isnull=False, last_page=None)
        return self.annotate(
            standing=Substr("document__raw_text", F("start_char") + 1, length),
            surroundings=Case(
                When(same_version, Substr("document__raw_text", F("context_start") + 1, around))
            ),
            packed_scan=Case(When(unplaced, KeyTextTransform("scanned", "document__outline"))),
            page_starts=Case(When(unplaced, KeyTransform("pages", "document__outline"))),
            preview=F("chunk__text_preview"),
            file_path=Coalesce(F("document__file_path"), Value("")),
        )


class SessionQuerySet(LockableQuerySet["Session"]):
    def expired(self) -> Self:
        """Keep sessions unused for ``PKB_SESSION_MINUTES``.

        Of saved ones, only those without a message.
        """
        oldest = timezone.now() - timedelta(minutes=settings.PKB_SESSION_MINUTES)
        said = apps.get_model("qa", "Message").objects.filter(session=OuterRef("pk"))
        return self.filter(Q(is_kept=False) | ~Exists(said), last_used_at__lt=oldest)

    def listed(self) -> Self:
        """Keep saved conversations, with ``first_question`` and ``question_count``."""
        messages = apps.get_model("qa", "Message").objects.filter(session=OuterRef("pk"))
        first = messages.order_by("created_at", "pk").values("answer__question")[:1]
        # A subquery per shown row: a join would count all rows first.
        count = messages.order_by().values("session").annotate(count=Count("pk")).values("count")
        rows = self.filter(Exists(messages), is_kept=True)
        return rows.annotate(first_question=Subquery(first), question_count=Subquery(count))

    def mentioning(self, text: str) -> Self:
        """Keep those whose name, questions or answers contain a text, in any case."""
        messages = apps.get_model("qa", "Message").objects.filter(
            Q(answer__question__icontains=text) | Q(answer__text__icontains=text),
            session=OuterRef("pk"),
        )
        return self.filter(Q(name__icontains=text) | Exists(messages))


# How long an ended stream can be resumed.
RESUME_TIME = timedelta(minutes=5)
# An unfinished stream this old belonged to a killed process.
MAX_STREAM_TIME = timedelta(hours=2)


class ChatStreamQuerySet(models.QuerySet["ChatStream"]):
    def expired(self) -> Self:
        """Keep streams that cannot be read again."""
        return self.filter(self._has_expired())

    def readable(self) -> Self:
        """Keep streams that can be read again."""
        return self.exclude(self._has_expired())

    @staticmethod
    def _has_expired() -> Q:
        now = timezone.now()
        is_old = Q(created_at__lt=now - MAX_STREAM_TIME)
        return is_old | Q(finished_at__isnull=False, finished_at__lt=now - RESUME_TIME)


class FeedbackQuerySet(models.QuerySet["Feedback"]):
    def to_review(self) -> Self:
        """Keep unreviewed feedback, oldest first, with its answer."""
        return (
            self.filter(review="waiting")
            .select_related("answer__collection")
            .order_by("created_at", "pk")
        )

    def accepted(self) -> Self:
        """Keep accepted feedback, with its answer."""
        return self.filter(review="accepted").select_related("answer__collection")
