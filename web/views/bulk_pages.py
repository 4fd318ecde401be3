"""Actions on the documents selected in the library."""

from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from corpus.jobs.kinds.edit_job import Act, start_edit
from corpus.jobs.run import run_jobs_now
from corpus.models import Document
from qa import models
from web.forms import BulkForm

# What takes no model.
QUICK = {Act.TAG, Act.UNTAG, Act.DELETE}
TITLES_SHOWN = 20


@require_POST
def bulk(request: HttpRequest) -> HttpResponse:
    """Do it, or ask first: a deletion is to be confirmed."""
    given = BulkForm.read(request.POST)
    act = Act(given["act"])
    if act == Act.DELETE and not given["confirmed"]:
        return render(request, "web/delete_documents.html", _deletion(given))
    jobs = start_edit(given["id"], act, tags=given["tags"], collection=given["to"])
    if act in QUICK:
        run_jobs_now(jobs)
    return redirect(f"{reverse('web:library')}?{QueryDict(given['back']).urlencode()}")


def _deletion(given: dict[str, Any]) -> dict[str, Any]:
    documents = Document.objects.listed().filter(pk__in=given["id"]).order_by("title", "pk")
    citations = models.Citation.objects.filter(document__in=given["id"])
    found = list(documents)
    return {
        "documents": found,
        "shown": found[:TITLES_SHOWN],
        "chunk_count": sum(document.chunk_count for document in found),
        "quote_count": citations.count(),
        "answer_count": citations.values("answer").distinct().count(),
        "back": QueryDict(given["back"]).urlencode(),
    }
