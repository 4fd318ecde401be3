"""Edit many documents: tag, untag, move, re-embed, delete."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from corpus.errors import BackendError, Conflict, PkbError
from corpus.ingestion.file_scan import error_reason
from corpus.ingestion.ingest import move_to_collection, reingest_document
from corpus.ingestion.outcomes import ItemResult, Outcome
from corpus.jobs.kinds.job_kind import JobKind
from corpus.models import Collection, Document, Job, JobItem, Rule
from corpus.queue import enqueue_job
from corpus.rules import matching_documents, without_tags
from corpus.tags import add_tags, remove_tags
from corpus.user_quotas import check_job_quota

# Documents of one job.
MAX_DOCUMENTS = 500


class Act(StrEnum):
    TAG = "tag"
    UNTAG = "untag"
    MOVE = "move"
    REEMBED = "reembed"
    DELETE = "delete"


class EditKind(JobKind):
    """An item is a document."""

    stage = Job.Stage.EDITING

    def run(self, item: JobItem) -> ItemResult:
        rows = Document.objects.select_related("collection").defer("raw_text", "outline")
        own = rows.filter(collection=item.job.collection_id)
        document = own.filter(pk=str(item.document_id)).first()
        if document is None:
            return ItemResult(Outcome.REMOVED, str(item.document_id))
        arguments = item.job.arguments
        try:
            outcome = _ACTS[arguments["act"]](document, arguments)
        except BackendError:
            raise
        except PkbError as exc:
            return ItemResult(Outcome.FAILED, str(document.pk), reason=error_reason(exc))
        return ItemResult(outcome, str(document.pk), document.chunk_count)

    def documents(self, job: Job, items: "QuerySet[JobItem]") -> "QuerySet[Document]":
        return Document.objects.none()


def _tag(document: Document, arguments: Mapping[str, Any]) -> Outcome:
    add_tags([document.pk], arguments["tags"])
    return Outcome.CHANGED


def _untag(document: Document, arguments: Mapping[str, Any]) -> Outcome:
    remove_tags([document.pk], arguments["tags"])
    return Outcome.CHANGED


def _move(document: Document, arguments: Mapping[str, Any]) -> Outcome:
    target = Collection.objects.find(arguments["collection"])
    if target is None:
        raise Conflict(f"The collection {arguments['collection']!r} was deleted.")
    move_to_collection(document, target)
    return Outcome.MOVED


def _reembed(document: Document, arguments: Mapping[str, Any]) -> Outcome:
    if not document.content_sha256:
        raise Conflict("The document was never read. Upload it again.")
    reingest_document(document)
    return Outcome.EMBEDDED


def _delete(document: Document, arguments: Mapping[str, Any]) -> Outcome:
    with transaction.atomic():
        Document.objects.filter(pk=document.pk).only("pk", "collection").delete()
    return Outcome.REMOVED


_ACTS: Mapping[str, Callable[[Document, Mapping[str, Any]], Outcome]] = {
    Act.TAG: _tag, Act.UNTAG: _untag, Act.MOVE: _move, Act.REEMBED: _reembed, Act.DELETE: _delete,
}  # fmt: skip


@transaction.atomic
def start_edit(
    documents: Iterable[UUID], act: Act, *, tags: Sequence[str] = (), collection: str = ""
) -> list[Job]:
    """Create the jobs of an edit, one for each collection of the documents.

    Args:
        tags: Tags to add or remove.
        collection: The collection to move to.

    Raises:
        CollectionNotFound: There is no collection with this name.
        TooManyJobs: The user has too many unfinished jobs; no job is created.
    """
    arguments = {"act": act.value, "tags": list(tags), "collection": collection}
    if collection:
        Collection.objects.get_named(collection)
    by_collection: defaultdict[int, list[UUID]] = defaultdict(list)
    found = Document.objects.filter(pk__in=list(documents)).order_by("pk")
    for key, collection_id in found.values_list("pk", "collection_id"):
        by_collection[collection_id].append(key)
    return [_queue(collection_id, keys, arguments) for collection_id, keys in by_collection.items()]


def start_tagging(rule: Rule) -> list[Job]:
    """Make the jobs that put a rule's tags on what is there and lacks one."""
    found = without_tags(matching_documents(rule), rule.tags).values_list("pk", flat=True)
    return start_edit(found, Act.TAG, tags=rule.tags)


def _queue(collection_id: int, keys: list[UUID], arguments: Mapping[str, Any]) -> Job:
    check_job_quota()
    job = Job.objects.create(
        kind=Job.Kind.EDIT,
        collection_id=collection_id,
        arguments=arguments,
        total=len(keys),
        is_listed=True,
    )
    items = [JobItem.of_document(key, job=job) for key in keys]
    JobItem.objects.bulk_create(items, batch_size=1_000)
    enqueue_job(job.pk)
    return job
