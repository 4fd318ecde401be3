"""Metadata of ``/mcp`` as an OAuth protected resource (RFC 9728)."""

from typing import Any

from django.conf import settings

from corpus.access.principal import Scope

# RFC 9728, section 3.
METADATA = "/.well-known/oauth-protected-resource"
PATH = "/mcp"
# Scopes of tokens; administration needs an API key or a session.
SCOPES = (Scope.READ, Scope.INGEST)


def resource_url() -> str:
    """Return the required audience of tokens."""
    return f"{settings.PKB_PUBLIC_URL}{PATH}"


def resource_metadata() -> dict[str, Any]:
    """Return the metadata: provider, scopes and resource."""
    return {
        "resource": resource_url(),
        "authorization_servers": [settings.PKB_OIDC_ISSUER],
        "scopes_supported": list(SCOPES),
        "bearer_methods_supported": ["header"],
        "resource_name": "pkb",
    }


def add_metadata(challenge: str) -> str:
    """Return a challenge (RFC 6750), with the URL of the metadata if a provider is configured."""
    if not settings.PKB_OIDC_ISSUER:
        return challenge
    return f'{challenge}, resource_metadata="{settings.PKB_PUBLIC_URL}{METADATA}{PATH}"'
