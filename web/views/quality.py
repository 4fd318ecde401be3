from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from corpus.errors import NotFound
from corpus.ingestion.mapping import start_map
from corpus.models import Collection, Job
from evaluation.reporting import latest_results
from qa.models import Answer
from web.charts import AXIS, BARS_HEIGHT, HEIGHT, WIDTH
from web.forms import MapForm
from web.mapping import read_map
from web.rating import read_feedback

UNANSWERED_SHOWN = 12


@require_safe
def quality(request: HttpRequest) -> HttpResponse:
    """How well answers hold: evaluations, feedback, what was not answered, the map."""
    collection = Collection.objects.named(MapForm.read(request.GET)["collection"])
    maps = Job.objects.unfinished().filter(kind=Job.Kind.MAP, collection=collection)
    unanswered = Answer.objects.unanswered().filter(collection=collection).by_question()
    shown = {
        "given": {"collection": collection.name},
        "collections": Collection.objects.counted(),
        "unanswered": unanswered[:UNANSWERED_SHOWN],
        "map": read_map(collection),
        "is_mapping": maps.exists(),
        "feedback": read_feedback(collection),
        "evaluations": latest_results(),
        "bars_height": BARS_HEIGHT,
        "axis": AXIS,
        "width": WIDTH,
        "height": HEIGHT,
    }
    return render(request, "web/quality.html", shown)


@require_safe
def plot(request: HttpRequest, dataset: str, name: str) -> HttpResponse:
    """A plot of a data set's last evaluation."""
    plots = {
        (kept.result.dataset, path.name): path for kept in latest_results() for path in kept.plots
    }
    if (dataset, name) not in plots:
        raise NotFound(f"There is no plot {name} of {dataset}.")
    return HttpResponse(plots[dataset, name].read_bytes(), content_type="image/png")


@require_POST
def compute_map(request: HttpRequest) -> HttpResponse:
    """Have a worker compute the map anew."""
    collection = Collection.objects.named(MapForm.read(request.POST)["collection"])
    start_map(collection)
    return redirect(f"{reverse('web:quality')}?collection={collection.name}")
