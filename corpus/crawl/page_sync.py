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
    select_links,
)
from corpus.crawl.robots import read_robots
from corpus.crawl.scope import Scope, is_same_path, normalize_url, page_key
from corpus.errors import (
    DuplicateDocument,
    EmptyDocument,
    NotFetched,
    Redirected,
    TooLarge,
    UnsupportedMediaType,
)
from corpus.ingestion.decisions import Action, Decision, KnownDocument, decide
from corpus.ingestion.outcomes import ItemResult, Outcome
from corpus.ingestion.submission import Attributes
from corpus.ingestion.web_addresses import (
    FETCHED,
    fetch_metadata,
    find_by_url,
    hash_of,
    is_page,
    last_response,
    store_fetched,
)
from corpus.loaders.links import find_links
from corpus.models import Document, Job, JobItem, Site, SitePage
from corpus.public_web import MAX_REDIRECTS, FetchResult
from corpus.sources.source import Entry

SOURCE = "web"
_GONE = {HTTPStatus.NOT_FOUND, HTTPStatus.GONE}
_MOVED = {HTTPStatus.MOVED_PERMANENTLY, HTTPStatus.PERMANENT_REDIRECT}
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
        before = find_by_url(site.address, collection=site.collection)
        try:
            fetched = fetch_page(
                site,
                site.address,
                max_bytes=settings.PKB_MAX_FILE_BYTES,
                max_redirects=MAX_REDIRECTS,
                validators=last_response(before),
            )
        except NotFetched as exc:
            if before and exc.answered in _GONE:
                return _remove(before)
            raise
        # The final URL of the redirects at ingestion.
        final_url = last_response(before).get("url", "")
        if before and fetched and normalize_url(fetched.url) != normalize_url(final_url):
            return _failed(f"It leads to {fetched.url} now: name that address.", before)
        return _store(fetched, site, site.address, before)
    job = item.job
    if is_offline(site):
        return _failed("Its server does not answer any more.")
    max_bytes, max_hours = settings.PKB_CRAWL_MAX_BYTES, settings.PKB_CRAWL_MAX_HOURS
    if site.received_bytes >= max_bytes:
        return _failed(f"The site has more than the allowed {max_bytes:,} bytes.")
    if job.started_at and timezone.now() - job.started_at > timedelta(hours=max_hours):
        return _failed(f"It took more than the allowed {max_hours:g} hours.")
    open_site(job, site)
    if not read_robots(site.robots).allow(item.path):
        return _failed("robots.txt does not allow it.")
    return PageSync(job, find_or_build_page(job, site, item.path)).sync()


class PageSync:
    """Ingests one page of a whole site, or deletes its document."""

    def __init__(self, job: Job, page: SitePage) -> None:
        self._job = job
        self._page = page
        self._site = page.site
        self._before = find_by_url(page.address, collection=page.site.collection)

    def sync(self, *, may_adopt_url: bool = True) -> ItemResult:
        """Fetch and ingest the page, and queue its links.

        Raises:
            PkbError: As ``process_item``.
        """
        page = self._page
        last = last_response(self._before if page.read_by else None)
        max_bytes = settings.PKB_MAX_FILE_BYTES
        try:
            fetched = fetch_page(self._site, page.address, max_bytes=max_bytes, validators=last)
        except Redirected as exc:
            target = normalize_link(self._site, exc.target)
            is_same_page = page_key(target) == page_key(page.address) and target != page.address
            if may_adopt_url and is_same_page:
                # Another URL of the same page, such as one with https.
                with transaction.atomic():
                    self._save(address=target)
                    own = Document.objects.filter(collection=self._site.collection_id)
                    if self._before and not own.filter(source_uri=target).exists():
                        own.filter(pk=self._before.pk).update(source_uri=target)
                return PageSync(self._job, page).sync(may_adopt_url=False)
            return self._follow_redirect(target, is_permanent=exc.answered in _MOVED)
        except NotFetched as exc:
            return self._delete_if_gone(exc)
        except TooLarge as exc:
            return (
                _failed(str(exc), self._before) if self._before else _skipped(self._job, TOO_LARGE)
            )
        result = self._ingest(fetched)
        queue_links(self._job, self._site, page)
        return result

    @property
    def _is_first(self) -> bool:
        return page_key(self._page.address) == page_key(self._site.address)

    def _redirected(self) -> ItemResult:
        return ItemResult(Outcome.REDIRECTED, str(self._before.pk) if self._before else "")

    def _follow_redirect(self, target: str, *, is_permanent: bool) -> ItemResult:
        """Queue the target of a redirect as another page; this one keeps its document."""
        if not target or not Scope.of(self._site.address).contains(target):
            reason = f"It redirects to {target or 'what is no address'}, which is not of this site"
            if self._is_first:
                return _failed(f"{reason}: name that address.", self._before)
            return _failed(f"{reason}.", self._before) if self._before else self._redirected()
        self._save(moved_to=target if is_permanent else "")
        self._queue(target)
        return self._redirected()

    def _queue(self, url: str) -> None:
        """Queue the page that this one points to."""
        rules = read_robots(self._site.robots)
        for nearer in queue_pages(self._job, self._site, {url: self._page.depth}, rules):
            queue_links(self._job, self._site, nearer)

    def _delete_if_gone(self, failure: NotFetched) -> ItemResult:
        """Delete the document of a page that is gone; keep it after other failures."""
        status = failure.answered
        if self._is_first:
            return _failed(str(failure), self._before)
        if self._before is None:
            is_final = 0 < status < HTTPStatus.INTERNAL_SERVER_ERROR
            if is_final and status != HTTPStatus.TOO_MANY_REQUESTS:
                return _skipped(self._job, NOT_THERE)
            return _failed(str(failure), self._before)
        if status not in _GONE:
            return _failed(str(failure), self._before)
        # An offline site has no pages: its first page must have been fetched.
        first = self._job.items.filter(path=self._site.address, status=JobItem.Status.DONE)
        if not first.exists():
            return _failed(
                f"{failure} Nor does the first page answer, so that it stays.", self._before
            )
        return _remove(self._before)

    def _ingest(self, fetched: FetchResult | None) -> ItemResult:
        if fetched is not None and is_page(fetched):
            # Before the text: the links of a stored version are already known.
            if self._read_links(fetched):
                return self._redirected()
        else:
            self._save(read_by=self._job.pk)
        # Sites use images as decoration, as folders do.
        if fetched is not None and fetched.media_type.lower().startswith("image/"):
            return _skipped(self._job, OF_ANOTHER_TYPE)
        try:
            result = _store(fetched, self._site, self._page.address, self._before)
        except (UnsupportedMediaType, EmptyDocument) as exc:
            if self._before is not None:
                raise
            is_empty = isinstance(exc, EmptyDocument)
            return _skipped(self._job, NO_TEXT if is_empty else OF_ANOTHER_TYPE)
        if result.outcome == Outcome.UNCHANGED and result.reason:
            result = self._handle_duplicate(result, fetched)
        if not result.reason and result.document_id != str(self._page.document_id):
            with transaction.atomic():
                # It may have been deleted meanwhile.
                if Document.objects.lock_for_key_share([result.document_id]):
                    self._save(document_id=result.document_id)
        return result

    def _read_links(self, fetched: FetchResult) -> bool:
        """Store the links of a page; return whether its canonical URL is another page.

        A canonical URL counts only if it differs in the query: if all pages name the same one by
        mistake, each would be lost.
        """
        site, address = self._site, self._page.address
        parsed = find_links(fetched.content)
        base = normalize_url(parsed.base, address) or address
        links = select_links(site, parsed.links, base=base)
        canonical = normalize_link(site, parsed.canonical, base) if parsed.canonical else ""
        is_other = (
            bool(canonical)
            and page_key(canonical) != page_key(address)
            and is_same_path(canonical, address)
            and read_robots(site.robots).allow(canonical)
        )
        self._save(read_by=self._job.pk, links=links, moved_to=canonical if is_other else "")
        if is_other:
            self._queue(canonical)
        return is_other

    def _handle_duplicate(self, duplicate: ItemResult, fetched: FetchResult | None) -> ItemResult:
        """Move a document whose page now redirects here; else keep both."""
        if self._before is not None:
            return _failed(
                f"{duplicate.reason} What was stored of this address stays.", self._before
            )
        address, document_id = self._page.address, duplicate.document_id
        origin = self._site.pages.filter(document_id=document_id, moved_to=address).first()
        if origin is None or fetched is None:
            return duplicate
        with transaction.atomic():
            document = Document.objects.select_for_update(no_key=True).get(pk=document_id)
            document.source_uri = address
            document.metadata = {**document.metadata, FETCHED: fetch_metadata(fetched)}
            document.file_hash = hash_of(fetched)
            document.save(update_fields=["source_uri", "metadata", "file_hash"])
            self._site.pages.filter(pk=origin.pk).update(document=None)
        return Decision(Action.MOVE, KnownDocument.of(document)).result

    def _save(self, **fields: Any) -> None:
        """Save the page; its row may have been deleted with its document."""
        for name, value in fields.items():
            setattr(self._page, name, value)
        SitePage.objects.filter(pk=self._page.pk).update(**fields)


def _store(
    fetched: FetchResult | None, site: Site, address: str, before: Document | None
) -> ItemResult:
    """Ingest a fetched page; return a reason if another document has the same text.

    Args:
        fetched: None if the server reports that the page has not changed.
        before: The document of the page, if it has one.
    """
    known = KnownDocument.of(before) if before is not None else None
    version, fingerprint = (known.version, known.fingerprint) if known else ("", "")
    version = hash_of(fetched) if fetched else version
    # A page is not chunked again if only the settings of its collection change.
    decision = decide(Entry(address, version), known, fingerprint=fingerprint)
    if fetched is None or not decision.needs_content:
        return decision.result
    try:
        stored = store_fetched(
            fetched,
            url=address,
            collection=site.collection,
            attributes=Attributes(source=SOURCE, tags=tuple(site.tags)),
        )
    except DuplicateDocument as exc:
        # Other bytes with the same text.
        if known is not None and exc.document_id == known.document_id:
            return Decision(Action.KEEP, known).result
        return Decision(Action.DUPLICATE, KnownDocument(exc.document_id)).result
    return ItemResult.from_stored(stored)


def _remove(document: Document) -> ItemResult:
    document.delete()
    return ItemResult(Outcome.REMOVED)


def _failed(reason: str, document: Document | None = None) -> ItemResult:
    return ItemResult(Outcome.FAILED, str(document.pk) if document else "", reason=reason)


@transaction.atomic
def _skipped(job: Job, kind: str) -> ItemResult:
    """Count a page without a document."""
    locked = Job.objects.select_for_update(no_key=True).get(pk=job.pk)
    locked.skipped[kind] = locked.skipped.get(kind, 0) + 1
    locked.save(update_fields=["skipped"])
    return ItemResult(Outcome.SKIPPED)
