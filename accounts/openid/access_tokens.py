"""Authenticate agents by access tokens of the OpenID provider."""

from dataclasses import replace

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
    """Return whether a credential can be a token of the provider instead of an API key."""
    return bool(settings.PKB_OIDC_ISSUER) and credential.count(".") == _TOKEN_DOTS


def authenticate_token(token: str) -> Principal:
    """Return the principal of an access token for ``/mcp``.

    Raises:
        NotLoggedIn: The token is not valid, or its user has never logged in here.
        IssuerUnavailable: The provider's keys are not available.
    """
    try:
        claims = find_issuer().check(token, audience=resource_url())
    except UntrustedToken as exc:
        raise NotLoggedIn(f"The token is not valid: {exc}.") from None
    identities = Identity.objects.filter(issuer=claims["iss"], subject=claims["sub"])
    identity = identities.filter(user__is_active=True).select_related("user").first()
    if identity is None:
        raise NotLoggedIn("The user of the token has not logged in to the web app yet.")
    # RFC 9068; Entra ID and Okta use `scp`.
    value = claims.get("scope", claims.get("scp", ""))
    names = value.split() if isinstance(value, str) else value if isinstance(value, list) else []
    scopes = scopes_of(identity.user) & {scope for scope in SCOPES if scope.value in names}
    return replace(principal_of(identity.user), scopes=scopes)
