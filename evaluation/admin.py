from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from corpus.admin.base_admin import UnaddableAdmin
from evaluation.models import Question
from evaluation.questions import decide_questions


@admin.register(Question)
class QuestionAdmin(UnaddableAdmin):
    list_display = ["text", "state", "origin", "document", "quote", "created_at"]
    list_filter = ["state", "origin", "collection"]
    search_fields = ["text", "quote"]
    list_select_related = ["document", "collection"]
    date_hierarchy = "created_at"
    fields = ["text", "answers", "state", "collection", "document", "quote", "origin"]
    readonly_fields = ["collection", "document", "quote", "origin"]
    actions = ["accept", "reject"]

    @admin.action(description="Accept questions", permissions=["change"])
    def accept(self, request: HttpRequest, questions: QuerySet[Question]) -> None:
        count = decide_questions(questions, state=Question.State.ACCEPTED)
        self.message_user(request, f"{count} questions accepted.")

    @admin.action(description="Reject questions", permissions=["change"])
    def reject(self, request: HttpRequest, questions: QuerySet[Question]) -> None:
        count = decide_questions(questions, state=Question.State.REJECTED)
        self.message_user(request, f"{count} questions rejected.")
