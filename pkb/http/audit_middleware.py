"""Audit log of requests that change data or are made in the admin."""

from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from accounts.audit import record_action
from corpus.access.principal import Scope
from pkb.http.endpoint_lookup import SAFE_METHODS, find_endpoint

# Fields of a response that identify the created object, in order of preference.
_NAMES = ("document_id", "job_id", "id", "name")


def audit_request(request: HttpRequest, reply: HttpResponseBase) -> None:
    """Record a request that changes data, after its response."""
    method, path = str(request.method), request.path_info
    endpoint = find_endpoint(method, path)
    if method in SAFE_METHODS or endpoint.scope == Scope.READ:
        return
    created = _find_created(getattr(reply, "data", None))
    match = request.resolver_match
    name = endpoint.id or (match.view_name if match else "unknown")
    record_action(name, subject=created or path, status=reply.status_code)


def _find_created(response: Any) -> Any:
    if not isinstance(response, dict) or "error" in response:
        return None
    return next((response[name] for name in _NAMES if name in response), None)
