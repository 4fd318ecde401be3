"""Client of the OpenID provider that ``PKB_OIDC_ISSUER`` names."""

import json
import re
import ssl
import weakref
from functools import cache
from http import HTTPStatus
from threading import Lock
from time import monotonic
from typing import Any
from urllib.parse import quote, urlencode

import httpx2
import jwt
from django.conf import settings

from accounts.openid.login_state import LoginState
from accounts.openid.token_checks import UnknownKey, UntrustedToken, check_login, check_token
from corpus.errors import IssuerUnavailable, LoginRefused, NotFound

CONNECT_S = 5.0
# Maximum seconds for a complete response; a login sends at most four requests.
TOTAL_S = 10.0
# Maximum wait for another thread that fetches the metadata.
WAIT_S = 1.0
MAX_REPLY_BYTES = 2**20
# Seconds for which the provider's metadata is cached.
METADATA_S = 3_600.0
# Seconds after a failure in which logins fail immediately, without using a slot.
PAUSE_S = 5.0
# Minimum seconds between two fetches of the keys, even if a token names an unknown key.
MIN_KEY_AGE_S = 10.0
_DISCOVERY = "/.well-known/openid-configuration"
_REFUSALS = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})
_ERROR = re.compile(r"[a-z_]{1,40}")
_ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")


class Issuer:
    """A provider, with pkb as its client; thread-safe.

    Args:
        address: Issuer URL, with or without a slash at the end.
        client_secret: Empty for a public client; no error, log line or repr shows it.
    """

    def __init__(self, address: str, *, client_id: str, client_secret: str, scopes: str) -> None:
        self._address = address.rstrip("/")
        self._client_id = client_id
        self._secret = client_secret
        self._scopes = scopes
        self._metadata: dict[str, Any] = {}
        self._metadata_expires = 0.0
        self._fetch_lock = Lock()
        self._keys: jwt.PyJWKSet | None = None
        self._keys_fresh_until = 0.0
        self._paused_until = 0.0
        # Ignore proxies and .netrc of the environment. Use the system's certificate authorities,
        # which may include private ones; loading them takes 20 ms, so only with TLS.
        is_encrypted = address.startswith("https:")
        self._client = httpx2.Client(
            timeout=httpx2.Timeout(TOTAL_S, connect=CONNECT_S),
            follow_redirects=False,
            trust_env=False,
            verify=ssl.create_default_context() if is_encrypted else False,
        )
        weakref.finalize(self, self._client.close)

    @property
    def name(self) -> str:
        return str(self._find_metadata()["issuer"])

    def login_url(self, login_state: LoginState, *, redirect_uri: str) -> str:
        """Return the URL of the login page, which redirects to ``redirect_uri``.

        Raises:
            IssuerUnavailable: The provider does not respond.
        """
        query = {
            "response_type": "code",
            "client_id": self._client_id,
            "redirect_uri": redirect_uri,
            "scope": self._scopes,
            "state": login_state.state,
            "nonce": login_state.nonce,
            "code_challenge": login_state.challenge,
            "code_challenge_method": "S256",
        }
        endpoint = self._find_metadata()["authorization_endpoint"]
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(query)}"

    def redeem(self, code: str, *, login_state: LoginState, redirect_uri: str) -> dict[str, Any]:
        """Exchange a code for the claims of its user, with those of userinfo.

        Raises:
            LoginRefused: The code or the token is not valid.
            IssuerUnavailable: The provider does not respond.
        """
        tokens = self._fetch_tokens(code, verifier=login_state.verifier, redirect_uri=redirect_uri)
        try:
            claims = self.check(str(tokens.get("id_token", "")), audience=self._client_id)
            check_login(claims, client_id=self._client_id, nonce=login_state.nonce)
        except UntrustedToken as exc:
            raise LoginRefused(f"The provider's token is not valid: {exc}.") from None
        # Some providers put groups and e-mail addresses only there.
        endpoint = str(self._find_metadata().get("userinfo_endpoint", ""))
        token = str(tokens.get("access_token", ""))
        if not (endpoint and token):
            return claims
        profile = self._request("GET", endpoint, headers={"Authorization": f"Bearer {token}"})
        if profile.get("sub") != claims["sub"]:
            raise LoginRefused("The provider's profile is of another user.")
        return {**profile, **claims}

    def check(self, token: str, *, audience: str) -> dict[str, Any]:
        """Return the claims of a token of this issuer for ``audience``.

        Raises:
            UntrustedToken: The token is not valid.
            IssuerUnavailable: The keys are not cached, and the provider does not respond.
        """
        metadata = self._find_metadata()
        algorithms = metadata.get("id_token_signing_alg_values_supported")
        expected: dict[str, Any] = {
            "algorithms": algorithms if isinstance(algorithms, list) else ["RS256"],
            "issuer": metadata["issuer"],
            "audience": audience,
        }
        keys = self._find_keys()
        try:
            return check_token(token, keys=keys, **expected)
        except UnknownKey:
            if self._keys is keys and monotonic() < self._keys_fresh_until:
                raise
            if self._keys is keys:
                self._keys = None
        return check_token(token, keys=self._find_keys(), **expected)

    def _find_metadata(self) -> dict[str, Any]:
        if monotonic() > self._metadata_expires:
            # Only one thread fetches: waiting ones use slots, and anyone may start a login.
            if not self._fetch_lock.acquire(timeout=WAIT_S):
                raise IssuerUnavailable("The provider has not responded yet.")
            try:
                if monotonic() > self._metadata_expires:
                    metadata = self._request("GET", f"{self._address}{_DISCOVERY}")
                    if str(metadata.get("issuer", "")).rstrip("/") != self._address:
                        raise IssuerUnavailable(
                            "The provider's issuer differs from PKB_OIDC_ISSUER."
                        )
                    schemes = (f"{self._address.partition('://')[0]}://", "https://")
                    if not all(str(metadata.get(n, "")).startswith(schemes) for n in _ENDPOINTS):
                        raise IssuerUnavailable(
                            "The provider's metadata lacks endpoints for logins, tokens or keys."
                        )
                    self._metadata, self._metadata_expires = metadata, monotonic() + METADATA_S
            finally:
                self._fetch_lock.release()
        return self._metadata

    def _find_keys(self) -> jwt.PyJWKSet:
        # Another thread may reset them meanwhile.
        keys = self._keys
        if keys is None:
            key_set = self._request("GET", self._find_metadata()["jwks_uri"])
            try:
                keys = jwt.PyJWKSet.from_dict(key_set)
            except jwt.PyJWTError:
                raise IssuerUnavailable("The provider has no usable keys.") from None
            self._keys, self._keys_fresh_until = keys, monotonic() + MIN_KEY_AGE_S
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
        methods = metadata.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        auth = {}
        if self._secret and "client_secret_post" in methods:
            form["client_secret"] = self._secret
        elif self._secret:
            # RFC 6749, 2.3.1: both are form-encoded first.
            pair = quote(self._client_id, safe=""), quote(self._secret, safe="")
            auth = {"auth": httpx2.BasicAuth(*pair)}
        return self._request("POST", metadata["token_endpoint"], data=form, **auth)

    def _request(self, method: str, url: str, **options: Any) -> dict[str, Any]:
        if monotonic() < self._paused_until:
            raise IssuerUnavailable("The provider did not respond a moment ago.")
        try:
            with self._client.stream(method, url, **options) as response:
                return self._read(response, monotonic() + TOTAL_S)
        except (httpx2.HTTPError, httpx2.InvalidURL) as exc:
            self._paused_until = monotonic() + PAUSE_S
            # The message may quote the request; its type is enough.
            raise IssuerUnavailable(
                f"The provider is not reachable: {type(exc).__name__}."
            ) from None

    def _read(self, response: httpx2.Response, ends: float) -> dict[str, Any]:
        status = response.status_code
        if status not in {HTTPStatus.OK, *_REFUSALS}:
            raise IssuerUnavailable(f"The provider returned {status}.")
        content = bytearray()
        for piece in response.iter_bytes():
            content += piece
            if len(content) > MAX_REPLY_BYTES or monotonic() > ends:
                raise IssuerUnavailable("The provider's response is too large or too slow.")
        try:
            payload = json.loads(content)
        except ValueError:
            payload = None
        if status in _REFUSALS:
            error = error_name(payload.get("error")) if isinstance(payload, dict) else "no reason"
            raise LoginRefused(f"The provider returned {status}: {error}.")
        if not isinstance(payload, dict):
            raise IssuerUnavailable("The provider's response is not a JSON object.")
        return payload


def error_name(error: Any) -> str:
    """Return the name of an OAuth 2 error; hide other text, which is untrusted."""
    return error if isinstance(error, str) and _ERROR.fullmatch(error) else "an error"


# Its metadata and keys are kept as long as its settings are the same.
_cached_issuer = cache(Issuer)


def find_issuer() -> Issuer:
    """Return the configured provider.

    Raises:
        NotFound: No provider is configured.
    """
    if not settings.PKB_OIDC_ISSUER:
        raise NotFound("No OpenID provider is configured.")
    return _cached_issuer(
        settings.PKB_OIDC_ISSUER,
        client_id=settings.PKB_OIDC_CLIENT_ID,
        client_secret=settings.PKB_OIDC_CLIENT_SECRET,
        scopes=settings.PKB_OIDC_SCOPES,
    )
