"""The page of insights: ratings by day, questions without an answer, evaluations."""

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any, NamedTuple

from django.db.models import Count, Q
from django.db.models.functions import TruncDate
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from corpus.errors import NotFound
from corpus.models import Collection
from corpus.models.collection import MAX_WRONG_PERCENT
from evaluation.collection_benchmark import (
    FLATTERY,
    find_job,
    measure_trials,
    read_trials,
    start_benchmark,
)
from evaluation.models import CollectionBenchmark
from evaluation.reports import latest_results
from qa import models
from qa.learned_confidence import change_confidence, read_state
from qa.models import Feedback
from web.forms import ChosenCollectionForm, ConfidenceForm
from web.readable_collections import choose_collection, readable_collections

# Pixels of the chart.
WIDTH = 640
MARGIN = 12


class DayBar(NamedTuple):
    """The ratings of one day: bars up from the axis, and down from it, in pixels."""

    day: date
    up: int
    down: int
    x: float
    width: float
    up_top: float
    up_height: float
    down_height: float


# Pixels: likes are above the axis in the middle, dislikes below.
BARS_HEIGHT = 140
AXIS = 70


def day_bars(counts: Sequence[tuple[date, int, int]], *, last: date, days: int) -> list[DayBar]:
    """Draw the ratings (day, up, down) of the days that end with ``last``; quiet days are empty."""
    known = {day: (up, down) for day, up, down in counts}
    highest = max([1, *(max(pair) for pair in known.values())])
    step = WIDTH / days
    room = AXIS - MARGIN
    bars = []
    for number in range(days):
        day = last - timedelta(days=days - 1 - number)
        up, down = known.get(day, (0, 0))
        # Seven tenths of a day's room are bar, the rest parts it from its neighbours.
        place = round(number * step + step * 0.15, 1)
        height, depth = round(up / highest * room, 1), round(down / highest * room, 1)
        width = round(step * 0.7, 1)
        bars.append(DayBar(day, up, down, place, width, round(AXIS - height, 1), height, depth))
    return bars


# As many bars as the chart has room for.
DAYS = 30
REASONS_SHOWN = 5


def read_feedback(collection: Collection) -> dict[str, Any]:
    """Return the ratings of answers from a collection or all, by day, and the latest reasons."""
    asked = Q(answer__collection=collection) | Q(answer__collection=None)
    rows = Feedback.objects.filter(asked)
    by_day = rows.order_by().annotate(day=TruncDate("created_at")).values_list("day")
    counts = by_day.annotate(
        up=Count("pk", filter=Q(rating="up")), down=Count("pk", filter=Q(rating="down"))
    )
    reasons = rows.exclude(comment="").select_related("answer").order_by("-created_at")
    bars = day_bars(list(counts), last=timezone.now().date(), days=DAYS)
    return {
        "bars": bars,
        "up": sum(bar.up for bar in bars),
        "down": sum(bar.down for bar in bars),
        "reasons": reasons[:REASONS_SHOWN],
    }


def read_benchmark(collection: Collection) -> dict[str, Any]:
    """Return the last test of a collection; empty before its first document."""
    job = find_job(collection)
    benchmark = CollectionBenchmark.objects.filter(collection=collection).first()
    if benchmark is None and not collection.documents.stored().exists():
        return {}
    trials = [trial for trial in read_trials(benchmark) if trial.is_asked] if benchmark else []
    return {
        "job": job,
        "created_at": benchmark and benchmark.created_at,
        "trials": trials,
        "figures": measure_trials(trials),
        "flattery": FLATTERY,
    }


UNANSWERED_SHOWN = 12


@require_safe
def quality(request: HttpRequest) -> HttpResponse:
    """Show evaluations, feedback and unanswered questions."""
    collections = readable_collections()
    if not collections:
        return render(request, "web/quality.html", {})
    collection = Collection.objects.get_named(
        choose_collection(request, collections, offers_all=False)
    )
    asked = Q(collection=collection) | Q(collection=None)
    rows = models.Answer.objects.unanswered().filter(asked).by_question()
    context = {
        "fields": {"collection": collection.qualified_name},
        "collections": collections,
        "unanswered": rows[:UNANSWERED_SHOWN],
        "feedback": read_feedback(collection),
        "confidence": read_state(collection),
        "is_owned": Collection.objects.owned().filter(pk=collection.pk).exists(),
        "max_wrong_percent": MAX_WRONG_PERCENT,
        "benchmark": read_benchmark(collection),
        "may_change": Collection.objects.writable().filter(pk=collection.pk).exists(),
        "evaluations": latest_results(),
        "bars_height": BARS_HEIGHT,
        "axis": AXIS,
        "width": WIDTH,
    }
    return render(request, "web/quality.html", context)


@require_safe
def plot(request: HttpRequest, dataset: str, name: str) -> HttpResponse:
    """Send a plot of a data set's last evaluation."""
    plots = {
        (each.result.dataset, path.name): path for each in latest_results() for path in each.plots
    }
    if (dataset, name) not in plots:
        raise NotFound(f"There is no plot {name} of {dataset}.")
    return HttpResponse(plots[dataset, name].read_bytes(), content_type="image/png")


@require_POST
def confidence(request: HttpRequest) -> HttpResponse:
    """Promise how many answers may be wrong, and let judged answers refit the confidence or not."""
    values = ConfidenceForm.read(request.POST)
    name = values.pop("collection")
    change_confidence(name, **values)
    return redirect(f"{reverse('web:quality')}?collection={name}")


@require_POST
def start(request: HttpRequest) -> HttpResponse:
    """Test a collection with questions made from its documents."""
    name = ChosenCollectionForm.read(request.POST)["collection"]
    start_benchmark(Collection.objects.get_writable(name))
    return redirect(f"{reverse('web:quality')}?collection={name}#benchmark")
