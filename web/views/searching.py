from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from corpus.models import Collection, Tag
from web.finding import search_page
from web.forms import MODES, SearchForm


@require_safe
def search(request: HttpRequest) -> HttpResponse:
    """The passages that a query finds, ten a page."""
    given = SearchForm.read(request.GET)
    shown = {
        "given": given,
        "modes": MODES,
        "collections": Collection.objects.counted(),
        "tags": Tag.objects.in_use(),
        "found": search_page(given) if given["q"] else None,
    }
    return render(request, "web/search.html", shown)
