"""Responses to rejected requests, sent from the event loop."""

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from django.conf import settings

from accounts.openid.resource import add_metadata
from corpus.errors import NotLoggedIn
from corpus.telemetry import refused_requests
from pkb.http.endpoint_lookup import MCP
from pkb.http.problems import MEDIA_TYPE, problem
from qa.api.openai.base_view import openai_error

# Seconds in which a full queue of answers is processed on two cores.
RETRY_AFTER_S = 2


class RequestRejected(Exception):
    """Admission control rejected the request.

    Attributes:
        status: 401, 403, 408, 413, 429, 503 or 507.
        detail: Reason for the client.
    """

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


class ClientDisconnected(Exception):
    """The client has disconnected; no response can be sent."""


def queue_full(*, is_callers_own: bool) -> RequestRejected:
    if is_callers_own:
        return RequestRejected(429, "You have too many requests waiting; send it again soon.")
    return RequestRejected(503, "Too many requests are waiting; send it again soon.")


async def send_rejection(rejected: RequestRejected, *, scope: Any, send: Any) -> None:
    """Send a rejection as problem details, or in OpenAI's format below /v1."""
    refused_requests.add(1, {"status": rejected.status})
    body: Mapping[str, Any] = problem(rejected.status, rejected.detail)
    media_type = MEDIA_TYPE
    if scope["path"].startswith("/v1/"):
        body, media_type = openai_error(body), "application/json"
    content = json.dumps(body).encode()
    headers = [
        (b"content-type", media_type.encode()),
        (b"content-length", str(len(content)).encode()),
    ]
    if rejected.status in {HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.TOO_MANY_REQUESTS}:
        headers.append((b"retry-after", str(RETRY_AFTER_S).encode()))
    if rejected.status == HTTPStatus.UNAUTHORIZED:
        challenge = str(NotLoggedIn.challenge)
        value = add_metadata(challenge) if scope["path"] == MCP else challenge
        headers.append((b"www-authenticate", value.encode()))
    # The server stops reading.
    is_last = rejected.status in {
        HTTPStatus.REQUEST_TIMEOUT,
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    }
    if is_last and scope.get("http_version", "1.1").startswith("1"):
        headers.append((b"connection", b"close"))
    origin = dict(scope["headers"]).get(b"origin")
    if origin and (
        settings.CORS_ALLOW_ALL_ORIGINS or origin.decode("latin-1") in settings.CORS_ALLOWED_ORIGINS
    ):
        headers.append((b"access-control-allow-origin", origin))
        headers.append((b"access-control-expose-headers", b"Retry-After"))
    await send({"type": "http.response.start", "status": rejected.status, "headers": headers})
    await send({"type": "http.response.body", "body": content})
