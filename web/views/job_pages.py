from uuid import UUID

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from corpus.errors import JobNotFound
from corpus.jobs.states import cancel_job, retry_job
from corpus.models import Collection, Job
from web.forms import JobFilter
from web.views.work import name_documents

PAGE_SIZE = 25
ITEMS_SHOWN = 200


@require_safe
def jobs(request: HttpRequest) -> HttpResponse:
    """List background jobs, newest first."""
    fields = JobFilter.read(request.GET)
    rows = Job.objects.select_related("collection__owner")
    if fields["status"]:
        rows = rows.filter(status=fields["status"])
    page = Paginator(rows, PAGE_SIZE).get_page(fields["page"])
    context = {
        "fields": fields,
        "statuses": Job.Status.choices,
        "jobs": page,
        "writable_ids": _writable_ids(),
        "is_working": any(job.is_unfinished for job in page),
    }
    return render(request, "web/jobs.html", context)


@require_safe
def job(request: HttpRequest, job_id: UUID) -> HttpResponse:
    row = Job.objects.select_related("collection__owner").filter(pk=job_id).first()
    if row is None:
        raise JobNotFound(f"There is no job {job_id}.")
    items = list(row.items.troubled_first()[:ITEMS_SHOWN])
    name_documents(items)
    context = {"job": row, "items": items, "writable_ids": _writable_ids()}
    return render(request, "web/job.html", context)


def _writable_ids() -> set[int]:
    """Return the keys of the collections whose jobs the user may retry and cancel."""
    return set(Collection.objects.writable().values_list("pk", flat=True))


@require_POST
def retry(request: HttpRequest, job_id: UUID) -> HttpResponse:
    retry_job(job_id)
    return _back(request)


@require_POST
def cancel(request: HttpRequest, job_id: UUID) -> HttpResponse:
    cancel_job(job_id)
    return _back(request)


def _back(request: HttpRequest) -> HttpResponse:
    """Redirect to the page of the button."""
    is_library = request.POST.get("from") == "library"
    return redirect("web:library" if is_library else "web:jobs")
