"""Bounds on what a request may bring."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from pkb.api import plain_problem

# What a multipart body adds to the file it carries: its other fields and boundaries.
MULTIPART_MARGIN_BYTES = 64 * 1024


class BodyLimitMiddleware:
    """Answer 413 to a body over its bound, before any of it is parsed."""

    sync_capable = True
    async_capable = False

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        is_upload = request.content_type == "multipart/form-data"
        bound = (
            settings.PKB_MAX_FILE_BYTES + MULTIPART_MARGIN_BYTES
            if is_upload
            else settings.PKB_MAX_BODY_BYTES
        )
        if _body_bytes(request) > bound:
            return plain_problem(413, detail=f"The body may have at most {bound:,} bytes.")
        return self.get_response(request)


def _body_bytes(request: HttpRequest) -> int:
    """Return the body's size: as declared, else as received."""
    declared = request.META.get("CONTENT_LENGTH") or ""
    if declared.isdigit():
        return int(declared)
    return len(request.body) if request.META.get("HTTP_TRANSFER_ENCODING") else 0
