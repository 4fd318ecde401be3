"""Pages of saved conversations and of single answers."""

from uuid import UUID

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils.text import slugify
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from corpus.access.principal import Scope
from corpus.endpoints import Endpoint, endpoint
from qa import models
from qa.answer_record import find_answer_record, stored_answer_records
from qa.api.conversation_views import WholeSessionShown
from qa.models import Session
from qa.sessions import delete_session, find_session, rename_session
from web.answer_presenter import Turn, read_turns
from web.forms import ChatsFilter, ExportForm, NameForm
from web.markdown_export import answer_as_markdown, conversation_as_markdown
from web.readable_collections import remember_collection
from web.views.ask_pages import composer

PAGE_SIZE = 25
# Turns of one conversation that its page shows: the last ones.
MAX_TURNS = 100


@require_safe
def chats(request: HttpRequest) -> HttpResponse:
    """List saved conversations, the last used first."""
    fields = ChatsFilter.read(request.GET)
    rows = Session.objects.listed().order_by("-last_used_at", "pk")
    if fields["q"]:
        rows = rows.mentioning(fields["q"])
    page = Paginator(rows, PAGE_SIZE).get_page(fields["page"])
    return render(request, "web/chats.html", {"fields": fields, "chats": page})


@ensure_csrf_cookie
@require_safe
def chat(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """Show a saved conversation, which can be continued."""
    session = find_session(session_id)
    rows = models.Answer.objects.of_session(session).shown().select_related("collection__owner")
    answers = list(rows.reverse()[:MAX_TURNS])[::-1]
    context = {
        **composer(request, last=answers[-1] if answers else None),
        "chat": session,
        "turns": read_turns(stored_answer_records(answers)),
        "left_out_count": max(session.question_count - len(answers), 0),  # type: ignore[attr-defined]
    }
    return render(request, "web/ask.html", context)


@require_safe
def head(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """Show the name and the actions of a chat."""
    return render(request, "web/parts/chat_head.html", {"chat": find_session(session_id)})


@endpoint(POST=Endpoint(scope=Scope.READ))
@require_POST
def rename(request: HttpRequest, session_id: UUID) -> HttpResponse:
    rename_session(session_id, NameForm.read(request.POST)["name"])
    return redirect("web:chat", session_id)


@endpoint(POST=Endpoint(scope=Scope.READ))
@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """Show what is deleted with a conversation; delete it once confirmed."""
    if request.method == "POST":
        delete_session(session_id)
        return redirect("web:chats")
    return render(request, "web/delete_chat.html", {"chat": find_session(session_id)})


@require_safe
def export(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """Send the conversation as a file: Markdown, or the JSON of ``GET /sessions/{id}``."""
    kind = ExportForm.read(request.GET)["format"]
    session = find_session(session_id)
    reply: HttpResponse
    if kind == "json":
        reply = JsonResponse(WholeSessionShown(session).data, json_dumps_params={"indent": 2})
    else:
        answers = models.Answer.objects.of_session(session).shown()
        turns = read_turns(stored_answer_records(answers))
        text = conversation_as_markdown(session.shown_name, turns)
        reply = HttpResponse(text, content_type="text/markdown; charset=utf-8")
    name = slugify(session.shown_name)[:60] or "conversation"
    ending = "json" if kind == "json" else "md"
    reply["Content-Disposition"] = f'attachment; filename="{name}.{ending}"'
    return reply


@ensure_csrf_cookie
@require_safe
def answer(request: HttpRequest, answer_id: UUID) -> HttpResponse:
    """Show one answer, with a link to its conversation or grid."""
    context = {
        "turn": _find_turn(answer_id),
        "chat": Session.objects.listed().filter(messages__answer=answer_id).first(),
        "cell": models.Answer.objects.select_related("grid", "asked_document").get(pk=answer_id),
    }
    return render(request, "web/answer.html", context)


@require_safe
def turn(request: HttpRequest, answer_id: UUID) -> HttpResponse:
    """Show a question with its answer, for the page that asked it."""
    reply = render(request, "web/parts/turn.html", {"turn": _find_turn(answer_id)})
    remember_collection(request, reply, models.Answer.objects.get(pk=answer_id).collection_id)
    return reply


@require_safe
def as_markdown(request: HttpRequest, answer_id: UUID) -> HttpResponse:
    """Send an answer as Markdown, with its quotes as footnotes."""
    text = answer_as_markdown(_find_turn(answer_id))
    return HttpResponse(text, content_type="text/markdown; charset=utf-8")


def _find_turn(answer_id: UUID) -> Turn:
    (turn,) = read_turns([find_answer_record(answer_id)])
    return turn
