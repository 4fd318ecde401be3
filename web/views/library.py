from datetime import timedelta

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from corpus.catalogue import create_collection
from corpus.ingestion import Attributes, ingest_text
from corpus.ingestion.files import SyncOptions
from corpus.jobs.kinds.sync import start_sync
from corpus.jobs.uploads import start_upload
from corpus.models import Collection, Document, Job, Tag
from corpus.roots.allowed import find_allowed, find_root
from corpus.roots.names import root_names
from web.forms import (
    CollectionForm,
    FolderForm,
    LibraryFilter,
    PasteForm,
    UploadForm,
)

PAGE_SIZE = 25
# Jobs that ended this recently are still shown beside those that run.
RECENTLY = timedelta(minutes=10)
JOBS_SHOWN = 12


@require_safe
def library(request: HttpRequest) -> HttpResponse:
    """The documents, what is being taken in, and the ways to bring more."""
    given = LibraryFilter.read(request.GET)
    documents = Document.objects.listed().tagged(given["tag"]).order_by("-created_at", "-pk")
    if given["collection"]:
        documents = documents.filter(collection__name=given["collection"])
    if given["status"]:
        documents = documents.filter(status=given["status"])
    if given["q"]:
        documents = documents.mentioning(given["q"])
    jobs = Job.objects.bringing_files().since(timezone.now() - RECENTLY).with_items()[:JOBS_SHOWN]
    shown = {
        "given": given,
        "statuses": Document.Status.choices,
        "collections": Collection.objects.counted(),
        "tags": Tag.objects.in_use(),
        "documents": Paginator(documents, PAGE_SIZE).get_page(given["page"]),
        "jobs": jobs,
        "is_working": any(job.is_unfinished for job in jobs),
        "roots": root_names(),
    }
    return render(request, "web/library.html", shown)


@require_POST
def upload(request: HttpRequest) -> HttpResponse:
    """Keep files, and begin to take them in."""
    given = UploadForm.read(request.POST)
    collection = Collection.objects.named(given["collection"])
    job = start_upload(request.FILES.getlist("file"), collection=collection, tags=given["tags"])
    if request.headers.get("Accept") == "application/json":
        return JsonResponse({"job_id": str(job.pk)}, status=202)
    return redirect("web:library")


@require_POST
def paste(request: HttpRequest) -> HttpResponse:
    """Take in a text at once, and show it."""
    given = PasteForm.read(request.POST)
    attributes = Attributes(source="note", title=given["title"], tags=given["tags"])
    collection = Collection.objects.named(given["collection"])
    stored = ingest_text(given["text"], collection=collection, attributes=attributes)
    return redirect("web:document", stored.document_id)


@require_POST
def sync_folder(request: HttpRequest) -> HttpResponse:
    """Begin to mirror a folder of the server."""
    given = FolderForm.read(request.POST)
    path = given["content_path"]
    # The page offers the roots by their names.
    folder = find_root(path) or find_allowed(path, folder=True)
    options = SyncOptions(
        paths=(str(folder.path),), root=str(folder.root), mirror=True, tags=given["tags"]
    )
    job = start_sync(Collection.objects.named(given["collection"]), options)
    return redirect("web:job", job.pk)


@require_POST
def add_collection(request: HttpRequest) -> HttpResponse:
    """Make an empty collection."""
    given = CollectionForm.read(request.POST)
    collection = create_collection(given["name"], description=given["description"])
    return redirect(f"{reverse('web:library')}?collection={collection.name}")
