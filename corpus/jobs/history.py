"""Jobs that come again and again: how many of them are kept."""

from django.db.models import Exists, OuterRef

from corpus.ingestion.outcomes import Outcome
from corpus.models import Job, JobItem
from corpus.models.job_querysets import JobQuerySet

# Of one folder, source or site.
JOBS_KEPT = 20
_NO_CHANGE = (Outcome.UNCHANGED, Outcome.REDIRECTED, Outcome.SKIPPED)


def delete_old_jobs(jobs: JobQuerySet) -> None:
    """Remove ended jobs that nobody will look for: each has an item for every file or page.

    The newest ``JOBS_KEPT`` stay; of those that changed nothing only those that failed do.

    Args:
        jobs: Those of one folder, source or site, newest first.
    """
    items = JobItem.objects.filter(job=OuterRef("pk"))
    changed = Exists(items.exclude(outcome__in=_NO_CHANGE))
    ended = jobs.exclude(status__in=Job.UNFINISHED)
    ended.filter(~changed, status=Job.Status.SUCCEEDED).delete()
    old = list(ended.values_list("pk", flat=True)[JOBS_KEPT:])
    Job.objects.filter(pk__in=old).delete()
