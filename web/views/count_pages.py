"""The page that counts mentions of a phrase, or documents by their amounts."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from corpus.api.count_views import csv_response, read_count
from corpus.endpoints import Cost, Endpoint, endpoint
from corpus.mentions import GROUPS, SORTS
from corpus.models import ALL_COLLECTIONS, Tag
from web.forms import CountForm
from web.readable_collections import readable_collections

# Documents or mentions.
PAGE_SIZE = 20


@endpoint(GET=Endpoint(cost=Cost.SEARCH))
@require_safe
def count(request: HttpRequest) -> HttpResponse:
    """Show how many documents mention a phrase or state an amount, and a page of them; or CSV."""
    fields = CountForm.read(request.GET)
    context: dict[str, Any] = {
        "fields": fields, "collections": readable_collections(), "tags": Tag.objects.names_in_use(),
        "groups": GROUPS, "sorts": SORTS,
    }  # fmt: skip
    if fields["q"]:
        number = fields["page"] or 1
        counted = read_count(
            query=fields["q"],
            amount=fields["amount"],
            collection=fields["collection"] or ALL_COLLECTIONS,
            tags=fields["tag"],
            group_by=fields["group_by"] or None,
            unit=fields["unit"] or "document",
            sort=fields["sort"] or "mentions",
            offset=(number - 1) * PAGE_SIZE,
            limit=PAGE_SIZE,
            wants_all=fields["csv"],
        )
        if fields["csv"]:
            return csv_response(counted, grouped=bool(fields["group_by"]))
        last = -(-counted.result_count // PAGE_SIZE)
        context |= {"count": counted, "number": number, "last": last}
    return render(request, "web/count.html", context)
