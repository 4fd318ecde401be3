"""State of the configured sources, and the syncs that are due."""

from dataclasses import dataclass

from django.conf import settings
from django.utils import timezone

from corpus.access.principal import SYSTEM, acting_as, current_principal
from corpus.catalogue import create_collection
from corpus.errors import SourceNotFound
from corpus.ingestion.source_mirror import documents_of
from corpus.jobs.kinds.source_job import find_source, start_source_sync, syncs_of
from corpus.jobs.states import delete_old_jobs
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
    states = []
    for source in settings.PKB_SOURCES:
        collection = _collection_of(source)
        if not _is_seen(collection):
            continue
        documents = documents_of(source.name, collection_id=collection.pk if collection else 0)
        state = SourceState(
            source.name,
            source.kind,
            source.address,
            source.collection,
            source.every,
            documents.stored().count(),
            syncs_of(source.name).select_related("collection").first(),
        )
        states.append(state)
    return states


def sync_source(name: str, *, emptied: bool = False, background: bool = True) -> Job:
    """Start a sync of a source, or return its unfinished one.

    Args:
        emptied: Whether an empty source is intended.

    Raises:
        SourceNotFound: No source has that name.
    """
    source = find_source(name)
    if source is None or not _is_seen(_collection_of(source)):
        raise SourceNotFound(f"There is no source {name!r} in PKB_SOURCES.")
    delete_old_jobs(syncs_of(name))
    collection = collection_of(source)
    return start_source_sync(source, collection, emptied=emptied, background=background)


def collection_of(source: SourceSettings) -> Collection:
    """Return the collection that mirrors a source; create it if it is missing."""
    with acting_as(SYSTEM):
        return _collection_of(source) or create_collection(source.collection)


def _collection_of(source: SourceSettings) -> Collection | None:
    """Return the configured collection, which belongs to nobody."""
    with acting_as(SYSTEM):
        return Collection.objects.find(source.collection)


def _is_seen(collection: Collection | None) -> bool:
    """Return whether the user may see it; only unrestricted users see a future one."""
    if current_principal().sees_all:
        return True
    return collection is not None and Collection.objects.filter(pk=collection.pk).exists()


def start_due_syncs() -> None:
    """Start a sync of each source that is due."""
    for source in settings.PKB_SOURCES:
        if source.every is None:
            continue
        last = syncs_of(source.name).first()
        if last is not None:
            age_s = (timezone.now() - last.created_at).total_seconds()
            if last.is_unfinished or age_s < source.every:
                continue
        sync_source(source.name)
