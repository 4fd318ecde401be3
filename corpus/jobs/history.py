"""Delete old jobs of recurring syncs."""

from django.db.models import Exists, OuterRef

from corpus.ingestion.outcomes import Outcome
from corpus.models import Job, JobItem
from corpus.models.job import JobQuerySet

# Jobs of one folder, source or site.
JOBS_KEPT = 20
_NO_CHANGE = (Outcome.UNCHANGED, Outcome.REDIRECTED, Outcome.SKIPPED)


def delete_old_jobs(jobs: JobQuerySet) -> None:
    """Delete ended jobs except for the newest ``JOBS_KEPT``.

    Jobs that succeeded and changed nothing are always deleted, since each has an item for every
    file or page.

    Args:
        jobs: Jobs of one folder, source or site, newest first.
    """
    items = JobItem.objects.filter(job=OuterRef("pk"))
    changed = Exists(items.exclude(outcome__in=_NO_CHANGE))
    ended = jobs.exclude(status__in=Job.UNFINISHED)
    ended.filter(~changed, status=Job.Status.SUCCEEDED).delete()
    old = list(ended.values_list("pk", flat=True)[JOBS_KEPT:])
    Job.objects.filter(pk__in=old).delete()
