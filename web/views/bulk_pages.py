"""Actions on the documents selected in the library."""

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from corpus.errors import NotAllowed
from corpus.jobs.kinds.edit_job import Act, start_edit
from corpus.jobs.run import run_jobs_now
from corpus.models import Collection, Document
from qa import models
from web.forms import BulkForm

# What takes no model.
QUICK = {Act.TAG, Act.UNTAG, Act.DELETE}
TITLES_SHOWN = 20


@require_POST
def bulk(request: HttpRequest) -> HttpResponse:
    """Run an action on the selected documents; a deletion must be confirmed first."""
    fields = BulkForm.read(request.POST)
    act = Act(fields["act"])
    if act == Act.DELETE and not fields["confirmed"]:
        documents = list(
            Document.objects.listed().filter(pk__in=fields["id"]).order_by("title", "pk")
        )
        writable = set(Collection.objects.writable().values_list("pk", flat=True))
        if any(document.collection_id not in writable for document in documents):
            raise NotAllowed("You can read some of these documents, but not delete them.")
        citations = models.Citation.objects.filter(document__in=fields["id"])
        context = {
            "documents": documents,
            "shown": documents[:TITLES_SHOWN],
            "chunk_count": sum(document.chunk_count for document in documents),
            "quote_count": citations.count(),
            "answer_count": citations.values("answer").distinct().count(),
            "back": QueryDict(fields["back"]).urlencode(),
        }
        return render(request, "web/delete_documents.html", context)
    jobs = start_edit(fields["id"], act, tags=fields["tags"], collection=fields["to"])
    if act in QUICK:
        run_jobs_now(jobs)
    return redirect(f"{reverse('web:library')}?{QueryDict(fields['back']).urlencode()}")
