"""What of requests is recorded: those that change what is known, and what staff do in the admin."""

import re
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from accounts.audit import record_act
from corpus.access.principal import Scope
from pkb.http.needs import SAFE_METHODS, find_need
from pkb.http.operations import OPERATIONS

_CONVERTER = re.compile(r"<[^<>]*>")
# Of replies, what they made or began, by which it is found again.
_NAMES = ("document_id", "job_id", "id", "name")


def record_request(request: HttpRequest, reply: HttpResponseBase) -> None:
    """Note who changed what, by a request that was replied to."""
    method, path = str(request.method), request.path_info
    if method in SAFE_METHODS or find_need(method, path).scope == Scope.READ:
        return
    made = _find_made(getattr(reply, "data", None))
    record_act(_name_of(request), subject=made or path, status=reply.status_code)


def _find_made(told: Any) -> Any:
    if not isinstance(told, dict) or "error" in told:
        return None
    return next((told[name] for name in _NAMES if name in told), None)


def _name_of(request: HttpRequest) -> str:
    match = request.resolver_match
    if match is None:
        return "unknown"
    known = OPERATIONS.get(f"{request.method} /{_CONVERTER.sub('{}', match.route)}")
    return known.id if known else match.view_name
