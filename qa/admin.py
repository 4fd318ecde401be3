from typing import Any

from django.contrib import admin, messages
from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from unfold.admin import TabularInline

from corpus.admin.base_admin import ReadOnlyAdmin
from qa import models
from qa.feedback import review_feedback
from qa.models import Feedback, Message, Session

# Filters that the admin pages of documents and chunks link to.
CITING_LOOKUPS = {"citations__document__id__exact", "citations__chunk__id__exact"}

# Of the table of a draft's statements, which keeps their line breaks.
HEADS = format_html_join(
    "",
    '<th class="pr-4 text-left">{}</th>',
    ((name,) for name in ("statement", "points at", "outcome", "reason")),
)
TABLE = "<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table>"
CELL = (
    '<td class="border-t border-base-200 py-2 pr-4 align-top text-left"'
    ' style="white-space: pre-line">{}</td>'
)


def _link(url_name: str, key: object, text: str) -> str:
    """Link to a row; return its name alone if the row is gone."""
    if key is None:
        return text
    url = reverse(f"admin:{url_name}", args=[key])
    return format_html('<a href="{}">{}</a>', url, text or key)


class ReadOnlyInline(TabularInline):
    extra = 0
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class CitationInline(ReadOnlyInline):
    model = models.Citation
    fields = ["source", "passage", "quote", "start_char", "end_char", "support", "score_shown"]
    readonly_fields = fields

    @admin.display(description="document")
    def source(self, citation: models.Citation) -> str:
        return _link("corpus_document_change", citation.document_id, citation.title)

    @admin.display(description="chunk")
    def passage(self, citation: models.Citation) -> str:
        where = " › ".join(citation.heading_path) or "chunk"
        return _link("corpus_chunk_change", citation.chunk_id, where)

    @admin.display(description="score")
    def score_shown(self, citation: models.Citation) -> str:
        return f"{citation.score:.2f}"


class MessageInline(ReadOnlyInline):
    model = Message
    fields = ["answer", "searched", "created_at"]
    readonly_fields = fields


@admin.register(models.Answer)
class AnswerAdmin(ReadOnlyAdmin):
    list_display = [
        "question", "kind", "answer", "surety", "answerer", "collection", "created_at"
    ]  # fmt: skip
    list_filter = ["kind", "collection", "answerer"]
    search_fields = ["question", "text"]
    date_hierarchy = "created_at"
    list_select_related = ["collection"]
    inlines = [CitationInline]
    exclude = ["draft", "confidence"]
    readonly_fields = ["surety", "draft_text", "draft_statements"]

    @admin.display(description="confidence", ordering="confidence")
    def surety(self, answer: models.Answer) -> str:
        return f"{answer.confidence:.2f}"

    @admin.display(description="draft of the language model")
    def draft_text(self, answer: models.Answer) -> str:
        """Return the draft with its answerer and token counts."""
        draft = answer.draft
        if not draft:
            return "none"
        head = "{answerer}, {prompt_tokens} + {completion_tokens} tokens".format(**draft)
        note = f" ({draft['note']})" if draft["note"] else ""
        return format_html("{}{}<br>{}", head, note, draft["text"] or "an empty draft: it refused")

    @admin.display(description="sentences of the draft")
    def draft_statements(self, answer: models.Answer) -> str:
        """Return a table of statements, cited texts, outcomes and reasons."""
        draft = answer.draft or {}
        # Older answers have "sentences", without the texts that they were compared with.
        statements = draft.get("statements", draft.get("sentences", []))
        rows = format_html_join(
            "",
            f"<tr>{CELL * 4}</tr>",
            (
                (each["text"], each.get("quoted", ""), each["outcome"], each["reason"])
                for each in statements
            ),
        )
        return format_html(TABLE, HEADS, rows) if rows else "-"

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        return lookup in CITING_LOOKUPS or bool(super().lookup_allowed(lookup, value, request))

    @admin.display(description="answer")
    def answer(self, answer: models.Answer) -> str:
        return answer.text[:120]


@admin.register(Session)
class SessionAdmin(ReadOnlyAdmin):
    list_display = ["first_question", "message_count", "created_at", "last_used_at"]
    date_hierarchy = "last_used_at"
    inlines = [MessageInline]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Session]:
        messages = Message.objects.filter(session=OuterRef("pk")).order_by("created_at", "pk")
        count = messages.order_by().values("session").annotate(count=Count("*")).values("count")
        return Session.objects.annotate(
            first=Subquery(messages.values("answer__question")[:1]), messages_said=Subquery(count)
        )

    @admin.display(description="first question")
    def first_question(self, session: Any) -> str:
        return session.first or "none yet"

    @admin.display(description="questions", ordering="messages_said")
    def message_count(self, session: Any) -> int:
        return session.messages_said or 0


@admin.register(Feedback)
class FeedbackAdmin(ReadOnlyAdmin):
    list_display = ["answer", "rating", "passage", "comment", "review", "created_at"]
    exclude = ["document", "content_sha256", "start_char", "end_char"]
    readonly_fields = ["passage"]
    list_filter = ["review", "rating", "answer__collection"]
    search_fields = ["comment", "answer__question"]
    list_select_related = ["answer"]
    actions = ["accept", "dismiss"]

    @admin.display(description="marked passage")
    def passage(self, feedback: Feedback) -> str:
        """Return a link to the passage marked as the answer."""
        if feedback.start_char is None:
            return "-"
        if feedback.document_id is None:
            return "of a document that was deleted"
        return format_html(
            '<a href="/ui/documents/{}?start={}&amp;end={}#passage">see it</a>',
            feedback.document_id,
            feedback.start_char,
            feedback.end_char,
        )

    @admin.action(description="Accept as test question")
    def accept(self, request: HttpRequest, chosen: QuerySet[Feedback]) -> None:
        self._review(request, chosen, Feedback.Review.ACCEPTED)

    @admin.action(description="Dismiss feedback")
    def dismiss(self, request: HttpRequest, chosen: QuerySet[Feedback]) -> None:
        self._review(request, chosen, Feedback.Review.DISMISSED)

    def _review(
        self, request: HttpRequest, chosen: QuerySet[Feedback], review: Feedback.Review
    ) -> None:
        count = review_feedback(chosen.values_list("pk", flat=True), review)
        messages.success(request, f"{count} reviewed; those reviewed earlier are unchanged.")
