"""``/mcp`` as a resource of OAuth, and where agents are told so (RFC 9728). Knows no model."""

from typing import Any

from django.conf import settings

from corpus.access.principal import Scope

# RFC 9728, section 3.
METADATA = "/.well-known/oauth-protected-resource"
PATH = "/mcp"
# What a token may be for; to look after the service needs a key or a session.
SCOPES = (Scope.READ, Scope.INGEST)


def resource_url() -> str:
    """Return what the audience of a token must be."""
    return f"{settings.PKB_PUBLIC_URL}{PATH}"


def describe_resource() -> dict[str, Any]:
    """Return what tells an agent where to get a token, and what for."""
    return {
        "resource": resource_url(),
        "authorization_servers": [settings.PKB_OIDC_ISSUER],
        "scopes_supported": list(SCOPES),
        "bearer_methods_supported": ["header"],
        "resource_name": "pkb",
    }


def add_metadata(challenge: str) -> str:
    """Return a challenge (RFC 6750) with where ``describe_resource`` is told, where it is."""
    if not settings.PKB_OIDC_ISSUER:
        return challenge
    return f'{challenge}, resource_metadata="{settings.PKB_PUBLIC_URL}{METADATA}{PATH}"'
