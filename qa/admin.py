from collections.abc import Callable, Iterable
from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin, TabularInline

from qa.feedback import accept_feedback, dismiss_feedback
from qa.models import Answer, Citation, Feedback, Message, Session


class ReadOnlyInline(TabularInline):
    extra = 0
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class ReadOnlyAdmin(ModelAdmin):
    """Shows what was asked and said; none of it is written by hand."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class CitationInline(ReadOnlyInline):
    model = Citation
    fields = ["title", "quote", "start_char", "end_char", "support", "score"]
    readonly_fields = fields


class MessageInline(ReadOnlyInline):
    model = Message
    fields = ["answer", "searched", "created_at"]
    readonly_fields = fields


@admin.register(Answer)
class AnswerAdmin(ReadOnlyAdmin):
    list_display = ["question", "answer", "confidence", "answerer", "collection", "created_at"]
    list_filter = ["collection", "answerer"]
    search_fields = ["question", "text"]
    date_hierarchy = "created_at"
    inlines = [CitationInline]

    @admin.display(description="answer")
    def answer(self, answer: Answer) -> str:
        return answer.text[:120] or "(abstained)"


@admin.register(Session)
class SessionAdmin(ReadOnlyAdmin):
    list_display = ["id", "created_at", "last_used_at"]
    date_hierarchy = "last_used_at"
    inlines = [MessageInline]


@admin.register(Feedback)
class FeedbackAdmin(ReadOnlyAdmin):
    list_display = ["answer", "rating", "comment", "review", "created_at"]
    list_filter = ["review", "rating", "answer__collection"]
    search_fields = ["comment", "answer__question"]
    list_select_related = ["answer"]
    actions = ["accept", "dismiss"]

    @admin.action(description="Accept as a question of the evaluation")
    def accept(self, request: HttpRequest, chosen: QuerySet[Feedback]) -> None:
        self._review(request, chosen, accept_feedback)

    @admin.action(description="Dismiss")
    def dismiss(self, request: HttpRequest, chosen: QuerySet[Feedback]) -> None:
        self._review(request, chosen, dismiss_feedback)

    def _review(
        self,
        request: HttpRequest,
        chosen: QuerySet[Feedback],
        review: Callable[[Iterable[UUID]], int],
    ) -> None:
        count = review(chosen.values_list("pk", flat=True))
        messages.success(request, f"{count} reviewed; what was reviewed before stays as it was.")
