"""Authentication and authorization middleware for the API and the web app."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.db import DatabaseError, InterfaceError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from rest_framework.authentication import CSRFCheck

from accounts.audit import record_action
from accounts.authentication import authenticate_key, find_key, principal_of
from accounts.client_ip import client_ip
from corpus.access.principal import ANONYMOUS, SYSTEM, Principal, Scope, acting_as
from corpus.api.outages import translate_error
from corpus.errors import NotAllowed, NotLoggedIn, PkbError
from pkb.http.endpoint_lookup import SAFE_METHODS, find_endpoint, is_page
from pkb.http.exposure import is_local_request
from pkb.http.problems import MEDIA_TYPE, problem_of
from qa.api.openai.base_view import openai_error
from web.error_pages import render_error

GetResponse = Callable[[HttpRequest], HttpResponseBase]

NOT_LOGGED_IN = "Log in, or send an API key: Authorization: Bearer KEY."
# Fields of a response that identify the created object, in order of preference.
_CREATED_NAMES = ("document_id", "job_id", "id", "name")


class AccessMiddleware:
    """Authorizes each request and sets the current principal."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        try:
            principal = authorize(request)
        except PkbError as refusal:
            return _refuse(request, refusal)
        request.principal = principal  # type: ignore[attr-defined]
        with acting_as(principal):
            reply = self.get_response(request)
            if principal.user_id is not None:
                _audit(request, reply)
                # Responses to users must not be shared; browsers do not store those of the API.
                cache_control = "private" if is_page(request.path_info) else "no-store"
                reply.headers.setdefault("Cache-Control", cache_control)
            return reply

    def process_view(
        self, request: HttpRequest, view: Any, args: Any, kwargs: Any
    ) -> HttpResponseBase | None:
        """Require the CSRF token of requests with a session cookie, also at API endpoints."""
        principal: Principal = request.principal  # type: ignore[attr-defined]
        is_session = principal.user_id is not None and principal.key_id is None
        if not is_session or not getattr(view, "csrf_exempt", False):
            return None
        check = CSRFCheck(self.get_response)
        # Pass no view: this one is marked as exempt.
        reason = check.process_view(request, None, (), {})  # type: ignore[arg-type]
        return _refuse(request, NotAllowed(str(reason))) if reason else None


def authorize(request: HttpRequest) -> Principal:
    """Return the principal of a request that has the required scope.

    Raises:
        NotLoggedIn: The request has no credentials.
        NotAllowed: The principal lacks the scope.
        DatabaseUnavailable: The credentials cannot be checked.
    """
    if not settings.PKB_AUTH_REQUIRED:
        return SYSTEM
    endpoint = find_endpoint(str(request.method), request.path_info)
    try:
        principal = authenticate_request(request)
    except (PkbError, DatabaseError, InterfaceError) as exc:
        if endpoint.is_open:
            return ANONYMOUS
        raise (translate_error(exc) or exc) from None
    # A metrics collector on this machine needs no key.
    is_local_scrape = request.path_info == reverse("metrics") and is_local_request(
        str(request.META.get("REMOTE_ADDR") or ""), names={name.lower() for name in request.headers}
    )
    scope = endpoint.scope
    if scope is None or scope in principal.scopes or is_local_scrape:
        # Endpoints for administrators cover the data of all users.
        return replace(principal, sees_all=True) if scope == Scope.ADMIN else principal
    if principal.is_anonymous:
        raise NotLoggedIn(NOT_LOGGED_IN)
    raise NotAllowed(f"This requires the scope {scope}.")


def authenticate_request(request: HttpRequest) -> Principal:
    """Return the principal of the API key or session of a request.

    Raises:
        NotLoggedIn: The key is not valid.
    """
    headers = {name.lower(): value for name, value in request.headers.items()}
    key = None if is_page(request.path_info) else find_key(headers)
    if key is not None:
        return authenticate_key(key, address=client_ip(request))
    # Without the cookie, do not read the session.
    has_session = settings.SESSION_COOKIE_NAME in request.COOKIES
    return principal_of(request.user) if has_session else ANONYMOUS


def _audit(request: HttpRequest, reply: HttpResponseBase) -> None:
    """Record a request that changes data or is made in the admin, after its response."""
    method, path = str(request.method), request.path_info
    endpoint = find_endpoint(method, path)
    if method in SAFE_METHODS or endpoint.scope == Scope.READ:
        return
    body = getattr(reply, "data", None)
    created = None
    if isinstance(body, dict) and "error" not in body:
        created = next((body[name] for name in _CREATED_NAMES if name in body), None)
    match = request.resolver_match
    action = endpoint.id or (match.view_name if match else "unknown")
    record_action(action, subject=created or path, status=reply.status_code)


def _refuse(request: HttpRequest, refusal: PkbError) -> HttpResponse:
    """Return a problem document, an error in OpenAI's format below /v1, or a page."""
    path = request.path_info
    status, problem = refusal.status, problem_of(refusal)
    if path.startswith("/v1/"):
        reply: HttpResponse = JsonResponse(openai_error(problem), status=status)
    elif (is_page(path) or path == reverse("docs")) and request.accepts("text/html"):
        reply = _show(request, refusal)
    else:
        reply = JsonResponse(problem, status=status, content_type=MEDIA_TYPE)
    if refusal.challenge and reply.status_code == refusal.status:
        reply["WWW-Authenticate"] = refusal.challenge
    if refusal.retry_after_s:
        reply["Retry-After"] = str(refusal.retry_after_s)
    return reply


def _show(request: HttpRequest, refusal: PkbError) -> HttpResponse:
    """Redirect to the login page, or show the reason on a page."""
    is_part = "HX-Request" in request.headers
    if isinstance(refusal, NotLoggedIn):
        here = request.headers.get("HX-Current-URL", "") if is_part else request.get_full_path()
        login_url = f"{reverse('web:login')}?{urlencode({'next': here})}"
        if is_part:
            return HttpResponse(status=refusal.status, headers={"HX-Redirect": login_url})
        if request.method in SAFE_METHODS:
            return redirect(login_url)
    request.principal = ANONYMOUS  # type: ignore[attr-defined]
    return render_error(request, refusal)
