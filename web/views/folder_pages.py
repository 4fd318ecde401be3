"""Folders of the server, synced once or watched, and sources."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST

from corpus.catalogue import get_or_create_collection
from corpus.ingestion.folder_mirror import SyncOptions
from corpus.jobs.kinds.sync_job import start_sync
from corpus.models import WatchedFolder
from corpus.roots.allowed import AllowedPath, find_allowed, find_root
from corpus.watched.due_syncs import sync_source as begin_sync
from corpus.watched.folders import sync_folder_now, unwatch_folder
from corpus.watched.folders import watch_folder as begin_watching
from web.forms import FolderForm


@require_POST
def sync_folder(request: HttpRequest) -> HttpResponse:
    fields = FolderForm.read(request.POST)
    folder = _find(fields["content_path"])
    options = SyncOptions(
        paths=(str(folder.path),), root=str(folder.root), mirror=True, tags=fields["tags"]
    )
    job = start_sync(get_or_create_collection(fields["collection"]), options)
    return redirect("web:job", job.pk)


@require_POST
def watch_folder(request: HttpRequest) -> HttpResponse:
    """Watch a folder of the server: sync it whenever it changes."""
    fields = FolderForm.read(request.POST)
    collection = get_or_create_collection(fields["collection"])
    begin_watching(_find(fields["content_path"]), collection=collection)
    return redirect("web:library")


@require_POST
def unwatch(request: HttpRequest, folder_id: int) -> HttpResponse:
    unwatch_folder(folder_id)
    return redirect("web:library")


@require_POST
def sync_watched(request: HttpRequest, folder_id: int) -> HttpResponse:
    """Sync a watched folder now, even if it is empty."""
    folder = get_object_or_404(WatchedFolder.objects.select_related("collection"), pk=folder_id)
    return redirect("web:job", sync_folder_now(folder).pk)


@require_POST
def sync_source(request: HttpRequest, name: str) -> HttpResponse:
    """Start a sync of a source, or show the running one."""
    return redirect("web:job", begin_sync(name).pk)


def _find(fields: str) -> AllowedPath:
    # The page offers the roots by their names.
    return find_root(fields) or find_allowed(fields, folder=True)
