"""Where agents get a token for ``/mcp`` (RFC 9728)."""

from django.conf import settings
from django.http import Http404, HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from accounts.openid.resource import describe_resource
from corpus.endpoints import Endpoint, endpoint


@endpoint(GET=Endpoint(is_open=True))
@require_safe
def show_resource(request: HttpRequest) -> JsonResponse:
    """Tell an agent of the provider, where one is configured."""
    if not settings.PKB_OIDC_ISSUER:
        raise Http404
    return JsonResponse(describe_resource())
