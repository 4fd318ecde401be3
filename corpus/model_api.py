"""Send requests to a model server: with a deadline, bounded retries, and the key in no message."""

import json
import time
import weakref
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, TypeVar

import httpx2
import stamina

from corpus.errors import BackendError, BackendUnavailable

MAX_ATTEMPTS = 3
CONNECT_TIMEOUT_S = 10.0
# Maximum time that a busy server may ask us to wait; one that asks for more counts as down.
MAX_WAIT_S = 20.0
MAX_REPLY_BYTES = 64 * 2**20
_PASSING = {408, 425, 429, 500, 502, 503, 504}

Value = TypeVar("Value")


class PassingFailure(BackendUnavailable):
    """A model server is not answering; trying again may work."""

    def __init__(self, message: str, *, wait_s: float | None = None) -> None:
        super().__init__(message)
        self.wait_s = wait_s


class ModelApi:
    """One server, asked with JSON; threads may share it.

    Args:
        name: Its name in errors.
        base_url: Paths are added to it, after a slash.
        api_key: Sent as a bearer token; no error, log line or repr shows it.
        timeout_s: Maximum time of one attempt, from connecting to the last byte.

    Attributes:
        has_answered: A value has been read from a reply.
    """

    def __init__(self, name: str, *, base_url: str, api_key: str, timeout_s: float) -> None:
        self._name = name
        self._base_url = base_url.rstrip("/")
        self._timeout_s = timeout_s
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        timeout = httpx2.Timeout(timeout_s, connect=min(timeout_s, CONNECT_TIMEOUT_S))
        self._client = httpx2.Client(headers=headers, timeout=timeout)
        weakref.finalize(self, self._client.close)
        self.has_answered = False

    def fetch(
        self,
        path: str,
        body: Mapping[str, Any],
        *,
        read: Callable[[Any], Value],
        wanted: str,
    ) -> Value:
        """Return a value of the server's reply.

        Args:
            read: Returns the value, or raises KeyError, TypeError, ValueError or OverflowError if
                the reply has none.
            wanted: Name of the value in errors.

        Raises:
            BackendUnavailable: The server could not be reached, or was busy at every try.
            BackendError: It refused the request, or its reply has no such value.
        """
        for attempt in stamina.retry_context(
            on=_wait_before_retry, attempts=MAX_ATTEMPTS, timeout=None
        ):
            with attempt:
                reply = self._ask(path, body)
        try:
            value = read(reply)
        except (KeyError, TypeError, ValueError, OverflowError):
            # Without its cause, whose text may quote the reply.
            raise BackendError(f"{self._name}: the reply holds no {wanted}.") from None
        self.has_answered = True
        return value

    def _ask(self, path: str, body: Mapping[str, Any]) -> dict[str, Any] | list[Any]:
        """Return the JSON object or list that the server replies to one request."""
        deadline = time.monotonic() + self._timeout_s
        raw = bytearray()
        try:
            with self._client.stream("POST", f"{self._base_url}/{path}", json=body) as response:
                if response.status_code != HTTPStatus.OK:
                    # Gateways quote the key in the bodies of errors: only the status is shown.
                    message = f"{self._name} answered {response.status_code}."
                    if response.status_code not in _PASSING:
                        raise BackendError(message)
                    # The header's other form, a date, is left to our own pauses.
                    wait_s = response.headers.get("Retry-After", "")
                    is_seconds = wait_s.isascii() and wait_s.isdigit()
                    raise PassingFailure(message, wait_s=float(wait_s) if is_seconds else None)
                for part in response.iter_bytes():
                    raw += part
                    if len(raw) > MAX_REPLY_BYTES:
                        message = f"{self._name} answered with over {MAX_REPLY_BYTES:,} bytes."
                        raise BackendError(message)
                    if time.monotonic() > deadline:
                        raise PassingFailure(f"{self._name} took over {self._timeout_s:g} s.")
        except httpx2.TransportError as exc:
            # Its text may quote the request; its kind says enough.
            raise PassingFailure(f"{self._name}: {type(exc).__name__}") from None
        try:
            reply = json.loads(raw)
        except ValueError:
            reply = None
        if not isinstance(reply, dict | list):
            raise BackendError(f"{self._name} answered with no JSON object.")
        return reply


def _wait_before_retry(error: Exception) -> bool | float:
    """Return whether to retry: False, True after stamina's pause, or the seconds to wait."""
    if not isinstance(error, PassingFailure):
        return False
    if error.wait_s is None:
        return True
    return error.wait_s if error.wait_s <= MAX_WAIT_S else False
