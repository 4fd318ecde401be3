"""State of the configured sources, and the syncs that are due."""

from dataclasses import dataclass

from django.conf import settings
from django.utils import timezone

from corpus.access.principal import SYSTEM, acting_as, current_principal
from corpus.catalogue import create_collection
from corpus.errors import SourceNotFound
from corpus.ingestion.source_sync import documents_of
from corpus.jobs.history import delete_old_jobs
from corpus.jobs.kinds.source_job import find_source, start_source_sync, syncs_of
from corpus.models import Collection, Job
from corpus.sources.source_settings import SourceSettings


@dataclass(frozen=True, slots=True)
class SourceState:
    """A source for display, without secrets.

    Attributes:
        every_s: Seconds between syncs; None: on demand.
        document_count: Its documents, including attachments.
        job: Its last sync.
    """

    name: str
    kind: str
    address: str
    collection: str
    every_s: int | None
    document_count: int
    job: Job | None


def source_states() -> list[SourceState]:
    """Return the state of each source visible to the user, in the order of the file."""
    return [state for each in settings.PKB_SOURCES if (state := _state(each))]


def _state(found: SourceSettings) -> SourceState | None:
    collection = _collection_of(found)
    if not _is_seen(collection):
        return None
    stored = documents_of(found.name, collection_id=collection.pk if collection else 0).stored()
    return SourceState(
        found.name,
        found.kind,
        found.address,
        found.collection,
        found.every,
        stored.count(),
        syncs_of(found.name).select_related("collection").first(),
    )


def sync_source(name: str, *, emptied: bool = False, background: bool = True) -> Job:
    """Start a sync of a source, or return its unfinished one.

    Args:
        emptied: Whether an empty source is intended.

    Raises:
        SourceNotFound: No source has that name.
    """
    found = find_source(name)
    if found is None or not _is_seen(_collection_of(found)):
        raise SourceNotFound(f"There is no source {name!r} in PKB_SOURCES.")
    delete_old_jobs(syncs_of(name))
    collection = collection_of(found)
    return start_source_sync(found, collection, emptied=emptied, background=background)


def collection_of(found: SourceSettings) -> Collection:
    """Return the collection that mirrors a source; create it if it is missing."""
    with acting_as(SYSTEM):
        return _collection_of(found) or create_collection(found.collection)


def _collection_of(found: SourceSettings) -> Collection | None:
    """Return the configured collection, which belongs to nobody."""
    with acting_as(SYSTEM):
        return Collection.objects.find(found.collection)


def _is_seen(collection: Collection | None) -> bool:
    """Return whether the user may see it; only unrestricted users see a future one."""
    if current_principal().sees_all:
        return True
    return collection is not None and Collection.objects.filter(pk=collection.pk).exists()


def start_due_syncs() -> None:
    """Start a sync of each source that is due."""
    for found in settings.PKB_SOURCES:
        if found.every is None:
            continue
        last = syncs_of(found.name).first()
        if last is None or (not last.is_unfinished and _age_s(last) >= found.every):
            sync_source(found.name)


def _age_s(job: Job) -> float:
    return (timezone.now() - job.created_at).total_seconds()
