"""Sources that collections mirror: how each is, and which are due."""

from dataclasses import dataclass

from django.conf import settings
from django.utils import timezone

from corpus.catalogue import create_collection
from corpus.errors import SourceNotFound
from corpus.ingestion.mirrored import documents_of
from corpus.jobs.history import forget_jobs
from corpus.jobs.kinds.source import find_source, start_source_sync, syncs_of
from corpus.models import Collection, Job
from corpus.sources.configuration import SourceSettings


@dataclass(frozen=True, slots=True)
class SourceState:
    """A source as it is shown; no secret is in it.

    Attributes:
        every_s: Seconds after which workers sync it again; None: only when somebody asks.
        document_count: Documents that were made of it, and of what its entries carry.
        job: The sync that was started last.
    """

    name: str
    kind: str
    address: str
    collection: str
    every_s: int | None
    document_count: int
    job: Job | None


def source_states() -> list[SourceState]:
    """Return how each configured source is, in the order of the file."""
    return [_state(each) for each in settings.PKB_SOURCES]


def _state(found: SourceSettings) -> SourceState:
    collection = Collection.objects.filter(name=found.collection).first()
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
    """Begin to mirror a source; a sync of it that has not ended is that one.

    Args:
        emptied: It may have nothing: it was emptied on purpose.

    Raises:
        SourceNotFound: None of that name is configured.
    """
    found = find_source(name)
    if found is None:
        raise SourceNotFound(f"There is no source {name!r} in PKB_SOURCES.")
    forget_jobs(syncs_of(name))
    collection = collection_of(found)
    return start_source_sync(found, collection, emptied=emptied, background=background)


def collection_of(found: SourceSettings) -> Collection:
    """Return the collection that mirrors a source; it is made where there is none."""
    name = found.collection
    return Collection.objects.filter(name=name).first() or create_collection(name)


def start_due_syncs() -> None:
    """Start a sync of each source whose last one began long enough ago."""
    for found in settings.PKB_SOURCES:
        if found.every is None:
            continue
        last = syncs_of(found.name).first()
        if last is None or (not last.is_unfinished and _age_s(last) >= found.every):
            sync_source(found.name)


def _age_s(job: Job) -> float:
    return (timezone.now() - job.created_at).total_seconds()
