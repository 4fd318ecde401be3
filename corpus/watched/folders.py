"""Watched folders: those of ``PKB_WATCH``, and those chosen in the library."""

from django.conf import settings
from django.db import transaction

from corpus.catalogue import create_collection
from corpus.ingestion.folder_mirror import SyncOptions
from corpus.jobs.kinds.sync_job import start_sync
from corpus.models import Collection, Installation, Job, WatchedFolder
from corpus.models.base import check_writable
from corpus.postgres import execute
from corpus.roots.allowed import AllowedPath

# Two-part key of the advisory lock of the one watching process.
WATCHER_LOCK = (0x706B62, -1)

_IS_HELD = """
SELECT EXISTS (SELECT FROM pg_locks
    WHERE locktype = 'advisory' AND granted AND objsubid = 2
      AND classid::bigint = %s AND objid::bigint = %s
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))
"""


def watch_folder(allowed: AllowedPath, *, collection: Collection) -> WatchedFolder:
    """Watch a folder and mirror its changes; an already watched one stays as it is.

    Raises:
        PathIngestionOff: Another host stores files and watches folders.
    """
    Installation.objects.require_files_here()
    folder, _ = WatchedFolder.objects.get_or_create(
        collection=collection, path=str(allowed.path), defaults={"root": str(allowed.root)}
    )
    return folder


def unwatch_folder(folder_id: int) -> None:
    """Stop watching a folder, unless ``PKB_WATCH`` names it; its documents stay."""
    folders = WatchedFolder.objects.filter(pk=folder_id, is_set=False)
    check_writable(folders)
    folders.delete()


@transaction.atomic
def save_configured_folders() -> None:
    """Store the folders of ``PKB_WATCH``; create their collections."""
    keys = []
    for path, name in settings.PKB_WATCH:
        collection = Collection.objects.find(name) or create_collection(name)
        # The operator configured it: it need not be in an allowed folder.
        folder, _ = WatchedFolder.objects.update_or_create(
            collection=collection, path=str(path), defaults={"root": "", "is_set": True}
        )
        keys.append(folder.pk)
    WatchedFolder.objects.filter(is_set=True).exclude(pk__in=keys).delete()


def sync_folder_now(folder: WatchedFolder) -> Job:
    """Sync a folder as it is, even if it is now empty or unmounted."""
    WatchedFolder.objects.filter(pk=folder.pk).update(mounts=[])
    options = SyncOptions(paths=(folder.path,), root=folder.root, mirror=True)
    return start_sync(folder.collection, options)


def is_watcher_running() -> bool:
    """Return whether a worker is watching."""
    ((is_held,),) = execute(_IS_HELD, [part % 2**32 for part in WATCHER_LOCK])
    return bool(is_held)
