"""Errors as pages."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.deprecation import MiddlewareMixin

from corpus.api.outages import translate_error
from corpus.errors import PkbError

# Where people look: the others answer with problem details.
_APPS_OF_PAGES = frozenset({"web", "admin"})


def render_error(request: HttpRequest, error: PkbError) -> HttpResponse:
    """Render an error as a page, or as a line of one that requested a part of itself."""
    is_part = "HX-Request" in request.headers
    template = "web/parts/problem.html" if is_part else "web/problem.html"
    context = {"title": error.title, "detail": str(error)}
    return render(request, template, context, status=error.status)


class PageErrorMiddleware(MiddlewareMixin):
    """Renders the product's errors in pages."""

    async_capable = False

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        match = request.resolver_match
        if match is None or match.app_name not in _APPS_OF_PAGES:
            return None
        error = translate_error(exception)
        if error is None:
            return None
        reply = render_error(request, error)
        if error.retry_after_s:
            reply["Retry-After"] = str(error.retry_after_s)
        # The address of what was refused is no page to come back to.
        reply["HX-Push-Url"] = "false"
        return reply
