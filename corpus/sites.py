"""Add, refresh and remove the websites and pages that are synced."""

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from corpus.crawl.scope import host_of, normalize_url
from corpus.errors import InvalidInput, NotFetched, SiteNotFound
from corpus.jobs.kinds.edit_job import Act, start_edit
from corpus.jobs.kinds.job_kind import start_job
from corpus.jobs.run import run_jobs_now
from corpus.jobs.states import cancel_job, delete_old_jobs
from corpus.models import Collection, Document, Job, Site
from corpus.models.base import check_writable
from corpus.public_web import check_fetching, check_url

DEFAULT_DEPTH = 2
MAX_DEPTH = 10
DEFAULT_PAGES = 500
# A year; and about as often as is polite.
MAX_HOURS = 8_760


@dataclass(frozen=True, slots=True)
class SiteLimits:
    """Extent and interval of syncs of a site.

    Attributes:
        is_whole: Whether to follow links and sitemaps; else it is one page.
        depth: Maximum depth in links from the first page.
        max_pages: Maximum URLs fetched by each sync.
        every_hours: Hours between two syncs; None: on demand.
    """

    is_whole: bool = True
    depth: int = DEFAULT_DEPTH
    max_pages: int = DEFAULT_PAGES
    every_hours: int | None = None


@transaction.atomic
def add_site(
    url: str, limits: SiteLimits, *, collection: Collection, tags: tuple[str, ...] = ()
) -> tuple[Site, bool]:
    """Add a site, or update the limits of an existing one; fetch nothing yet.

    Returns:
        The site, and whether it is new.

    Raises:
        FetchingOff: ``PKB_FETCH`` does not allow it.
        NotFetched: The URL is not allowed.
        InvalidInput: The page limit exceeds the maximum.
    """
    if limits.max_pages > settings.PKB_CRAWL_MAX_PAGES:
        message = f"At most {settings.PKB_CRAWL_MAX_PAGES:,} pages (PKB_CRAWL_MAX_PAGES)."
        raise InvalidInput(message, field="max_pages")
    check_url(url)
    address = normalize_url(url)
    if not address:
        raise NotFetched("This is not the URL of a page.")
    due_at = timezone.now() if limits.every_hours else None
    return Site.objects.update_or_create(
        collection=collection,
        address=address,
        defaults={
            "is_whole": limits.is_whole,
            "depth": limits.depth if limits.is_whole else 0,
            "max_pages": limits.max_pages if limits.is_whole else 1,
            "every_hours": limits.every_hours,
            "due_at": due_at,
            "tags": list(tags),
            "host": host_of(address),
        },
    )


def find_site(site_id: UUID) -> Site:
    """Return a site.

    Raises:
        SiteNotFound: No site has that id.
    """
    site = Site.objects.select_related("collection", "job").filter(pk=site_id).first()
    if site is None:
        raise SiteNotFound(f"There is no site {site_id}.")
    return site


@transaction.atomic
def refresh_site(site_id: UUID, *, background: bool = True) -> Job:
    """Start a sync of a site unless one is running; return the job.

    Raises:
        FetchingOff: ``PKB_FETCH`` does not allow it.
        SiteNotFound: There is none of that id.
        TooManyJobs: The user has too many unfinished background jobs.
    """
    check_fetching()
    # One at a time: two jobs never fetch the pages of a site.
    site = Site.objects.select_for_update().filter(pk=site_id).first()
    if site is None:
        raise SiteNotFound(f"There is no site {site_id}.")
    jobs = Job.objects.filter(kind=Job.Kind.CRAWL, arguments__site=str(site.pk))
    running = jobs.unfinished().first()
    if running is not None:
        return running
    delete_old_jobs(jobs)
    arguments = {"site": str(site.pk), "address": site.address}
    site.job = start_job(Job.Kind.CRAWL, site.collection_id, arguments, background=background)
    every = timedelta(hours=site.every_hours) if site.every_hours else None
    site.due_at = timezone.now() + every if every else None
    site.save(update_fields=["job", "due_at"])
    return site.job


def refresh_due_sites() -> None:
    """Start the syncs of the sites that are due."""
    if settings.PKB_FETCH == "off":
        return
    due = Site.objects.filter(due_at__lte=timezone.now())
    for key in due.values_list("pk", flat=True):
        refresh_site(key)


def remove_site(site_id: UUID, *, with_documents: bool = False) -> None:
    """Stop syncing a site; optionally delete its documents.

    Deletion begins at once, and a background job finishes it.

    Raises:
        SiteNotFound: There is none of that id.
    """
    with transaction.atomic():
        site = find_site(site_id)
        check_writable(Site.objects.filter(pk=site_id))
        jobs = Job.objects.unfinished().filter(kind=Job.Kind.CRAWL, arguments__site=str(site.pk))
        for job in jobs:
            cancel_job(job.pk)
        deletions = []
        if with_documents:
            single = Q(collection=site.collection_id, source_uri=site.address)
            documents = Document.objects.filter(single | Q(site_pages__site=site)).distinct()
            deletions = start_edit(documents.values_list("pk", flat=True), Act.DELETE)
        site.delete()
    run_jobs_now(deletions)
