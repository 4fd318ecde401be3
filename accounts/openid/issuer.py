"""The OpenID provider that ``PKB_OIDC_ISSUER`` names, asked when somebody logs in."""

import json
import re
import ssl
import weakref
from collections.abc import Mapping
from functools import cache
from http import HTTPStatus
from threading import Lock
from time import monotonic
from typing import Any
from urllib.parse import quote, urlencode

import httpx
import jwt
from django.conf import settings

from accounts.openid.login_state import LoginState
from accounts.openid.token_checks import UnknownKey, UntrustedToken, check_login, check_token
from corpus.errors import IssuerUnavailable, LoginRefused, NotFound

CONNECT_S = 5.0
# For all of a reply, however slowly it comes: a login asks four times at most.
TOTAL_S = 10.0
# For somebody else, who has begun to ask.
WAIT_S = 1.0
MAX_REPLY_BYTES = 2**20
# What the provider tells of itself is asked for again after so long.
METADATA_S = 3_600.0
# After a failure the next logins are told at once, and hold no place.
PAUSE_S = 5.0
# Keys younger than this are not asked for again, whatever key a token names.
MIN_KEY_AGE_S = 10.0
_DISCOVERY = "/.well-known/openid-configuration"
_REFUSALS = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})
_ERROR = re.compile(r"[a-z_]{1,40}")
_ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")


class Issuer:
    """One provider, and us as its client; threads may share it.

    Args:
        address: As the provider calls itself, with or without a slash at the end.
        client_secret: Empty for a public client; no error, log line or repr shows it.
    """

    def __init__(self, address: str, *, client_id: str, client_secret: str, scopes: str) -> None:
        self._address = address.rstrip("/")
        self._client_id = client_id
        self._secret = client_secret
        self._scopes = scopes
        self._metadata: dict[str, Any] = {}
        self._metadata_ends = 0.0
        self._asks = Lock()
        self._keys: jwt.PyJWKSet | None = None
        self._keys_stay = 0.0
        self._pause_ends = 0.0
        # No proxy of the environment, no .netrc: nobody else is asked. The system's authorities,
        # among which a house may have its own; without TLS none is read, which takes 20 ms.
        is_encrypted = address.startswith("https:")
        self._client = httpx.Client(
            timeout=httpx.Timeout(TOTAL_S, connect=CONNECT_S),
            follow_redirects=False,
            trust_env=False,
            verify=ssl.create_default_context() if is_encrypted else False,
        )
        weakref.finalize(self, self._client.close)

    @property
    def name(self) -> str:
        """As it calls itself in tokens."""
        return str(self._find_metadata()["issuer"])

    def login_url(self, attempt: LoginState, *, redirect_uri: str) -> str:
        """Return where somebody logs in, and is led from to ``redirect_uri``.

        Raises:
            IssuerUnavailable: It does not answer.
        """
        asked = {
            "response_type": "code",
            "client_id": self._client_id,
            "redirect_uri": redirect_uri,
            "scope": self._scopes,
            "state": attempt.state,
            "nonce": attempt.nonce,
            "code_challenge": attempt.challenge,
            "code_challenge_method": "S256",
        }
        endpoint = self._find_metadata()["authorization_endpoint"]
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(asked)}"

    def redeem(self, code: str, *, attempt: LoginState, redirect_uri: str) -> dict[str, Any]:
        """Return what it tells of who came back with a code.

        Raises:
            LoginRefused: The code is none, or the token is not to be believed.
            IssuerUnavailable: It does not answer.
        """
        told = self._fetch_tokens(code, verifier=attempt.verifier, redirect_uri=redirect_uri)
        try:
            claims = self.check(str(told.get("id_token", "")), audience=self._client_id)
            check_login(claims, client_id=self._client_id, nonce=attempt.nonce)
        except UntrustedToken as exc:
            raise LoginRefused(f"The provider's token is not to be believed: {exc}.") from None
        return {**self._fetch_profile(str(told.get("access_token", "")), claims), **claims}

    def check(self, token: str, *, audience: str) -> dict[str, Any]:
        """Return what a token of this issuer claims, made for ``audience``.

        Raises:
            UntrustedToken: It is none, or not to be believed.
            IssuerUnavailable: Its keys are not known, and it does not answer.
        """
        metadata = self._find_metadata()
        told = metadata.get("id_token_signing_alg_values_supported")
        expected: dict[str, Any] = {
            "algorithms": told if isinstance(told, list) else ["RS256"],
            "issuer": metadata["issuer"],
            "audience": audience,
        }
        keys = self._find_keys()
        try:
            return check_token(token, keys=keys, **expected)
        except UnknownKey:
            if self._keys is keys and monotonic() < self._keys_stay:
                raise
            if self._keys is keys:
                self._keys = None
        return check_token(token, keys=self._find_keys(), **expected)

    def _find_metadata(self) -> dict[str, Any]:
        if monotonic() > self._metadata_ends:
            # One asks: each that waits holds a place, and strangers begin logins.
            if not self._asks.acquire(timeout=WAIT_S):
                raise IssuerUnavailable("It has not answered yet.")
            try:
                self._refresh_metadata()
            finally:
                self._asks.release()
        return self._metadata

    def _refresh_metadata(self) -> None:
        if monotonic() > self._metadata_ends:
            told = self._ask("GET", f"{self._address}{_DISCOVERY}")
            self._check_metadata(told)
            self._metadata, self._metadata_ends = told, monotonic() + METADATA_S

    def _check_metadata(self, told: Mapping[str, Any]) -> None:
        if str(told.get("issuer", "")).rstrip("/") != self._address:
            raise IssuerUnavailable("It says to be another issuer than PKB_OIDC_ISSUER.")
        scheme = f"{self._address.partition('://')[0]}://"
        if not all(str(told.get(name, "")).startswith((scheme, "https://")) for name in _ENDPOINTS):
            raise IssuerUnavailable("It does not say where logins, tokens and keys are.")

    def _find_keys(self) -> jwt.PyJWKSet:
        # Another thread may forget them meanwhile.
        keys = self._keys
        if keys is None:
            told = self._ask("GET", self._find_metadata()["jwks_uri"])
            try:
                keys = jwt.PyJWKSet.from_dict(told)
            except jwt.PyJWTError:
                raise IssuerUnavailable("It tells no keys that can be used.") from None
            self._keys, self._keys_stay = keys, monotonic() + MIN_KEY_AGE_S
        return keys

    def _fetch_tokens(self, code: str, *, verifier: str, redirect_uri: str) -> dict[str, Any]:
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "client_id": self._client_id,
            "code_verifier": verifier,
        }
        metadata = self._find_metadata()
        known = metadata.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        if not self._secret:
            return self._ask("POST", metadata["token_endpoint"], data=form)
        if "client_secret_post" in known:
            form["client_secret"] = self._secret
            return self._ask("POST", metadata["token_endpoint"], data=form)
        # RFC 6749, 2.3.1: both are encoded as in a form before.
        pair = quote(self._client_id, safe=""), quote(self._secret, safe="")
        return self._ask("POST", metadata["token_endpoint"], data=form, auth=httpx.BasicAuth(*pair))

    def _fetch_profile(self, token: str, claims: Mapping[str, Any]) -> dict[str, Any]:
        """Return what is told besides the token: groups and addresses are only here at some."""
        endpoint = str(self._find_metadata().get("userinfo_endpoint", ""))
        if not (endpoint and token):
            return {}
        profile = self._ask("GET", endpoint, headers={"Authorization": f"Bearer {token}"})
        if profile.get("sub") != claims["sub"]:
            raise LoginRefused("The provider's profile is of somebody else.")
        return profile

    def _ask(self, method: str, url: str, **sent: Any) -> dict[str, Any]:
        if monotonic() < self._pause_ends:
            raise IssuerUnavailable("It did not answer a moment ago.")
        try:
            with self._client.stream(method, url, **sent) as response:
                return self._read(response, monotonic() + TOTAL_S)
        except (httpx.HTTPError, httpx.InvalidURL) as exc:
            self._pause_ends = monotonic() + PAUSE_S
            # Its text may quote the request; its kind says enough.
            raise IssuerUnavailable(f"It cannot be reached: {type(exc).__name__}.") from None

    def _read(self, response: httpx.Response, ends: float) -> dict[str, Any]:
        status = response.status_code
        if status not in {HTTPStatus.OK, *_REFUSALS}:
            raise IssuerUnavailable(f"It answers {status}.")
        content = bytearray()
        for piece in response.iter_bytes():
            content += piece
            if len(content) > MAX_REPLY_BYTES or monotonic() > ends:
                raise IssuerUnavailable("It answers with too much, or too slowly.")
        try:
            told = json.loads(content)
        except ValueError:
            told = None
        if status in _REFUSALS:
            error = error_name(told.get("error")) if isinstance(told, dict) else "no reason"
            raise LoginRefused(f"The provider answers {status}: {error}.")
        if not isinstance(told, dict):
            raise IssuerUnavailable("It answers with no JSON object.")
        return told


def error_name(told: Any) -> str:
    """Return an error of OAuth 2 by its name; what else stands there is anybody's word."""
    return told if isinstance(told, str) and _ERROR.fullmatch(told) else "an error"


def find_issuer() -> Issuer:
    """Return the one that is configured.

    Raises:
        NotFound: None is.
    """
    if not settings.PKB_OIDC_ISSUER:
        raise NotFound("No OpenID provider is configured here.")
    return _issuer_of(
        settings.PKB_OIDC_ISSUER,
        client_id=settings.PKB_OIDC_CLIENT_ID,
        client_secret=settings.PKB_OIDC_CLIENT_SECRET,
        scopes=settings.PKB_OIDC_SCOPES,
    )


@cache
def _issuer_of(address: str, **client: str) -> Issuer:
    return Issuer(address, **client)
