"""Say on a page what went wrong."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.deprecation import MiddlewareMixin

from corpus.api.outages import translate_error

# Where people look: the others answer with problem details.
_APPS_OF_PAGES = frozenset({"web", "admin"})


class PageErrorMiddleware(MiddlewareMixin):
    """Render the product's errors as pages, or as a line of one that asked for a part."""

    async_capable = False

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        match = request.resolver_match
        if match is None or match.app_name not in _APPS_OF_PAGES:
            return None
        error = translate_error(exception)
        if error is None:
            return None
        is_part = "HX-Request" in request.headers
        template = "web/parts/problem.html" if is_part else "web/problem.html"
        context = {"title": error.title, "detail": str(error)}
        reply = render(request, template, context, status=error.status)
        if error.retry_after_s:
            reply["Retry-After"] = str(error.retry_after_s)
        # The address of what was refused is no page to come back to.
        reply["HX-Push-Url"] = "false"
        return reply
