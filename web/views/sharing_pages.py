"""Pages on which owners share a collection."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from accounts.grants import get_owned_collection, grant_role, list_grants, revoke_grant, set_public
from corpus.errors import InvalidInput
from corpus.models import Grant
from web.forms import GrantForm, PublishForm


@require_http_methods(["GET", "HEAD", "POST"])
def access(request: HttpRequest, name: str) -> HttpResponse:
    """Show who has access to a collection; grant it to another."""
    collection = get_owned_collection(name)
    context: dict[str, Any] = {"values": {}, "problem": ""}
    if request.method == "POST":
        try:
            grant_role(collection, **GrantForm.read(request.POST))
        except InvalidInput as exc:
            context = {"values": request.POST, "problem": exc.detail}
        else:
            return redirect("web:access", collection.qualified_name)
    context |= {
        "collection": collection,
        "grants": list_grants(collection),
        "roles": Grant.Role.choices,
    }
    return render(request, "web/access.html", context, status=400 if context["problem"] else 200)


@require_POST
def share(request: HttpRequest, name: str) -> HttpResponse:
    """Let every user read a collection, or no longer."""
    collection = get_owned_collection(name)
    set_public(collection, **PublishForm.read(request.POST))
    return redirect("web:access", collection.qualified_name)


@require_POST
def revoke(request: HttpRequest, name: str, grant_id: int) -> HttpResponse:
    collection = get_owned_collection(name)
    revoke_grant(collection, grant_id)
    return redirect("web:access", collection.qualified_name)
