"""The page of standing questions."""

from uuid import UUID

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from corpus.access.principal import Scope
from corpus.endpoints import Endpoint, endpoint
from qa.models import StandingQuestion
from qa.standing_questions import find_standing_question
from web.forms import PageNumberForm, StandingQuestionForm

PAGE_SIZE = 25


@require_safe
def standing_questions(request: HttpRequest) -> HttpResponse:
    """List the user's standing questions, those with news first."""
    rows = StandingQuestion.objects.select_related("collection__owner").prefetch_related(
        "answer__citations", "previous__citations"
    )
    ordered = rows.order_by("is_seen", "-created_at", "pk")
    page = Paginator(ordered, PAGE_SIZE).get_page(PageNumberForm.read(request.GET)["page"])
    return render(request, "web/standing_questions.html", {"page": page})


@endpoint(POST=Endpoint(scope=Scope.READ))
@require_POST
def change(request: HttpRequest, question_id: UUID) -> HttpResponse:
    """Mark a change as seen, or stop asking the question."""
    standing = find_standing_question(question_id)
    if StandingQuestionForm.read(request.POST)["stop"]:
        standing.delete()
    else:
        standing.is_seen = True
        standing.save(update_fields=["is_seen"])
    return redirect("web:standing_questions")
