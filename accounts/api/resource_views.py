"""Endpoint of the OAuth resource metadata of ``/mcp`` (RFC 9728)."""

from django.conf import settings
from django.http import Http404, HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from accounts.openid.resource import resource_metadata
from corpus.endpoints import Endpoint, endpoint


@endpoint(GET=Endpoint(is_open=True))
@require_safe
def show_resource(request: HttpRequest) -> JsonResponse:
    """Return the metadata; 404 if no provider is configured."""
    if not settings.PKB_OIDC_ISSUER:
        raise Http404
    return JsonResponse(resource_metadata())
