"""Verify signed tokens (JWT) and their claims, without network access."""

from collections.abc import Collection, Mapping
from secrets import compare_digest
from typing import Any

import jwt

# Asymmetric algorithms only, so that a public key is never used as a shared secret.
ALGORITHMS = frozenset({
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA",
})  # fmt: skip
# Maximum difference of clocks.
LEEWAY_S = 60
_REQUIRED = ("iss", "sub", "aud", "exp", "iat")


class UntrustedToken(Exception):
    """The token is not valid; the message has the reason without quoting the token."""


class UnknownKey(UntrustedToken):
    """The token names an unknown key, which may be newer than the cached ones."""


def check_token(
    token: str,
    *,
    keys: jwt.PyJWKSet,
    algorithms: Collection[str],
    issuer: str,
    audience: str,
) -> dict[str, Any]:
    """Return the claims of a token with valid signature, issuer, audience and times.

    Args:
        algorithms: Signing algorithms in the issuer's metadata.

    Raises:
        UntrustedToken: The token is not valid.
        UnknownKey: The token names a key that is not in ``keys``.
    """
    try:
        header = jwt.get_unverified_header(token)
        usable = [key for key in keys if key.public_key_use in {None, "sig"}]
        matches = [key for key in usable if key.key_id == header.get("kid")]
        if "kid" not in header and len(usable) == 1:
            matches = usable
        if not matches:
            raise UnknownKey("signed by an unknown key")
        return jwt.decode(
            token,
            # Not the JWK, which would guess a missing algorithm.
            key=matches[0].key,
            algorithms=sorted(ALGORITHMS & set(algorithms)),
            issuer=issuer,
            audience=audience,
            leeway=LEEWAY_S,
            options={"require": list(_REQUIRED)},
        )
    except (jwt.PyJWTError, TypeError, ValueError) as exc:
        # TypeError and ValueError: the type of the key does not fit the algorithm.
        raise UntrustedToken(type(exc).__name__) from None


def check_login(claims: Mapping[str, Any], *, client_id: str, nonce: str) -> None:
    """Check that a token was issued to pkb, and for this login.

    Raises:
        UntrustedToken: It was not.
    """
    audience = claims["aud"]
    is_shared = isinstance(audience, list) and len(audience) > 1
    if claims.get("azp", None if is_shared else client_id) != client_id:
        raise UntrustedToken("for another client")
    if not compare_digest(str(claims.get("nonce", "")).encode(), nonce.encode()):
        raise UntrustedToken("of another login")
