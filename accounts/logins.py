"""Logins, and failed ones, are recorded; connected when the application starts."""

from typing import Any

from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.dispatch import receiver
from django.http import HttpRequest

from accounts.addresses import client_address
from accounts.audit import record_event


@receiver(user_logged_in)
def record_login(request: HttpRequest, user: Any, **kwargs: Any) -> None:
    record_event("log_in", user_id=user.pk, address=client_address(request))


@receiver(user_logged_out)
def record_logout(request: HttpRequest, user: Any, **kwargs: Any) -> None:
    if user is not None:
        record_event("log_out", user_id=user.pk, address=client_address(request))


@receiver(user_login_failed)
def record_failure(credentials: Any, request: HttpRequest | None = None, **kwargs: Any) -> None:
    """Note the name that was tried, never the password."""
    address = client_address(request) if request else ""
    record_event("log_in_failed", subject=credentials.get("username", ""), address=address)
