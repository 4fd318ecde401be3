from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from corpus.access.principal import current_user_id
from corpus.catalogue import change_collection, create_collection, get_or_create_collection
from corpus.chunk_settings import default_chunking
from corpus.embedders import embedders
from corpus.endpoints import BodySize, Cost, Endpoint, endpoint
from corpus.ingestion.ingest import ingest_submission
from corpus.ingestion.submission import Attributes, IngestOptions, Submission
from corpus.jobs.uploads import start_upload
from corpus.lexical import LANGUAGES
from corpus.loaders.registry import FORMATS
from corpus.models import DEFAULT_COLLECTION, Collection, Document, Site, Tag, WatchedFolder
from corpus.models.document import COUNT_LIMIT, DocumentQuerySet
from corpus.roots.shown_paths import root_names
from corpus.sites import DEFAULT_DEPTH, DEFAULT_PAGES
from corpus.user_quotas import read_usage
from corpus.watched.due_syncs import source_states
from corpus.watched.folders import is_watcher_running
from web.forms import (
    EVERY,
    CollectionForm,
    LibraryFilter,
    PasteForm,
    RenameCollectionForm,
    UploadForm,
)
from web.views.work import CLEARED, RECENTLY, read_work

PAGE_SIZE = 50
NEWEST_FIRST = "-added"
COLUMNS = (
    ("name", "Name"), ("type", "Type"), ("size", "Size"), ("pages", "Pages"), ("added", "Added"),
    ("", "Tags"), ("state", "Status"),
)  # fmt: skip
STRATEGIES = (
    ("auto", "Automatic: by headings if there are any, else by sentences"),
    ("structure", "Structure: whole paragraphs and tables, never across a heading"),
    ("sentence", "Sentences: windows of whole sentences"),
    ("recursive", "Recursive: at empty lines, then lines, then sentences"),
    ("semantic", "Semantic: where the topic changes"),
)


@require_safe
def library(request: HttpRequest) -> HttpResponse:
    """Show the documents, running jobs, and the ways to add documents."""
    fields = LibraryFilter.read(request.GET)
    documents = filtered(fields)
    sort = fields["sort"] or NEWEST_FIRST
    page = documents.page(
        sort=sort.removeprefix("-"),
        descending=sort.startswith("-"),
        size=PAGE_SIZE,
        after=fields["after"],
        before=fields["before"],
    )
    failed = documents.filter(status=Document.Status.FAILED)
    jobs = read_work(request)
    collections = Collection.objects.select_related("owner")
    watched = list(WatchedFolder.objects.select_related("collection__owner", "job"))
    context = {
        "fields": fields,
        "sort": sort,
        "columns": columns(sort),
        "types": [(name, known.name) for name, known in FORMATS.items()],
        "statuses": Document.Status.choices,
        "collections": collections.with_counts(),
        "writable_ids": set(collections.writable().values_list("pk", flat=True)),
        "into": collections.writable() or [DEFAULT_COLLECTION],
        "renamable": collections.owned().exclude(name=DEFAULT_COLLECTION, owner=None),
        "owned": collections.owned() if current_user_id() is not None else [],
        "tags": Tag.objects.names_in_use(),
        "page": page,
        "failed_count": failed.order_by()[: COUNT_LIMIT + 1].count(),
        "count": documents.order_by()[: COUNT_LIMIT + 1].count(),
        "counted": COUNT_LIMIT,
        "jobs": jobs,
        "is_working": any(job.is_unfinished for job in jobs),
        "has_finished": not all(job.is_unfinished for job in jobs),
        "roots": root_names(),
        "watched": watched,
        "sources": source_states(),
        "use": read_usage(current_user_id()),
        "is_watching": bool(watched) and is_watcher_running(),
        **addresses(),
        "new_collection": {
            "models": [name for name in embedders.names if "<" not in name],
            "model": settings.PKB_EMBEDDING_MODEL,
            "strategies": STRATEGIES,
            "units": Collection.Unit.choices,
            "languages": list(LANGUAGES),
            "defaults": default_chunking(),
        },
    }
    return render(request, "web/library.html", context)


def addresses() -> dict[str, Any]:
    """Return the context of websites; empty if fetching is off."""
    if settings.PKB_FETCH == "off":
        return {}
    return {
        "sites": Site.objects.select_related("collection__owner", "job"),
        "new_site": {"every": EVERY, "depth": DEFAULT_DEPTH, "max_pages": DEFAULT_PAGES},
    }


def filtered(fields: dict[str, Any]) -> DocumentQuerySet:
    """Return the documents that a filter of the library selects."""
    documents = Document.objects.listed().tagged(fields["tag"])
    names = {"type": "media_type", "status": "status"}
    exact = {field: fields[name] for name, field in names.items() if fields[name]}
    if fields["collection"]:
        exact["collection"] = Collection.objects.find(fields["collection"])
    documents = documents.filter(**exact)
    return documents.mentioning(fields["q"]) if fields["q"] else documents


def columns(sort: str) -> list[dict[str, str]]:
    """Return the heads of the table for a list in this order.

    ``sort`` is empty where the list cannot be sorted by the column, ``order`` where it is not, and
    ``next_sort`` is what a press on the head requests.
    """
    by, is_descending = sort.removeprefix("-"), sort.startswith("-")
    order = "descending" if is_descending else "ascending"
    return [
        {
            "sort": name,
            "label": label,
            "order": order if name == by else "",
            "next_sort": f"-{name}" if name == by and not is_descending else name,
        }
        for name, label in COLUMNS
    ]


@require_POST
def clear(request: HttpRequest) -> HttpResponse:
    """Hide the jobs that have ended by now; they stay on the page of jobs."""
    reply = redirect("web:library")
    now = timezone.now().timestamp()
    reply.set_cookie(
        CLEARED, str(int(now) + 1), max_age=RECENTLY, httponly=True, samesite="Lax",
        secure=request.is_secure(),
    )  # fmt: skip
    return reply


@require_safe
def formats(request: HttpRequest) -> HttpResponse:
    return render(
        request,
        "web/formats.html",
        {
            "formats": FORMATS.values(),
            "with_ocr": settings.PKB_OCR != "off",
            "converted": settings.PKB_CONVERTER["extensions"],
        },
    )


@endpoint(POST=Endpoint(cost=Cost.ENCODE, body=BodySize.FILE))
@require_POST
def upload(request: HttpRequest) -> HttpResponse:
    """Store uploaded files, and start their ingestion."""
    fields = UploadForm.read(request.POST)
    collection = get_or_create_collection(fields["collection"])
    job = start_upload(request.FILES.getlist("file"), collection=collection, tags=fields["tags"])
    if request.headers.get("Accept") == "application/json":
        return JsonResponse({"job_id": str(job.pk)}, status=202)
    return redirect("web:library")


@endpoint(POST=Endpoint(cost=Cost.ENCODE))
@require_POST
def paste(request: HttpRequest) -> HttpResponse:
    """Ingest a text at once, and show it."""
    fields = PasteForm.read(request.POST)
    attributes = Attributes(source="note", title=fields["title"], tags=fields["tags"])
    collection = get_or_create_collection(fields["collection"])
    submission = Submission(fields["text"], attributes, IngestOptions(apply_routing=True))
    stored = ingest_submission(submission, collection=collection)
    return redirect("web:document", stored.document_id)


@require_POST
def add_collection(request: HttpRequest) -> HttpResponse:
    collection = create_collection(**CollectionForm.read(request.POST))
    return redirect(f"{reverse('web:library')}?collection={collection.qualified_name}")


@require_POST
def rename_collection(request: HttpRequest) -> HttpResponse:
    fields = RenameCollectionForm.read(request.POST)
    collection = change_collection(fields["collection"], new_name=fields["name"])
    return redirect(f"{reverse('web:library')}?collection={collection.qualified_name}")
