"""Edit many documents: tag, untag, move, re-embed, delete."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from enum import StrEnum
from uuid import UUID

from django.db import transaction

from corpus.errors import BackendError, PkbError
from corpus.ingestion.file_scan import error_reason
from corpus.ingestion.ingest import move_to_collection, reingest_document
from corpus.ingestion.outcomes import ItemResult, Outcome
from corpus.jobs.kinds.job_kind import JobKind, queue_documents
from corpus.models import Collection, Document, Job, JobItem, Rule
from corpus.rules.matching import matching_documents, without_tags
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
        job, arguments = item.job, item.job.arguments
        rows = Document.objects.select_related("collection").filter(collection=job.collection_id)
        document = rows.filter(pk=str(item.document_id)).first()
        if document is None:
            return ItemResult(Outcome.REMOVED, str(item.document_id))
        try:
            match arguments["act"]:
                case Act.TAG:
                    add_tags([document.pk], arguments["tags"])
                case Act.UNTAG:
                    remove_tags([document.pk], arguments["tags"])
                case Act.MOVE:
                    target = Collection.objects.find(arguments["collection"])
                    if target is None:
                        reason = f"The collection {arguments['collection']!r} was deleted."
                        return ItemResult(Outcome.FAILED, str(document.pk), reason=reason)
                    move_to_collection(document, target)
                case Act.REEMBED:
                    reingest_document(document)
                case Act.DELETE:
                    document.delete()
        except BackendError:
            raise
        except PkbError as exc:
            return ItemResult(Outcome.FAILED, str(item.document_id), reason=error_reason(exc))
        outcome = _OUTCOMES[arguments["act"]]
        return ItemResult(outcome, str(item.document_id), document.chunk_count)


_OUTCOMES = {
    Act.TAG: Outcome.CHANGED,
    Act.UNTAG: Outcome.CHANGED,
    Act.MOVE: Outcome.MOVED,
    Act.REEMBED: Outcome.EMBEDDED,
    Act.DELETE: Outcome.REMOVED,
}


@transaction.atomic
def start_edit(
    documents: Iterable[UUID], act: Act, *, tags: Sequence[str] = (), collection: str = ""
) -> list[Job]:
    """Create the jobs of an edit, one for each collection of the documents.

    Raises:
        CollectionNotFound: There is no collection with this name.
        TooManyJobs: The user has too many unfinished jobs; no job is created.
    """
    arguments = {"act": act.value, "tags": list(tags), "collection": collection}
    if collection:
        Collection.objects.get_named(collection)
    by_collection: defaultdict[int, list[UUID]] = defaultdict(list)
    rows = Document.objects.filter(pk__in=list(documents)).order_by("pk")
    for document_id, collection_id in rows.values_list("pk", "collection_id"):
        by_collection[collection_id].append(document_id)
    jobs = []
    for collection_id, document_ids in by_collection.items():
        check_job_quota()
        jobs.append(queue_documents(Job.Kind.EDIT, collection_id, document_ids, arguments))
    return jobs


def start_tagging(rule: Rule) -> list[Job]:
    """Create the jobs that tag the stored documents that match a rule and lack one of its tags."""
    untagged = without_tags(matching_documents(rule), rule.tags).values_list("pk", flat=True)
    return start_edit(untagged, Act.TAG, tags=rule.tags)
