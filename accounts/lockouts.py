"""Lock out password guessing: count failed logins by user name, and by browser or network.

A browser in which a user has logged in is identified by a cookie and counted separately, so that
others at its IP address cannot lock it out (OWASP: device cookies). Other clients count by IP
address, IPv6 by its /64.
"""

from datetime import datetime, timedelta
from hashlib import sha256
from secrets import token_urlsafe
from typing import Any, NamedTuple

from axes.handlers.base import AxesHandler
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import get_user_model
from django.contrib.auth.signals import user_logged_in
from django.contrib.postgres.aggregates import ArrayAgg
from django.db import connection, transaction
from django.db.models import Count, Max, Q
from django.db.models.functions import TruncMinute
from django.dispatch import receiver
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

# Maximum failures for a name from one browser or network.
MAX_FAILURES = 5
WINDOW = timedelta(minutes=15)
# Maximum failures for a name from all clients, after which unknown browsers and networks must wait:
# ten times the limit above. It allows 1,200 guesses a day.
MAX_NAME_FAILURES = 50
NAME_WINDOW = timedelta(hours=1)
# A browser or network without a login for this time is unknown again.
KNOWN_CLIENT_AGE = timedelta(days=365)
COOKIE = "known_browser"

# Failures are counted one at a time, so that each count occurs once.
_ONE_AT_A_TIME = "SELECT pg_advisory_xact_lock(hashtext('pkb.logins'))"


class LoginOrigin(NamedTuple):
    """Origin of a login.

    Attributes:
        client: Counter of failures: a browser known to the user, else the network.
        network: IP address, or /64 of IPv6.
        is_known: The user has logged in from this browser or network.
    """

    client: str
    network: str
    is_known: bool


class LoginHandler(AxesHandler):  # type: ignore[misc]
    """Connects axes to these counters."""

    def is_locked(self, request: HttpRequest, credentials: Any = None) -> bool:
        return is_locked_out(request, credentials.get("username") or "")

    def user_login_failed(
        self, sender: Any, credentials: Any, request: Any = None, **kwargs: Any
    ) -> None:
        if request is None or request.axes_locked_out:
            return
        name = credentials.get("username") or ""
        count_failed_login(request, name)
        request.axes_locked_out = is_locked_out(request, name)

    def reset_attempts(
        self,
        *,
        ip_address: str | None = None,
        username: str | None = None,
        ip_or_username: bool = False,
    ) -> int:
        """Remove lockouts; called by ``manage.py axes_reset``."""
        at_address, of_name = Q(), Q()
        if ip_address:
            at_address = Q(network=client_network(ip_address))
        if username:
            of_name = Q(name=username)
        with transaction.atomic():
            record_failures(before=_lock())
            either = at_address | of_name if ip_or_username else at_address & of_name
            return FailedLogin.objects.filter(either).delete()[0]


def is_locked_out(request: HttpRequest, name: str) -> bool:
    origin = _find_origin(request, name)
    own_count, count = _count_failures(name, origin.client)
    return own_count >= MAX_FAILURES or (count >= MAX_NAME_FAILURES and not origin.is_known)


@transaction.atomic
def count_failed_login(request: HttpRequest, name: str, *, reason: str = "") -> None:
    """Count a failed login, and record it.

    The first one per minute and network is recorded immediately, others by ``record_failures``.

    Args:
        reason: Recorded instead of the name, immediately.
    """
    now = _lock()
    origin = _find_origin(request, name)
    minute = now.replace(second=0, microsecond=0)
    record_failures(before=minute)
    FailedLogin.objects.filter(user=None, created_at__lt=now - NAME_WINDOW).delete()
    in_minute = FailedLogin.objects.filter(network=origin.network, created_at__gte=minute)
    failed = FailedLogin.objects.create(
        name=name[:MAX_NAME_CHARS],
        user=get_user_model().objects.filter(username=name).first(),
        client=origin.client,
        network=origin.network,
        created_at=now,
        is_recorded=bool(reason) or not in_minute.exists(),
    )
    if failed.is_recorded:
        record_event("log_in_failed", subject=reason or name, address=origin.network)
    if failed.user is None:
        return
    own_count, count = _count_failures(name, origin.client)
    if own_count == MAX_FAILURES:
        record_event("lock_out", subject=name, address=origin.network)
    if count == MAX_NAME_FAILURES:
        record_event("lock_out", subject=name)


@receiver(user_logged_in)
def register_login(request: HttpRequest, user: Any, **kwargs: Any) -> None:
    """Record a login, register its network as known, and show failures since the last login."""
    record_event("log_in", user_id=user.pk, address=client_ip(request))
    with transaction.atomic():
        now = _lock()
        record_failures(before=now.replace(second=0, microsecond=0))
        clients = KnownClient.objects.filter(user=user)
        last_login = clients.aggregate(last=Max("logged_in_at"))["last"]
        failures = FailedLogin.objects.filter(user=user)
        new = failures.filter(created_at__gt=last_login) if last_login else failures
        count, last = new.count(), new.order_by("created_at").last()
        failures.filter(created_at__lt=now - NAME_WINDOW).delete()
        _make_known(user, _find_origin(request, user.get_username()).network, now)
    if last is not None:
        logins = "1 login" if count == 1 else f"{count} logins"
        when = f"{last.created_at:%d %b %Y at %H:%M} UTC"
        text = f"{logins} with your user name failed since your last login, the last on {when} from"
        messages.warning(request, f"{text} {last.network}.", fail_silently=True)


def remember_browser(request: HttpRequest, reply: HttpResponseBase, *, user: Any) -> None:
    """Register the browser of a successful login as known, by its cookie or a new one."""
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
    """Record unrecorded failures before a time, as one event per minute and network."""
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
    """Delete old failed logins and known clients, and return their number."""
    now = timezone.now()
    old = [
        FailedLogin.objects.filter(created_at__lt=now - timedelta(days=settings.PKB_AUDIT_DAYS)),
        KnownClient.objects.filter(logged_in_at__lt=now - KNOWN_CLIENT_AGE),
    ]
    if dry_run:
        return sum(rows.count() for rows in old)
    with transaction.atomic():
        record_failures(before=_lock().replace(second=0, microsecond=0))
        return sum(rows.delete()[0] for rows in old)


def _lock() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute(_ONE_AT_A_TIME)
    return timezone.now()


def _find_origin(request: HttpRequest, name: str) -> LoginOrigin:
    network = client_network(client_ip(request))[:MAX_ADDRESS_CHARS]
    browser = _digest(request.COOKIES.get(COOKIE, ""))
    known = KnownClient.objects.filter(
        user__username=name,
        client__in=[network, browser],
        logged_in_at__gt=timezone.now() - KNOWN_CLIENT_AGE,
    )
    clients = set(known.values_list("client", flat=True))
    return LoginOrigin(browser if browser in clients else network, network, bool(clients))


def _count_failures(name: str, client: str) -> tuple[int, int]:
    """Return the failures of a client, and of the name from all clients."""
    now = timezone.now()
    failures = FailedLogin.objects.filter(name=name, created_at__gt=now - NAME_WINDOW)
    own = Q(client=client, created_at__gt=now - WINDOW)
    counts = failures.aggregate(own=Count("pk", filter=own), all=Count("pk"))
    return counts["own"], counts["all"]


def _make_known(user: Any, client: str, now: datetime) -> None:
    KnownClient.objects.update_or_create(user=user, client=client, defaults={"logged_in_at": now})


def _digest(token: str) -> str:
    return sha256(token.encode()).hexdigest()
