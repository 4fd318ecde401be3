"""Signal receivers that record logins and show users their failed ones."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.signals import user_logged_in, user_logged_out
from django.dispatch import receiver
from django.http import HttpRequest

from accounts.audit import record_event
from accounts.client_ip import client_ip
from accounts.lockouts import register_login


@receiver(user_logged_in)
def record_login(request: HttpRequest, user: Any, **kwargs: Any) -> None:
    record_event("log_in", user_id=user.pk, address=client_ip(request))
    count, last = register_login(request, user)
    if last is not None:
        logins = "1 login" if count == 1 else f"{count} logins"
        when = f"{last.created_at:%d %b %Y at %H:%M} UTC"
        text = f"{logins} with your user name failed since your last login, the last on {when} from"
        messages.warning(request, f"{text} {last.network}.", fail_silently=True)


@receiver(user_logged_out)
def record_logout(request: HttpRequest, user: Any, **kwargs: Any) -> None:
    if user is not None:
        record_event("log_out", user_id=user.pk, address=client_ip(request))
