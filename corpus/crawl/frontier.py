"""The URLs that are still to fetch from a site, stored as items of a job.

They are in the database, so that they survive a killed worker.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from hashlib import sha256

from django.conf import settings
from django.db import transaction
from django.db.models import F, Value
from django.db.models.functions import MD5

from corpus.crawl.fetcher import MAX_DELAY_S, fetch_file, is_offline
from corpus.crawl.robots import MAX_BYTES, Rules, read_robots
from corpus.crawl.scope import Scope, kind_without_text, normalize_url, page_key
from corpus.errors import NotFetched, TooLarge, UnreadableFile
from corpus.loaders.link_parser import MAX_SITEMAP_BYTES
from corpus.loaders.links import find_entries
from corpus.models import Job, JobItem, Site, SitePage

# Maximum sitemaps of a site; big sites usually have ten.
MAX_SITEMAPS = 20
# By the protocol, a sitemap index may not list another index.
MAX_NESTING = 2
# Maximum stored links of one page: within the site, without duplicates.
MAX_LINKS_KEPT = 500
# Reasons that job and page show for URLs not fetched.
DISALLOWED = "disallowed by robots.txt"
OVER_THE_LIMIT = "over the limit of pages"


def open_site(job: Job, site: Site) -> None:
    """Read robots.txt, and queue the URLs of sitemaps and of earlier crawls.

    Raises:
        NotFetched: robots.txt cannot be read now.
    """
    if site.opened_by == job.pk:
        return
    root = f"{site.address.partition('://')[0]}://{site.host}"
    try:
        fetched = fetch_file(site, f"{root}/robots.txt", max_bytes=MAX_BYTES)
        site.robots = fetched.content.decode("utf-8", "replace").replace("\0", "")
    except NotFetched as exc:
        # RFC 9309: without robots.txt all is allowed; if it cannot be fetched, nothing is.
        if not 400 <= exc.answered < 500:  # noqa: PLR2004
            raise NotFetched(f"robots.txt: {exc}", answered=exc.answered) from exc
        site.robots = ""
    except TooLarge as exc:
        raise NotFetched(f"robots.txt: {exc}") from exc
    rules = read_robots(site.robots)
    site.delay_s = max(settings.PKB_CRAWL_DELAY_S, min(rules.delay_s, MAX_DELAY_S))
    site.save(update_fields=["robots", "delay_s"])
    sitemap_urls = _sitemap_urls(site, root, rules)
    known = site.pages.filter(document__isnull=False).values_list("address", flat=True)
    with transaction.atomic():
        # Links show later which of them are nearer.
        queue_pages(job, site, dict.fromkeys([*known, *sitemap_urls], site.depth), rules)
        Site.objects.filter(pk=site.pk).update(opened_by=job.pk)
    site.opened_by = job.pk


def _sitemap_urls(site: Site, root: str, rules: Rules) -> list[str]:
    """Return the site's URLs from its sitemaps, up to the page limit."""
    scope = Scope.of(site.address)
    urls: dict[str, None] = {}
    entries = (*rules.sitemaps, "/sitemap.xml")
    waiting = [(each, 1) for each in dict.fromkeys(normalize_link(site, e, root) for e in entries)]
    fetched: set[str] = set()
    while waiting and len(fetched) < MAX_SITEMAPS and not is_offline(site):
        address, nesting = waiting.pop(0)
        # Only the site itself names a sitemap on another host.
        if not Scope(site.host, "/").contains(address) or address in fetched:
            continue
        fetched.add(address)
        with suppress(NotFetched, TooLarge, UnreadableFile):
            file = fetch_file(site, address, max_bytes=MAX_SITEMAP_BYTES)
            sitemap = find_entries(file.content)
            for url in (normalize_link(site, entry) for entry in sitemap.pages):
                if _is_wanted(url, scope):
                    urls[url] = None
                if len(urls) >= site.max_pages:
                    return list(urls)
            if nesting < MAX_NESTING:
                nested = (normalize_link(site, each, root) for each in sitemap.sitemaps)
                waiting += [(each, nesting + 1) for each in nested]
    return list(urls)


def queue_links(job: Job, site: Site, page: SitePage) -> None:
    """Queue the links of a page, and those of pages whose depth shrank."""
    waiting = [page]
    while waiting:
        page = waiting.pop()
        if page.depth < site.depth:
            linked = dict.fromkeys(page.links, page.depth + 1)
            waiting += queue_pages(job, site, linked, read_robots(site.robots))


def select_links(site: Site, links: Iterable[str], *, base: str) -> list[str]:
    """Return the normalized links of a page to other pages of the site, without duplicates."""
    scope = Scope.of(site.address)
    addresses = dict.fromkeys(normalize_link(site, each, base) for each in links)
    return [each for each in addresses if _is_wanted(each, scope)][:MAX_LINKS_KEPT]


def normalize_link(site: Site, address: str, base: str = "") -> str:
    """Return the normalized URL; on an https site, links with http become https."""
    url = normalize_url(address, base)
    if url.startswith(f"http://{site.host}/") and site.address.startswith("https://"):
        return url.replace("http://", "https://", 1)
    return url


def _is_wanted(address: str, scope: Scope) -> bool:
    return bool(address) and scope.contains(address) and not kind_without_text(address)


@transaction.atomic
def queue_pages(job: Job, site: Site, depths: Mapping[str, int], rules: Rules) -> list[SitePage]:
    """Queue pages that the job does not have.

    Args:
        depths: Normalized URLs with their depth in links from the first page.

    Returns:
        Pages that the job already read and that are nearer than known before.
    """
    locked = Job.objects.select_for_update(no_key=True).get(pk=job.pk)
    # The first of several URLs of the same page counts.
    by_digest = {
        _digest(address): (address, depth) for address, depth in list(depths.items())[::-1]
    }
    known = {page.digest: page for page in site.pages.filter(digest__in=list(by_digest))}
    # Rows of pages may be deleted with their documents, but not the items.
    keys = [
        MD5(Value(page_key(address)))
        for digest, (address, _) in by_digest.items()
        if digest not in known
    ]
    items = job.items.alias(hashed=MD5("key")).filter(hashed__in=keys)
    listed = set(items.values_list("key", flat=True))
    fresh: list[SitePage] = []
    for digest, (address, depth) in list(by_digest.items())[::-1]:
        page = known.get(digest) or SitePage(site=site, digest=digest, address=address)
        if page.listed_by != job.pk and page_key(address) not in listed:
            page.depth, page.listed_by = depth, job.pk
            fresh.append(page)
    if fresh:
        _create_items(locked, site, fresh, rules)
    nearer = [page for page in known.values() if by_digest[page.digest][1] < page.depth]
    for page in nearer:
        page.depth = by_digest[page.digest][1]
    SitePage.objects.bulk_update(nearer, ["depth"], batch_size=500)
    return [page for page in nearer if page.read_by == job.pk]


def _create_items(job: Job, site: Site, fresh: Iterable[SitePage], rules: Rules) -> None:
    """Create items for pages up to the limits, and count the ones skipped."""
    skipped = Counter(job.skipped)
    items: list[JobItem] = []
    listed: list[SitePage] = []
    for page in fresh:
        if not rules.allow(page.address):
            reason = DISALLOWED
        elif job.total + len(items) >= site.max_pages:
            reason = OVER_THE_LIMIT
        else:
            items.append(JobItem(job=job, key=page_key(page.address), path=page.address))
            listed.append(page)
            continue
        # Each is counted once, as far as rows are stored.
        if skipped.total() < site.max_pages:
            skipped[reason] += 1
            listed.append(page)
    JobItem.objects.bulk_create(items)
    seen = [page for page in listed if not page._state.adding]
    SitePage.objects.bulk_create([page for page in listed if page._state.adding])
    SitePage.objects.bulk_update(seen, ["depth", "listed_by"], batch_size=500)
    Job.objects.filter(pk=job.pk).update(total=F("total") + len(items), skipped=dict(skipped))


def find_or_build_page(job: Job, site: Site, address: str) -> SitePage:
    """Return the stored row of a URL, or a new one if its document was deleted."""
    page, _ = SitePage.objects.get_or_create(
        site=site,
        digest=_digest(address),
        defaults={"address": address, "depth": site.depth, "listed_by": job.pk},
    )
    page.site = site
    return page


def _digest(address: str) -> str:
    return sha256(page_key(address).encode()).hexdigest()
