"""Send requests to a site, one at a time for each host, with delays."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from hashlib import sha256
from http import HTTPStatus
from time import monotonic, sleep
from types import MappingProxyType

from django.conf import settings
from django.db.models import F
from django.utils import timezone

from corpus.crawl.scope import host_of, normalize_url
from corpus.errors import BackendUnavailable, NotFetched, Redirected, TooLarge
from corpus.models import Site
from corpus.postgres import try_session_lock
from corpus.public_web import MAX_REDIRECTS, TOTAL_S, FetchResult, fetch

# Maximum delay between requests that a site may ask for.
MAX_DELAY_S = 30.0
# Delay after a response of "too many requests".
BACK_OFF_S = 30.0
_TOO_MUCH = {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}
# After this many unanswered requests a site counts as offline, for this time.
MAX_FAILURES = 5
GIVEN_UP_FOR_S = 30.0
# First half of the two-part key of the lock on a host.
_HOST_LOCKS = 0x706B63
_LOOK_EVERY_S = 0.1


def fetch_page(
    site: Site,
    address: str,
    *,
    max_bytes: int,
    validators: Mapping[str, str] = MappingProxyType({}),
    max_redirects: int = 0,
) -> FetchResult | None:
    """Fetch a URL of a site after the host's delay, like ``corpus.public_web.fetch``.

    Raises:
        FetchingOff, NotFetched, TooLarge: As ``fetch``.
        BackendUnavailable: Other jobs keep the host busy.
    """
    with _host_lock(site.host):
        sleep(Site.objects.remaining_delay_s(site.host))
        try:
            fetched = fetch(
                address,
                max_bytes=max_bytes,
                validators=validators,
                max_redirects=max_redirects,
            )
        except NotFetched as exc:
            _note(site, failure=exc)
            raise
        except TooLarge:
            _note(site, received_bytes=max_bytes)
            raise
        _note(site, received_bytes=len(fetched.content) if fetched else 0)
        return fetched


def fetch_file(site: Site, address: str, *, max_bytes: int) -> FetchResult:
    """Fetch a file for robots, through redirects within the host.

    Raises:
        NotFetched: As ``fetch``, or it redirects to another host.
    """
    for _ in range(MAX_REDIRECTS):
        try:
            fetched = fetch_page(site, address, max_bytes=max_bytes)
        except Redirected as exc:
            address = normalize_url(exc.target)
            if host_of(address) != site.host:
                raise NotFetched("The page redirects to another host.") from exc
            continue
        assert fetched is not None  # noqa: S101  (no version of it is known)
        return fetched
    raise NotFetched(f"The page redirects more than {MAX_REDIRECTS} times.")


def is_offline(site: Site) -> bool:
    """Return whether requests are paused because the site did not answer."""
    now = Site.objects.filter(pk=site.pk).values_list("failure_count", "rests_until").first()
    if now is None or now[0] < MAX_FAILURES or now[1] is None:
        return False
    return timezone.now() - now[1] < timedelta(seconds=GIVEN_UP_FOR_S)


def _note(site: Site, *, received_bytes: int = 0, failure: NotFetched | None = None) -> None:
    delay_s = max(site.delay_s, settings.PKB_CRAWL_DELAY_S)
    if failure and failure.answered in _TOO_MUCH:
        delay_s = max(delay_s, BACK_OFF_S)
    is_silent = failure is not None and not failure.answered
    own = Site.objects.filter(pk=site.pk)
    own.update(
        request_count=F("request_count") + 1,
        received_bytes=F("received_bytes") + received_bytes,
        failure_count=F("failure_count") + 1 if is_silent else 0,
    )
    rested = timezone.now() + timedelta(seconds=delay_s)
    # Includes other sites of the host, because the host is delayed.
    Site.objects.filter(host=site.host).update(rests_until=rested)


@contextmanager
def _host_lock(host: str) -> Iterator[None]:
    """Lock a host for this process; the lock ends with the process."""
    key = int.from_bytes(sha256(host.encode()).digest()[:4], signed=True)
    ends = monotonic() + 2 * (TOTAL_S + MAX_DELAY_S)
    while True:
        with try_session_lock(_HOST_LOCKS, key) as is_mine:
            if is_mine:
                yield
                return
        if monotonic() > ends:
            raise BackendUnavailable("Another job is fetching from the same host. Try again later.")
        sleep(_LOOK_EVERY_S)
