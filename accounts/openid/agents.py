"""Agents that bring the provider's token instead of a key: ``/mcp`` is a resource of OAuth."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings

from accounts.authentication import scopes_of
from accounts.models import Identity
from accounts.openid.issuer import find_issuer
from accounts.openid.tokens import UntrustedToken
from corpus.access.principal import Principal, Scope
from corpus.errors import NotLoggedIn

# RFC 9728, section 3.
METADATA = "/.well-known/oauth-protected-resource"
_PATH = "/mcp"
# What a token may be for; to look after the service needs a key or a session.
_SCOPES = (Scope.READ, Scope.INGEST)


def describe_resource() -> dict[str, Any]:
    """Return what tells an agent where to get a token, and what for."""
    return {
        "resource": _resource(),
        "authorization_servers": [settings.PKB_OIDC_ISSUER],
        "scopes_supported": list(_SCOPES),
        "bearer_methods_supported": ["header"],
        "resource_name": "pkb",
    }


def add_metadata(challenge: str) -> str:
    """Return a challenge (RFC 6750) with where ``describe_resource`` is told, where it is."""
    if not settings.PKB_OIDC_ISSUER:
        return challenge
    return f'{challenge}, resource_metadata="{settings.PKB_PUBLIC_URL}{METADATA}{_PATH}"'


def is_token(credential: str) -> bool:
    """Tell whether it has a form that no key has, and a provider could have issued it."""
    return bool(settings.PKB_OIDC_ISSUER) and credential.count(".") == 2  # noqa: PLR2004  (a JWT)


def authenticate_token(token: str) -> Principal:
    """Return on whose behalf an agent acts by a token that was issued for ``/mcp``.

    Raises:
        NotLoggedIn: It is not to be believed, or of nobody who has logged in here.
        IssuerUnavailable: Nobody can tell.
    """
    try:
        claims = find_issuer().check(token, audience=_resource())
    except UntrustedToken as exc:
        raise NotLoggedIn(f"The token is not to be believed: {exc}.") from None
    known = Identity.objects.filter(issuer=claims["iss"], subject=claims["sub"])
    identity = known.filter(user__is_active=True).select_related("user").first()
    if identity is None:
        raise NotLoggedIn("The token is of nobody who has logged in to the pages yet.")
    allowed = scopes_of(identity.user) & set(_SCOPES)
    named = _read_scopes(claims)
    scopes = frozenset(scope for scope in allowed if scope.value in named)
    return Principal(user_id=identity.user_id, scopes=scopes)


def _resource() -> str:
    return f"{settings.PKB_PUBLIC_URL}{_PATH}"


def _read_scopes(claims: Mapping[str, Any]) -> set[str]:
    # RFC 9068, or as Entra ID and Okta have it.
    told = claims.get("scope", claims.get("scp", ""))
    listed = told.split() if isinstance(told, str) else told if isinstance(told, list) else []
    return {scope for scope in listed if isinstance(scope, str)}
