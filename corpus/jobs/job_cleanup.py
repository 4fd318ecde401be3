"""Erase paths and reasons of deleted documents from jobs."""

from uuid import UUID

from django.db.models import CharField, Q, Value
from django.db.models.functions import MD5, Cast, Concat

from corpus.ingestion.outcomes import Outcome
from corpus.models import Job, JobItem
from corpus.postgres import execute

_ERASED_KEY = "erased:"
_GONE = "The document was deleted."

_ERASE_ERRORS = """
UPDATE corpus_job SET errors = (
    SELECT coalesce(jsonb_agg(error ORDER BY place), '[]')
      FROM jsonb_array_elements(errors) WITH ORDINALITY AS listed(error, place)
     WHERE (error->>'path' = ANY(%(names)s) OR error->>'document_id' = ANY(%(names)s)) IS NOT TRUE)
 WHERE id = ANY(%(jobs)s) AND finished_at IS NOT NULL AND EXISTS (
    SELECT FROM jsonb_array_elements(errors) error
     WHERE error->>'path' = ANY(%(names)s) OR error->>'document_id' = ANY(%(names)s))
"""
# The job of an upload names the file, whichever collection a rule chose.
_ERASE_UPLOAD = """
UPDATE corpus_job SET arguments = jsonb_set(arguments, '{paths}', (arguments->'paths') - %(path)s)
 WHERE (collection_id = %(collection)s OR arguments->>'source' = 'upload')
   AND kind = 'sync' AND is_listed AND arguments->'paths' @> to_jsonb(%(path)s::text)
"""


def erase_from_jobs(document_id: UUID, *, collection_id: int, path: str) -> None:
    """Erase the document's paths and reasons from the items and errors of jobs.

    Pending items stay, since they are still to run. Failures of a running job stay until it ends.
    Counts do not change.

    Args:
        path: Path of the document's file, or empty.
    """
    of_path = JobItem.objects.alias(hashed=MD5("key")).filter(
        job__collection=collection_id, hashed=MD5(Value(path))
    )
    of_document = JobItem.objects.filter(document_id=document_id)
    is_still_reported = Q(job__status__in=Job.UNFINISHED) & ~Q(status=JobItem.Status.DONE)
    items = {
        item.pk: item
        for own in ([of_document, of_path] if path else [of_document])
        for item in own.exclude(Q(status=JobItem.Status.PENDING) | is_still_reported)
    }
    rows = JobItem.objects.filter(pk__in=list(items))
    # Keys are unique in a job.
    key = Concat(Value(_ERASED_KEY), Cast("pk", CharField()))
    rows.exclude(path="").update(key=key, path="")
    has_failed = Q(status__in=["failed", "quarantined"])
    rows.filter(has_failed).update(reason=_GONE, outcome=Outcome.REMOVED)
    rows.exclude(has_failed).update(reason="")
    names = [str(document_id), *{item.path for item in items.values() if item.path}]
    job_ids = list({item.job_id for item in items.values()})
    execute(_ERASE_ERRORS, {"jobs": job_ids, "names": names})
    if path:
        execute(_ERASE_UPLOAD, {"path": path, "collection": collection_id})


def blank_item(item: JobItem) -> None:
    """Erase the path and reason of an unsaved item whose document was deleted meanwhile."""
    if item.path:
        item.key, item.path = f"{_ERASED_KEY}{item.pk}", ""
    item.reason = _GONE if item.reason else ""
