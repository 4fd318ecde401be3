"""Pages of webhooks: their list, and one with what was sent to it."""

from typing import Any
from uuid import UUID

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from corpus.models import Collection, Webhook
from corpus.webhooks import (
    WebhookEvent,
    change_webhook,
    create_webhook,
    delete_webhook,
    find_webhook,
    send_again,
)
from web.forms import PageNumberForm, WebhookForm, WebhookStateForm
from web.readable_collections import choose_collection, readable_collections

PAGE_SIZE = 25


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def webhooks(request: HttpRequest) -> HttpResponse:
    """List the user's webhooks; create one, and show its secret this once."""
    collections = readable_collections()
    context: dict[str, Any] = {
        "hooks": Webhook.objects.select_related("collection__owner"),
        "collections": collections,
        "fields": {"collection": choose_collection(request, collections, offers_all=False)},
        "events": WebhookEvent.choices,
    }
    if request.method == "POST":
        fields = WebhookForm.read(request.POST)
        collection = Collection.objects.get_named(fields.pop("collection"))
        context["made"] = create_webhook(**fields, collection=collection)
    return render(request, "web/webhooks.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def webhook(request: HttpRequest, webhook_id: UUID) -> HttpResponse:
    """Show a webhook and its deliveries; turn it off or on, delete it, send a delivery again."""
    hook = find_webhook(webhook_id)
    if request.method == "POST":
        fields = WebhookStateForm.read(request.POST)
        if fields["delete"]:
            delete_webhook(webhook_id)
            return redirect("web:webhooks")
        if fields["send"]:
            send_again(fields["send"], hook=hook)
        else:
            change_webhook(hook, is_active=fields["is_active"])
        return redirect("web:webhook", webhook_id)
    page = Paginator(hook.deliveries.all(), PAGE_SIZE)
    context = {
        "hook": hook,
        "page": page.get_page(PageNumberForm.read(request.GET)["page"]),
    }
    return render(request, "web/webhook.html", context)
