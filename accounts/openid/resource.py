"""Metadata of ``/mcp`` as an OAuth protected resource (RFC 9728)."""

from django.conf import settings
from django.http import Http404, HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from corpus.access.principal import Scope
from corpus.endpoints import Endpoint, endpoint

# RFC 9728, section 3.
METADATA = "/.well-known/oauth-protected-resource"
PATH = "/mcp"
# Scopes of tokens; administration needs an API key or a session.
SCOPES = (Scope.READ, Scope.INGEST)


def resource_url() -> str:
    """Return the required audience of tokens."""
    return f"{settings.PKB_PUBLIC_URL}{PATH}"


@endpoint(GET=Endpoint(is_open=True))
@require_safe
def show_resource(request: HttpRequest) -> JsonResponse:
    """Return the metadata; 404 if no provider is configured."""
    if not settings.PKB_OIDC_ISSUER:
        raise Http404
    return JsonResponse({
        "resource": resource_url(),
        "authorization_servers": [settings.PKB_OIDC_ISSUER],
        "scopes_supported": list(SCOPES),
        "bearer_methods_supported": ["header"],
        "resource_name": "pkb",
    })  # fmt: skip


def add_metadata(challenge: str) -> str:
    """Return a challenge (RFC 6750), with the URL of the metadata if a provider is configured."""
    if not settings.PKB_OIDC_ISSUER:
        return challenge
    return f'{challenge}, resource_metadata="{settings.PKB_PUBLIC_URL}{METADATA}{PATH}"'
