"""HTTP client for one server that the operator configured: no redirects, within limits."""

import json
import ssl
import weakref
from collections.abc import Mapping
from http import HTTPStatus
from time import monotonic
from typing import Any

import httpx2

from corpus.errors import SourceUnavailable, TooLarge

CONNECT_S = 10.0
# Timeouts of one step, and of the whole response.
STEP_S = 30.0
TOTAL_S = 300.0
# Maximum size of a listing page: 250 documents of paperless-ngx have 0.2 MB, with texts up to 10
# MB.
MAX_JSON_BYTES = 64 * 2**20
_USER_AGENT = "pkb (self-hosted knowledge base)"


class WebClient:
    """Client of one server; its address may be private, because the operator configured it.

    Args:
        name: Its name in errors.
        headers: Sent with every request; no error, log line or repr shows them.
    """

    def __init__(self, name: str, *, base_url: str, headers: Mapping[str, str]) -> None:
        self._name = name
        self._base_url = base_url
        # No proxy from the environment and no .netrc: only this server is contacted.
        self._client = httpx2.Client(
            headers={"User-Agent": _USER_AGENT, "Accept-Encoding": "identity", **headers},
            timeout=httpx2.Timeout(STEP_S, connect=CONNECT_S),
            follow_redirects=False,
            trust_env=False,
            # The system's CA certificates, which may include private ones; without TLS none are
            # read, which takes 20 ms.
            verify=ssl.create_default_context() if base_url.startswith("https:") else False,
        )
        weakref.finalize(self, self._client.close)

    def fetch_json(self, path: str) -> dict[str, Any]:
        """Return the JSON object at a path.

        Raises:
            SourceUnavailable: The server cannot be reached, refuses, or answers something else.
        """
        try:
            reply = json.loads(self.fetch(path, max_bytes=MAX_JSON_BYTES))
        except (ValueError, TooLarge):
            reply = None
        if not isinstance(reply, dict):
            raise SourceUnavailable(f"{self._name}: the response is not a JSON object.")
        return reply

    def fetch(self, path: str, *, max_bytes: int) -> bytes:
        """Return the content at a path.

        Raises:
            SourceUnavailable: As ``fetch_json``.
            TooLarge: It has more than ``max_bytes``.
        """
        ends = monotonic() + TOTAL_S
        try:
            with self._client.stream("GET", f"{self._base_url}{path}") as response:
                status = response.status_code
                if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
                    message = f"{self._name}: it answers {status}: the token is not taken."
                    raise SourceUnavailable(message)
                if status != HTTPStatus.OK:
                    raise SourceUnavailable(f"{self._name}: it answers {status}.")
                content = bytearray()
                for piece in response.iter_bytes():
                    content += piece
                    if len(content) > max_bytes:
                        raise TooLarge(f"It has more than the allowed {max_bytes:,} bytes.")
                    if monotonic() > ends:
                        raise SourceUnavailable(
                            f"{self._name}: a response took over {TOTAL_S:g} s."
                        )
                return bytes(content)
        except (httpx2.HTTPError, httpx2.InvalidURL) as exc:
            # Its text may quote the request; the error type is enough.
            message = f"{self._name}: it cannot be reached: {type(exc).__name__}."
            raise SourceUnavailable(message) from None
