"""Ask a server of models over HTTP: a deadline, bounded retries, the key in no message."""

import json
import time
import weakref
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, TypeVar

import httpx
import stamina

from corpus.errors import BackendError, BackendUnavailable

TRIES = 3
CONNECT_TIMEOUT_S = 10.0
# What a server that is busy may ask us to wait; one that asks for more is taken to be down.
MAX_WAIT_S = 20.0
MAX_REPLY_BYTES = 64 * 2**20
_PASSING = {408, 425, 429, 500, 502, 503, 504}

Found = TypeVar("Found")


class PassingFailure(BackendUnavailable):
    """A model server is not answering; trying again may work."""

    def __init__(self, message: str, *, wait_s: float | None = None) -> None:
        super().__init__(message)
        self.wait_s = wait_s


class ModelApi:
    """One server, asked with JSON; threads may share it.

    Args:
        name: What to call it in errors.
        base_url: What paths are added to.
        api_key: Sent as a bearer token; no error, log line or repr shows it.
        timeout_s: Longest time of one try, from connecting to the last byte.

    Attributes:
        has_answered: Whether what was wanted has been read out of a reply yet.
    """

    def __init__(self, name: str, *, base_url: str, api_key: str, timeout_s: float) -> None:
        self._name = name
        self._base_url = base_url.rstrip("/")
        self._timeout_s = timeout_s
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        timeout = httpx.Timeout(timeout_s, connect=min(timeout_s, CONNECT_TIMEOUT_S))
        self._client = httpx.Client(headers=headers, timeout=timeout)
        weakref.finalize(self, self._client.close)
        self.has_answered = False

    def fetch(
        self,
        path: str,
        body: Mapping[str, Any],
        *,
        read: Callable[[dict[str, Any]], Found],
        wanted: str,
    ) -> Found:
        """Return what is read out of the server's reply.

        Args:
            read: Takes it out; a KeyError, TypeError, ValueError or OverflowError is its way of
                saying that it is not there.
            wanted: What to call it in errors.

        Raises:
            BackendError: As ``post``, or the reply does not hold it.
        """
        reply = self.post(path, body)
        try:
            found = read(reply)
        except (KeyError, TypeError, ValueError, OverflowError):
            # Without its cause, whose text may quote the reply.
            raise BackendError(f"{self._name}: the reply holds no {wanted}.") from None
        self.has_answered = True
        return found

    def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the JSON object that the server answers.

        Raises:
            BackendUnavailable: It could not be reached, or was busy at every try.
            BackendError: It refused the request, or its answer is none.
        """
        for attempt in stamina.retry_context(on=_wait_before_retry, attempts=TRIES, timeout=None):
            with attempt:
                return self._ask(path, body)
        raise AssertionError("unreachable: the last attempt raises")

    def _ask(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        deadline = time.monotonic() + self._timeout_s
        try:
            with self._client.stream("POST", f"{self._base_url}{path}", json=body) as response:
                self._check_status(response)
                return self._read(response, deadline)
        except httpx.TransportError as exc:
            # Its text may quote the request; its kind says enough.
            raise PassingFailure(f"{self._name}: {type(exc).__name__}") from None

    def _check_status(self, response: httpx.Response) -> None:
        status = response.status_code
        if status == HTTPStatus.OK:
            return
        # Gateways quote the key in the bodies of errors: only the status is told.
        message = f"{self._name} answered {status}."
        if status not in _PASSING:
            raise BackendError(message)
        raise PassingFailure(message, wait_s=_retry_after(response))

    def _read(self, response: httpx.Response, deadline: float) -> dict[str, Any]:
        raw = bytearray()
        for part in response.iter_bytes():
            raw += part
            if len(raw) > MAX_REPLY_BYTES:
                raise BackendError(f"{self._name} answered with over {MAX_REPLY_BYTES:,} bytes.")
            if time.monotonic() > deadline:
                raise PassingFailure(f"{self._name} took over {self._timeout_s:g} s.")
        try:
            found = json.loads(raw)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise BackendError(f"{self._name} answered with no JSON object.")
        return found


def _wait_before_retry(error: Exception) -> bool | float:
    """Return whether to retry: False, True after stamina's pause, or the seconds to wait."""
    if not isinstance(error, PassingFailure):
        return False
    if error.wait_s is None:
        return True
    return error.wait_s if error.wait_s <= MAX_WAIT_S else False


def _retry_after(response: httpx.Response) -> float | None:
    """Seconds; the header's other form, a date, is left to our own pauses."""
    given = response.headers.get("Retry-After", "")
    return float(given) if given.isascii() and given.isdigit() else None
