from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from unfold.admin import ModelAdmin, TabularInline

from qa.models import Answer, Citation


class CitationInline(TabularInline):
    model = Citation
    fields = ["title", "quote", "start_char", "end_char", "support", "score"]
    readonly_fields = fields
    extra = 0
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Answer)
class AnswerAdmin(ModelAdmin):
    list_display = ["question", "answer", "confidence", "answerer", "collection", "created_at"]
    list_filter = ["collection", "answerer"]
    search_fields = ["question", "text"]
    date_hierarchy = "created_at"
    inlines = [CitationInline]

    @admin.display(description="answer")
    def answer(self, answer: Answer) -> str:
        return answer.text[:120] or "(abstained)"

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
