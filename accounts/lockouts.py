"""Who may try a password: wrong ones are counted by name, and by browser or network.

A browser in which a user has logged in is known by a cookie and counted apart, so that others at
its address cannot lock it out (OWASP: device cookies). Everybody else counts by their address, of
IPv6 by its /64.
"""

from datetime import datetime, timedelta
from hashlib import sha256
from secrets import token_urlsafe
from typing import Any, NamedTuple

from axes.handlers.base import AxesHandler
from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.postgres.aggregates import ArrayAgg
from django.db import connection, transaction
from django.db.models import Count, Max, Q
from django.db.models.functions import TruncMinute
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils import timezone

from accounts.audit import record_event
from accounts.client_ip import client_ip, client_network
from accounts.models import (
    MAX_ADDRESS_CHARS,
    MAX_NAME_CHARS,
    MAX_SUBJECT_CHARS,
    Event,
    FailedLogin,
    KnownClient,
)

# Wrong passwords for one name from one browser or network.
MAX_FAILURES = 5
WINDOW = timedelta(minutes=15)
# Wrong passwords for one name from anywhere, after which new browsers and networks must wait: as of
# ten that used up theirs, which is more than one person's mistakes. It leaves 1,200 guesses a day.
MAX_NAME_FAILURES = 50
NAME_WINDOW = timedelta(hours=1)
# A browser or network from which nobody has logged in for so long is new again.
KNOWN_CLIENT_AGE = timedelta(days=365)
COOKIE = "known_browser"

# Failures are noted one at a time: each count is reached once, and one of a minute is the first.
_ONE_AT_A_TIME = "SELECT pg_advisory_xact_lock(hashtext('pkb.logins'))"


class Source(NamedTuple):
    """Where a login comes from.

    Attributes:
        client: What it counts against: a browser known to the user, else the network.
        network: The address, of IPv6 its /64.
        is_known: The user has logged in from this browser or network.
    """

    client: str
    network: str
    is_known: bool


class LoginHandler(AxesHandler):  # type: ignore[misc]
    """Tells axes who is locked out."""

    def is_locked(self, request: HttpRequest, credentials: Any = None) -> bool:
        return is_locked_out(request, _name_of(credentials))

    def user_login_failed(
        self, sender: Any, credentials: Any, request: Any = None, **kwargs: Any
    ) -> None:
        if request is None or request.axes_locked_out:
            return
        name = _name_of(credentials)
        count_failed_login(request, name)
        request.axes_locked_out = is_locked_out(request, name)

    def reset_attempts(
        self,
        *,
        ip_address: str | None = None,
        username: str | None = None,
        ip_or_username: bool = False,
    ) -> int:
        """Let in at once whom wrong passwords locked out; what ``manage.py axes_reset`` does."""
        at_address, of_name = Q(), Q()
        if ip_address:
            at_address = Q(network=client_network(ip_address))
        if username:
            of_name = Q(name=username)
        with transaction.atomic():
            record_failures(before=_begin())
            either = at_address | of_name if ip_or_username else at_address & of_name
            return FailedLogin.objects.filter(either).delete()[0]


def is_locked_out(request: HttpRequest, name: str) -> bool:
    """Tell whether no password is tried for a name from where a request comes."""
    source = _find_source(request, name)
    own_count, count = _count_failures(name, source.client)
    return own_count >= MAX_FAILURES or (count >= MAX_NAME_FAILURES and not source.is_known)


@transaction.atomic
def count_failed_login(request: HttpRequest, name: str, *, reason: str = "") -> None:
    """Count a failed login, and record it.

    The first of a minute from one network is recorded at once, others by ``record_failures``.

    Args:
        reason: Is recorded, at once, in place of the name.
    """
    now = _begin()
    source = _find_source(request, name)
    minute = now.replace(second=0, microsecond=0)
    record_failures(before=minute)
    FailedLogin.objects.filter(user=None, created_at__lt=now - NAME_WINDOW).delete()
    in_minute = FailedLogin.objects.filter(network=source.network, created_at__gte=minute)
    failed = FailedLogin.objects.create(
        name=name[:MAX_NAME_CHARS],
        user=get_user_model().objects.filter(username=name).first(),
        client=source.client,
        network=source.network,
        created_at=now,
        is_recorded=bool(reason) or not in_minute.exists(),
    )
    if failed.is_recorded:
        record_event("log_in_failed", subject=reason or name, address=source.network)
    if failed.user is None:
        return
    own_count, count = _count_failures(name, source.client)
    if own_count == MAX_FAILURES:
        record_event("lock_out", subject=name, address=source.network)
    if count == MAX_NAME_FAILURES:
        record_event("lock_out", subject=name)


@transaction.atomic
def register_login(request: HttpRequest, user: Any) -> tuple[int, FailedLogin | None]:
    """Have the network of a good login be known.

    Returns:
        How many logins of this user have failed since their last good one, and the last of them.
    """
    now = _begin()
    record_failures(before=now.replace(second=0, microsecond=0))
    known = KnownClient.objects.filter(user=user)
    last_login = known.aggregate(last=Max("logged_in_at"))["last"]
    failed = FailedLogin.objects.filter(user=user)
    missed = failed.filter(created_at__gt=last_login) if last_login else failed
    found = missed.count(), missed.order_by("created_at").last()
    failed.filter(created_at__lt=now - NAME_WINDOW).delete()
    _make_known(user, _find_source(request, user.get_username()).network, now)
    return found


def remember_browser(request: HttpRequest, reply: HttpResponseBase, *, user: Any) -> None:
    """Have the browser of a good login be known, by a cookie that we gave it before or give now."""
    token = request.COOKIES.get(COOKIE, "")
    if not KnownClient.objects.filter(client=_digest(token)).exists():
        token = token_urlsafe(32)
    _make_known(user, _digest(token), timezone.now())
    reply.set_cookie(
        COOKIE,
        token,
        max_age=KNOWN_CLIENT_AGE,
        path=reverse("web:login"),
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def record_failures(*, before: datetime) -> None:
    """Record what was counted before that time and not recorded: a row a minute and network."""
    unrecorded = FailedLogin.objects.filter(is_recorded=False, created_at__lt=before)
    minutes = unrecorded.values("network", minute=TruncMinute("created_at")).annotate(
        count=Count("pk"), last=Max("created_at"), names=ArrayAgg("name", distinct=True)
    )
    Event.objects.bulk_create(
        Event(
            action="log_in_failed",
            subject=", ".join(each["names"])[:MAX_SUBJECT_CHARS],
            address=each["network"],
            created_at=each["last"],
            count=each["count"],
        )
        for each in minutes.order_by("last")
    )
    unrecorded.update(is_recorded=True)


def purge_logins(*, dry_run: bool = False) -> int:
    """Remove what is too old of failed logins and known clients; returns how many that are."""
    now = timezone.now()
    old = [
        FailedLogin.objects.filter(created_at__lt=now - timedelta(days=settings.PKB_AUDIT_DAYS)),
        KnownClient.objects.filter(logged_in_at__lt=now - KNOWN_CLIENT_AGE),
    ]
    if dry_run:
        return sum(rows.count() for rows in old)
    with transaction.atomic():
        record_failures(before=_begin().replace(second=0, microsecond=0))
        return sum(rows.delete()[0] for rows in old)


def _begin() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute(_ONE_AT_A_TIME)
    return timezone.now()


def _name_of(credentials: Any) -> str:
    return credentials.get("username") or ""


def _find_source(request: HttpRequest, name: str) -> Source:
    network = client_network(client_ip(request))[:MAX_ADDRESS_CHARS]
    browser = _digest(request.COOKIES.get(COOKIE, ""))
    known = KnownClient.objects.filter(
        user__username=name,
        client__in=[network, browser],
        logged_in_at__gt=timezone.now() - KNOWN_CLIENT_AGE,
    )
    clients = set(known.values_list("client", flat=True))
    return Source(browser if browser in clients else network, network, bool(clients))


def _count_failures(name: str, client: str) -> tuple[int, int]:
    """Return how many are counted against a client, and against the name from anywhere."""
    now = timezone.now()
    failed = FailedLogin.objects.filter(name=name, created_at__gt=now - NAME_WINDOW)
    own = Q(client=client, created_at__gt=now - WINDOW)
    found = failed.aggregate(own=Count("pk", filter=own), all=Count("pk"))
    return found["own"], found["all"]


def _make_known(user: Any, client: str, now: datetime) -> None:
    KnownClient.objects.update_or_create(user=user, client=client, defaults={"logged_in_at": now})


def _digest(token: str) -> str:
    return sha256(token.encode()).hexdigest()
