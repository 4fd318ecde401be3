"""Pages of grids: their list, and one with its cells."""

from uuid import UUID

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from corpus.models import Collection, Tag
from qa.grids import delete_grid, find_grid, read_rows, save_grid, unfinished_jobs
from qa.models import MAX_GRID_QUESTIONS, Grid
from web.forms import GridForm, GridQuestionsForm, PageNumberForm
from web.readable_collections import choose_collection, readable_collections

PAGE_SIZE = 25
# Documents: a page of 50 x 20 cells is 0.3 MB.
ROWS_SHOWN = 50


@require_http_methods(["GET", "HEAD", "POST"])
def grids(request: HttpRequest) -> HttpResponse:
    """List the grids; create one."""
    if request.method == "POST":
        fields = GridForm.read(request.POST)
        collection = Collection.objects.get_writable(fields.pop("collection"))
        grid = save_grid(Grid(collection=collection, tags=list(fields.pop("tag")), **fields))
        return redirect("web:grid", grid.pk)
    collections = readable_collections()
    rows = Grid.objects.select_related("collection__owner").order_by("-created_at", "-pk")
    context = {
        "grids": Paginator(rows, PAGE_SIZE).get_page(PageNumberForm.read(request.GET)["page"]),
        "collections": collections,
        "tags": Tag.objects.names_in_use(),
        "fields": {"collection": choose_collection(request, collections, offers_all=False)},
        "max_questions": MAX_GRID_QUESTIONS,
    }
    return render(request, "web/grids.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def grid(request: HttpRequest, grid_id: UUID) -> HttpResponse:
    """Show a grid, a page of its rows at a time; change its name and questions."""
    shown = find_grid(grid_id, to_change=request.method == "POST")
    if request.method == "POST":
        for name, value in GridQuestionsForm.read(request.POST).items():
            setattr(shown, name, value)
        save_grid(shown)
        return redirect("web:grid", shown.pk)
    documents = Paginator(shown.documents(), ROWS_SHOWN)
    page = documents.get_page(PageNumberForm.read(request.GET)["page"])
    context = {
        "grid": shown,
        "page": page,
        "rows": read_rows(shown, offset=page.start_index() - 1, limit=ROWS_SHOWN),
        "job": unfinished_jobs(shown).first(),
        "may_change": Collection.objects.writable().filter(pk=shown.collection_id).exists(),
    }
    return render(request, "web/grid.html", context)


@require_POST
def delete(request: HttpRequest, grid_id: UUID) -> HttpResponse:
    delete_grid(find_grid(grid_id, to_change=True))
    return redirect("web:grids")
