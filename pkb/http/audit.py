"""What of requests is recorded: those that change what is known, and what staff do in the admin."""

from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from accounts.audit import record_action
from corpus.access.principal import Scope
from pkb.http.endpoints import SAFE_METHODS, find_endpoint

# Of replies, what they made or began, by which it is found again.
_NAMES = ("document_id", "job_id", "id", "name")


def audit_request(request: HttpRequest, reply: HttpResponseBase) -> None:
    """Note who changed what, by a request that was replied to."""
    method, path = str(request.method), request.path_info
    endpoint = find_endpoint(method, path)
    if method in SAFE_METHODS or endpoint.scope == Scope.READ:
        return
    made = _find_made(getattr(reply, "data", None))
    match = request.resolver_match
    name = endpoint.id or (match.view_name if match else "unknown")
    record_action(name, subject=made or path, status=reply.status_code)


def _find_made(told: Any) -> Any:
    if not isinstance(told, dict) or "error" in told:
        return None
    return next((told[name] for name in _NAMES if name in told), None)
