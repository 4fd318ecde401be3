"""Ingest one page of a site, or delete its document.

Only a response of 404 or 410 deletes the document. A URL that redirects, is forbidden, duplicates
another page or does not respond keeps its document.
"""

from datetime import timedelta
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from corpus.crawl.fetcher import fetch_page, is_offline
from corpus.crawl.frontier import (
    find_or_build_page,
    normalize_link,
    open_site,
    queue_links,
    queue_pages,
    robots_rules,
    select_links,
)
from corpus.crawl.scope import Scope, is_same_path, normalize_url, page_key
from corpus.errors import (
    DuplicateDocument,
    EmptyDocument,
    NotFetched,
    Redirected,
    TooLarge,
    UnsupportedMediaType,
)
from corpus.ingestion.file_sync import duplicate_message
from corpus.ingestion.outcomes import ItemResult, Outcome
from corpus.ingestion.submission import Attributes
from corpus.ingestion.web_addresses import (
    FETCHED,
    fetch_metadata,
    find_by_url,
    hash_of,
    is_page,
    store_fetched,
    validators,
)
from corpus.loaders.links import find_links
from corpus.models import Document, Job, JobItem, Site, SitePage
from corpus.public_web import MAX_REDIRECTS, FetchResult

SOURCE = "web"
_GONE = {HTTPStatus.NOT_FOUND, HTTPStatus.GONE}
# Reasons that the job shows for pages without a document.
NOT_THERE = "not there"
NO_TEXT = "no text"
OF_ANOTHER_TYPE = "of another type"
TOO_LARGE = "too large"


def process_item(item: JobItem, site: Site) -> ItemResult:
    """Fetch a page of a site, ingest it, and queue its links.

    Raises:
        PkbError: It cannot be fetched or ingested; its stored document stays.
    """
    if not site.is_whole:
        return _process_single(site)
    job = item.job
    refusal = _stop_reason(job, site)
    if not refusal:
        open_site(job, site)
        refusal = "" if robots_rules(site).allow(item.path) else "robots.txt does not allow it."
    return (
        _failed(refusal)
        if refusal
        else _process_page(job, find_or_build_page(job, site, item.path))
    )


def _process_page(job: Job, page: SitePage, *, may_move: bool = True) -> ItemResult:
    site = page.site
    before = find_by_url(page.address, collection=site.collection)
    known = validators(before if page.read_by else None)
    try:
        fetched = fetch_page(site, page.address, max_bytes=settings.PKB_MAX_FILE_BYTES, **known)
    except (NotFetched, TooLarge) as exc:
        if may_move and _adopt_url(exc, page, before):
            return _process_page(job, page, may_move=False)
        return _handle_failure(exc, job, page, before)
    result = _ingest(fetched, job, page, before)
    queue_links(job, site, page)
    return result


def _adopt_url(reason: NotFetched | TooLarge, page: SitePage, before: Document | None) -> bool:
    """Adopt another URL of the same page, such as one with https."""
    target = normalize_link(page.site, reason.target) if isinstance(reason, Redirected) else ""
    if page_key(target) != page_key(page.address) or target == page.address:
        return False
    with transaction.atomic():
        _save_page(page, address=target)
        if (
            before
            and not Document.objects.filter(
                collection=before.collection_id, source_uri=target
            ).exists()
        ):
            Document.objects.filter(pk=before.pk).update(source_uri=target)
    return True


def _handle_failure(
    reason: NotFetched | TooLarge, job: Job, page: SitePage, before: Document | None
) -> ItemResult:
    if isinstance(reason, Redirected):
        return _follow_redirect(reason, job, page, before)
    if isinstance(reason, NotFetched):
        return _delete_if_gone(reason, job, page, before)
    return _skipped(job, TOO_LARGE) if before is None else _failed(str(reason), before)


def _process_single(site: Site) -> ItemResult:
    before = find_by_url(site.address, collection=site.collection)
    try:
        fetched = fetch_page(
            site,
            site.address,
            max_bytes=settings.PKB_MAX_FILE_BYTES,
            max_redirects=MAX_REDIRECTS,
            **validators(before),
        )
    except NotFetched as exc:
        if before and exc.answered in _GONE:
            return _remove(before)
        raise
    if before and fetched and normalize_url(fetched.url) != _final_url(before):
        return _failed(f"It leads to {fetched.url} now: name that address.", before)
    return _store(fetched, site, site.address, before)


def _final_url(document: Document) -> str:
    """Return the final URL of the redirects at ingestion."""
    stated = document.metadata.get(FETCHED)
    return normalize_url(str(stated.get("url", ""))) if isinstance(stated, dict) else ""


def _failed(reason: str, document: Document | None = None) -> ItemResult:
    return ItemResult(Outcome.FAILED, str(document.pk) if document else "", reason=reason)


def _stop_reason(job: Job, site: Site) -> str:
    """Return why this job sends no more requests to the site."""
    if is_offline(site):
        return "Its server does not answer any more."
    if site.received_bytes >= settings.PKB_CRAWL_MAX_BYTES:
        return f"The site has more than the allowed {settings.PKB_CRAWL_MAX_BYTES:,} bytes."
    hours = settings.PKB_CRAWL_MAX_HOURS
    if job.started_at and timezone.now() - job.started_at > timedelta(hours=hours):
        return f"It took more than the allowed {hours:g} hours."
    return ""


def _follow_redirect(
    found: Redirected, job: Job, page: SitePage, before: Document | None
) -> ItemResult:
    """Queue the target of a redirect as another page; this one keeps its document."""
    site = page.site
    target = normalize_link(site, found.target)
    is_first = page_key(page.address) == page_key(site.address)
    if not target or not Scope.of(site.address).contains(target):
        if not is_first and before is None:
            return ItemResult(Outcome.REDIRECTED)
        said = f"It redirects to {target or 'what is no address'}, which is not of this site"
        return _failed(f"{said}: name that address." if is_first else f"{said}.", before)
    _save_page(page, moved_to=target if found.is_permanent else "")
    _queue_page(job, page, target)
    return ItemResult(Outcome.REDIRECTED, str(before.pk) if before else "")


def _queue_page(job: Job, page: SitePage, address: str) -> None:
    """Queue the page that another one points to."""
    rules = robots_rules(page.site)
    for nearer in queue_pages(job, page.site, {address: page.depth}, rules):
        queue_links(job, page.site, nearer)


def _delete_if_gone(
    found: NotFetched, job: Job, page: SitePage, before: Document | None
) -> ItemResult:
    """Delete the document of a page that is gone; keep it after other failures."""
    is_first = page_key(page.address) == page_key(page.site.address)
    if not is_first and before is None and _is_permanent_refusal(found.answered):
        return _skipped(job, NOT_THERE)
    if is_first or before is None or found.answered not in _GONE:
        return _failed(str(found), before)
    if not _has_start_page(job, page.site):
        return _failed(f"{found} Nor does the first page answer, so that it stays.", before)
    return _remove(before)


def _is_permanent_refusal(answered: int) -> bool:
    """Return whether a status is a permanent refusal; "too many requests" is not."""
    is_final = 0 < answered < HTTPStatus.INTERNAL_SERVER_ERROR
    return is_final and answered != HTTPStatus.TOO_MANY_REQUESTS


def _has_start_page(job: Job, site: Site) -> bool:
    """Return whether the job fetched the first page: an offline site has no pages."""
    return job.items.filter(path=site.address, status=JobItem.Status.DONE).exists()


def _remove(document: Document) -> ItemResult:
    with transaction.atomic():
        Document.objects.filter(pk=document.pk).only("pk", "collection").delete()
    return ItemResult(Outcome.REMOVED)


def _ingest(
    fetched: FetchResult | None, job: Job, page: SitePage, before: Document | None
) -> ItemResult:
    if fetched is not None and is_page(fetched):
        # Before the text: the links of a stored version are already known.
        if _read_links(fetched, job, page):
            return ItemResult(Outcome.REDIRECTED, str(before.pk) if before else "")
    else:
        _save_page(page, read_by=job.pk)
    if fetched is not None and page.site.is_whole and _is_image(fetched):
        return _skipped(job, OF_ANOTHER_TYPE)
    try:
        result = _store(fetched, page.site, page.address, before)
    except (UnsupportedMediaType, EmptyDocument) as exc:
        if before is not None:
            raise
        return _skipped(job, NO_TEXT if isinstance(exc, EmptyDocument) else OF_ANOTHER_TYPE)
    if result.outcome == Outcome.UNCHANGED and result.reason:
        result = _handle_duplicate(result, fetched, page, before)
    if not result.reason and result.document_id != str(page.document_id):
        _save_document(page, result.document_id)
    return result


def _is_image(fetched: FetchResult) -> bool:
    """Return whether it is an image, which sites and folders use as decoration."""
    return fetched.media_type.lower().startswith("image/")


def _read_links(fetched: FetchResult, job: Job, page: SitePage) -> bool:
    """Store the links of a page; return whether its canonical URL is another page.

    A canonical URL counts only if it differs in the query: if all pages name the same one by
    mistake, each would be lost.
    """
    found = find_links(fetched.content)
    base = normalize_url(found.base, page.address) or page.address
    links = select_links(page.site, found.links, base=base)
    named = normalize_link(page.site, found.canonical, base) if found.canonical else ""
    is_other = (
        bool(named)
        and page_key(named) != page_key(page.address)
        and is_same_path(named, page.address)
        and robots_rules(page.site).allow(named)
    )
    _save_page(page, read_by=job.pk, links=links, moved_to=named if is_other else "")
    if is_other:
        _queue_page(job, page, named)
    return is_other


def _store(
    fetched: FetchResult | None, site: Site, address: str, before: Document | None
) -> ItemResult:
    """Ingest a fetched page; return a reason if another document has the same text."""
    try:
        stored = store_fetched(
            fetched,
            url=address,
            before=before,
            collection=site.collection,
            attributes=Attributes(source=SOURCE, tags=tuple(site.tags)),
        )
    except DuplicateDocument as exc:
        same = str(exc.document_id)
        is_own = before is not None and same == str(before.pk)
        count = before.chunk_count if before and is_own else 0
        reason = "" if is_own else duplicate_message(same)
        return ItemResult(Outcome.UNCHANGED, same, count, reason=reason)
    outcome = Outcome.ADDED if stored.is_new else Outcome.REPLACED
    return ItemResult(outcome, stored.document_id, stored.chunk_count, stored.encoded_count)


def _handle_duplicate(
    twin: ItemResult, fetched: FetchResult | None, page: SitePage, before: Document | None
) -> ItemResult:
    """Move a document whose page now redirects here; else keep both."""
    if before is not None:
        return _failed(f"{twin.reason} What was stored of this address stays.", before)
    left = page.site.pages.filter(document_id=twin.document_id, moved_to=page.address).first()
    if left is None or fetched is None:
        return twin
    with transaction.atomic():
        document = Document.objects.select_for_update(no_key=True).get(pk=twin.document_id)
        document.source_uri = page.address
        document.metadata = {**document.metadata, FETCHED: fetch_metadata(fetched)}
        document.file_hash = hash_of(fetched)
        document.save(update_fields=["source_uri", "metadata", "file_hash"])
        _save_page(left, document=None)
    return ItemResult(Outcome.RENAMED, twin.document_id, document.chunk_count)


def _save_page(page: SitePage, **fields: Any) -> None:
    """Save a page; its row may have been deleted with its document."""
    for name, value in fields.items():
        setattr(page, name, value)
    SitePage.objects.filter(pk=page.pk).update(**fields)


@transaction.atomic
def _save_document(page: SitePage, document_id: str) -> None:
    """Save the document of a page, unless it was deleted meanwhile."""
    if Document.objects.lock_for_key_share([document_id]):
        _save_page(page, document_id=document_id)


@transaction.atomic
def _skipped(job: Job, kind: str) -> ItemResult:
    """Count a page without a document."""
    locked = Job.objects.select_for_update(no_key=True).get(pk=job.pk)
    locked.skipped[kind] = locked.skipped.get(kind, 0) + 1
    locked.save(update_fields=["skipped"])
    return ItemResult(Outcome.SKIPPED)
