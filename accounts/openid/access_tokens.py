"""Agents that bring the provider's token instead of a key."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.conf import settings

from accounts.authentication import principal_of, scopes_of
from accounts.models import Identity
from accounts.openid.issuer import find_issuer
from accounts.openid.resource import SCOPES, resource_url
from accounts.openid.token_checks import UntrustedToken
from corpus.access.principal import Principal
from corpus.errors import NotLoggedIn

_TOKEN_DOTS = 2


def is_token(credential: str) -> bool:
    """Tell whether it has a form that no key has, and a provider could have issued it."""
    return bool(settings.PKB_OIDC_ISSUER) and credential.count(".") == _TOKEN_DOTS


def authenticate_token(token: str) -> Principal:
    """Return on whose behalf an agent acts by a token that was issued for ``/mcp``.

    Raises:
        NotLoggedIn: It is not to be believed, or of nobody who has logged in here.
        IssuerUnavailable: Nobody can tell.
    """
    try:
        claims = find_issuer().check(token, audience=resource_url())
    except UntrustedToken as exc:
        raise NotLoggedIn(f"The token is not to be believed: {exc}.") from None
    known = Identity.objects.filter(issuer=claims["iss"], subject=claims["sub"])
    identity = known.filter(user__is_active=True).select_related("user").first()
    if identity is None:
        raise NotLoggedIn("The token is of nobody who has logged in to the pages yet.")
    named = _read_scopes(claims)
    scopes = scopes_of(identity.user) & {scope for scope in SCOPES if scope.value in named}
    return replace(principal_of(identity.user), scopes=scopes)


def _read_scopes(claims: Mapping[str, Any]) -> set[str]:
    # RFC 9068, or as Entra ID and Okta have it.
    told = claims.get("scope", claims.get("scp", ""))
    listed = told.split() if isinstance(told, str) else told if isinstance(told, list) else []
    return {scope for scope in listed if isinstance(scope, str)}
