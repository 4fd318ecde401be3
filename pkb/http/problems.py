"""Error responses: RFC 9457 problem details."""

from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

import structlog
from django.http import HttpRequest, HttpResponse, JsonResponse
from rest_framework.exceptions import ValidationError
from rest_framework.response import Response
from rest_framework.views import exception_handler as drf_exception_handler
from rest_framework.views import set_rollback

from corpus.api.outages import translate_error
from corpus.errors import InvalidInput, NotFound, PkbError
from pkb.http.endpoint_lookup import is_page
from web.error_pages import render_error

MEDIA_TYPE = "application/problem+json"


def exception_handler(exc: Exception, context: dict[str, Any]) -> Response | None:
    """Render ``exc`` as problem details.

    Returns:
        The response, or None for an unexpected error, which Django logs with its traceback and
        answers with 500.
    """
    exc = translate_error(exc) or exc
    if isinstance(exc, PkbError):
        set_rollback()
        headers = {"Retry-After": str(exc.retry_after_s)} if exc.retry_after_s else None
        response: Response | None = Response(problem_of(exc), status=exc.status, headers=headers)
    else:
        response = drf_exception_handler(exc, context)
    if response is None:
        return None
    if isinstance(exc, ValidationError):
        errors = list(_field_errors(response.data))
        detail = "; ".join(f"{error['field']}: {error['message']}" for error in errors)
        title = InvalidInput.__doc__ or ""
        response.data = problem(400, detail, title=title, code=InvalidInput.code)
        response.data["errors"] = errors
    elif not isinstance(exc, PkbError):
        response.data = problem(response.status_code, response.data["detail"])
    response.data = _encodable(response.data)
    response.content_type = MEDIA_TYPE
    return response


def _encodable(value: Any) -> Any:
    """Escape characters that UTF-8 cannot encode: a message may quote the request."""
    if isinstance(value, dict):
        return {_encodable(key): _encodable(each) for key, each in value.items()}
    if isinstance(value, list):
        return list(map(_encodable, value))
    return value.encode(errors="backslashreplace").decode() if isinstance(value, str) else value


def problem(status: int, detail: str, *, title: str = "", code: str = "") -> dict[str, Any]:
    """Return problem details; by default, with the title and code of the HTTP status."""
    http = HTTPStatus(status)
    return {
        "type": "about:blank",
        "title": title or http.phrase,
        "status": int(status),
        "detail": detail,
        "error": code or http.name.lower(),
        "status_code": int(status),
    }


def problem_of(error: PkbError) -> dict[str, Any]:
    detail = str(error) or error.title
    body = problem(error.status, detail, title=error.title, code=error.code)
    return {**body, **error.members}


def _field_errors(tree: Any, path: str = "") -> Iterator[dict[str, str]]:
    """Yield the errors of DRF's tree, with field names joined by dots."""
    if isinstance(tree, dict):
        for name, inner in tree.items():
            here = path if name == "non_field_errors" else f"{path}.{name}".lstrip(".")
            yield from _field_errors(inner, here)
    elif isinstance(tree, list):
        for inner in tree:
            yield from _field_errors(inner, path)
    else:
        code = getattr(tree, "code", "invalid")
        yield {"field": path or "body", "message": str(tree), "code": code}


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    detail = f"There is nothing at {request.path}."
    if is_page(request.path_info) and request.accepts("text/html"):
        return render_error(request, NotFound(detail))
    return plain_problem(404, detail=detail)


def bad_request(request: HttpRequest, exception: Exception) -> JsonResponse:
    return plain_problem(400, detail="The request cannot be understood.")


def permission_denied(request: HttpRequest, exception: Exception) -> JsonResponse:
    return plain_problem(403, detail="This is not allowed.")


def server_error(request: HttpRequest) -> JsonResponse:
    request_id = structlog.contextvars.get_contextvars().get("request_id", "")
    return plain_problem(500, detail=f"Something went wrong. Request id: {request_id}")


def plain_problem(status: int, *, detail: str) -> JsonResponse:
    """Return a response with problem details, outside of Django REST framework."""
    return JsonResponse(problem(status, detail), status=status, content_type=MEDIA_TYPE)
