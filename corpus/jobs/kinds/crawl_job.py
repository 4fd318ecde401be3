"""Ingest the pages of a website and keep them in sync."""

from collections.abc import Callable

from corpus.crawl.frontier import queue_pages
from corpus.crawl.page_sync import process_item
from corpus.crawl.robots import Rules
from corpus.errors import BackendError, CollectionNotFound, PkbError
from corpus.ingestion.decisions import failed_result
from corpus.ingestion.outcomes import ItemResult, Outcome
from corpus.jobs.kinds.job_kind import JobKind
from corpus.models import Job, JobItem, Site

_REMOVED = "The site was removed."


class CrawlKind(JobKind):
    """An item is a page; reading a page may add more, and deletes its document if it is gone."""

    stage = Job.Stage.FETCHING

    def refuse(self, job: Job) -> str:
        return "" if _site_of(job) else _REMOVED

    def list_items(self, job: Job, *, should_stop: Callable[[], bool]) -> None:
        """Queue the first page, which opens the site; no other is known before it is read."""
        if site := _site_of(job):
            own = Site.objects.filter(pk=site.pk)
            own.update(request_count=0, received_bytes=0, failure_count=0)
            queue_pages(job, site, {site.address: 0}, Rules())
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

    def finish(self, job: Job) -> None:
        """Delete URLs without a document that no page links to any more."""
        if site := _site_of(job):
            site.pages.filter(document=None).exclude(listed_by=job.pk).delete()


def _site_of(job: Job) -> Site | None:
    return Site.objects.select_related("collection").filter(pk=job.arguments["site"]).first()
