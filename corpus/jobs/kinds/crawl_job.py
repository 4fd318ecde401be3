"""Ingest the pages of a website and keep them in sync."""

from collections.abc import Callable

from django.db import transaction
from django.db.models import QuerySet

from corpus.crawl.frontier import queue_start_page
from corpus.crawl.page_links import process_item
from corpus.errors import BackendError, CollectionNotFound, PkbError
from corpus.ingestion.file_sync import failed_result
from corpus.ingestion.outcomes import ItemResult, Outcome
from corpus.jobs.kinds.job_kind import JobKind
from corpus.models import Document, Job, JobItem, Site
from corpus.queue import enqueue_job
from corpus.user_quotas import check_job_quota


class CrawlKind(JobKind):
    """An item is a page; reading a page may add more."""

    stage = Job.Stage.FETCHING

    def refuse(self, job: Job) -> str:
        return "" if _site_of(job) else _REMOVED

    def list_items(self, job: Job, *, should_stop: Callable[[], bool]) -> None:
        if site := _site_of(job):
            queue_start_page(job, site)
        Job.objects.filter(pk=job.pk).update(is_listed=True)

    def delay_before_next_s(self, job: Job) -> float:
        if not job.items.pending().exists():
            return 0.0
        host = Site.objects.filter(pk=job.arguments["site"]).values_list("host", flat=True).first()
        return Site.objects.remaining_delay_s(host) if host else 0.0

    def run(self, item: JobItem) -> ItemResult:
        site = _site_of(item.job)
        if site is None:
            return ItemResult(Outcome.FAILED, reason=_REMOVED)
        try:
            return process_item(item, site)
        except (BackendError, CollectionNotFound):
            raise
        except PkbError as exc:
            return failed_result(exc)

    def documents(self, job: Job, items: "QuerySet[JobItem]") -> "QuerySet[Document]":
        return Document.objects.none()

    def finish(self, job: Job) -> None:
        """Delete URLs without a document that no page links to any more."""
        if site := _site_of(job):
            site.pages.filter(document=None).exclude(listed_by=job.pk).delete()


_REMOVED = "The site was removed."


def _site_of(job: Job) -> Site | None:
    return Site.objects.select_related("collection").filter(pk=job.arguments["site"]).first()


@transaction.atomic
def start_crawl(site: Site, *, background: bool = True) -> Job:
    """Create a job that syncs a site; workers run it if ``background`` is set.

    Raises:
        TooManyJobs: The user has too many unfinished background jobs.
    """
    if background:
        check_job_quota()
    job = Job.objects.create(
        kind=Job.Kind.CRAWL,
        collection_id=site.collection_id,
        arguments={"site": str(site.pk), "address": site.address},
        is_background=background,
    )
    if background:
        enqueue_job(job.pk)
    return job
