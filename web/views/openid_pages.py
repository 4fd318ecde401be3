"""Login at the OpenID provider."""

from typing import Any

from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from accounts.audit import record_event
from accounts.client_ip import client_ip
from accounts.lockouts import count_failed_login, is_locked_out
from accounts.openid.issuer import error_name, find_issuer
from accounts.openid.login_state import LoginState, clear_login_state
from accounts.openid.users import find_user
from corpus.endpoints import Endpoint, endpoint
from corpus.errors import LoginRefused
from web.views.account_pages import BACKEND


@endpoint(GET=Endpoint(is_open=True))
@never_cache
@require_GET
def begin(request: HttpRequest) -> HttpResponse:
    login_state = LoginState.begin(wanted=request.GET.get("next", ""))
    address = find_issuer().login_url(login_state, redirect_uri=_callback_of(request))
    reply = redirect(address)
    login_state.save(reply)
    return reply


@endpoint(GET=Endpoint(is_open=True))
@never_cache
@require_GET
def come_back(request: HttpRequest) -> HttpResponse:
    """Log in the user who returns from the provider, and redirect to the page they wanted."""
    issuer = find_issuer()
    claims: dict[str, Any] = {}
    try:
        login_state = LoginState.read(request)
        claims = issuer.redeem(
            _read_code(request, issuer.name),
            login_state=login_state,
            redirect_uri=_callback_of(request),
        )
        user = find_user(claims, issuer=issuer.name)
    except LoginRefused as refusal:
        if claims:
            who = f"{claims.get('sub', '')} {refusal}".strip()
            record_event("log_in_failed", subject=who, address=client_ip(request))
        elif not is_locked_out(request, ""):  # anybody can come back with anything
            count_failed_login(request, "", reason=str(refusal))
        raise
    login(request, user, backend=BACKEND)
    is_own_page = url_has_allowed_host_and_scheme(
        login_state.wanted,
        allowed_hosts={request.get_host()},
        require_https=request.is_secure(),
    )
    reply = redirect(login_state.wanted if is_own_page else "web:ask")
    clear_login_state(reply)
    return reply


def _callback_of(request: HttpRequest) -> str:
    return request.build_absolute_uri(reverse("web:openid_callback"))


def _read_code(request: HttpRequest, issuer: str) -> str:
    error = request.GET.get("error")
    if error:
        raise LoginRefused(f"The provider rejected the login: {error_name(error)}.")
    # RFC 9207: whose answer it is.
    if request.GET.get("iss", issuer) != issuer:
        raise LoginRefused("The response comes from another provider. Log in again.")
    return request.GET.get("code", "")
