"""Which pages may load what: all of it from here, and two of them with scripts in the page."""

from typing import Any

from csp.middleware import CSPMiddleware, PolicyParts
from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase


class PolicyMiddleware(CSPMiddleware):
    """Send the strict policy everywhere but below the paths that cannot work under it."""

    def get_policy_parts(
        self, request: HttpRequest, response: HttpResponseBase, report_only: bool = False
    ) -> PolicyParts:
        parts = super().get_policy_parts(request, response, report_only=report_only)
        if request.path.startswith(settings.PKB_INLINE_SCRIPT_PATHS):
            replaced: dict[str, Any] = settings.PKB_INLINE_SCRIPT_POLICY
            parts.replace = {**(parts.replace or {}), **replaced}
        return parts
