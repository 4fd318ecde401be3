"""What a signed token must say before it is believed. Asks nobody."""

from collections.abc import Collection, Mapping
from secrets import compare_digest
from typing import Any

import jwt

# Whoever checks needs no secret, so that none could be taken for a key.
ALGORITHMS = frozenset({
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA",
})  # fmt: skip
# By how much two clocks may differ.
LEEWAY_S = 60
_REQUIRED = ("iss", "sub", "aud", "exp", "iat")


class UntrustedToken(Exception):
    """A token is not what it should be; the message says in what, and quotes nothing of it."""


class UnknownKey(UntrustedToken):
    """A token names a key that is not among those known: there may be newer ones."""


def check_token(
    token: str,
    *,
    keys: jwt.PyJWKSet,
    algorithms: Collection[str],
    issuer: str,
    audience: str,
) -> dict[str, Any]:
    """Return what a token claims, once its signature, issuer, audience and times are right.

    Args:
        algorithms: By which the issuer says it signs.

    Raises:
        UntrustedToken: Something is not right.
        UnknownKey: None of ``keys`` is the one that it names.
    """
    try:
        key = _find_key(jwt.get_unverified_header(token), keys)
        return jwt.decode(
            token,
            # Not the JWK, which would guess an algorithm where it names none.
            key=key.key,
            algorithms=sorted(ALGORITHMS & set(algorithms)),
            issuer=issuer,
            audience=audience,
            leeway=LEEWAY_S,
            options={"require": list(_REQUIRED)},
        )
    except (jwt.PyJWTError, TypeError, ValueError) as exc:
        # The last two where it names a key of another kind than its algorithm's.
        raise UntrustedToken(type(exc).__name__) from None


def check_login(claims: Mapping[str, Any], *, client_id: str, nonce: str) -> None:
    """Check that the token of a login was made for us, and for this very login.

    Raises:
        UntrustedToken: It was not.
    """
    audience = claims["aud"]
    is_shared = isinstance(audience, list) and len(audience) > 1
    if claims.get("azp", None if is_shared else client_id) != client_id:
        raise UntrustedToken("for another client")
    if not compare_digest(str(claims.get("nonce", "")).encode(), nonce.encode()):
        raise UntrustedToken("of another login")


def _find_key(header: Mapping[str, Any], keys: jwt.PyJWKSet) -> jwt.PyJWK:
    usable = [key for key in keys if key.public_key_use in {None, "sig"}]
    if "kid" not in header and len(usable) == 1:
        return usable[0]
    found = next((key for key in usable if key.key_id == header.get("kid")), None)
    if found is None:
        raise UnknownKey("signed by an unknown key")
    return found
