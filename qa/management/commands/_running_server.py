"""Ask the server of this installation that runs already: its models are loaded."""

from collections.abc import Mapping
from typing import Any

import httpx
from django.conf import settings

from qa.configuration import INSTALLATION_HEADER, installation_sha256

# On one machine a connection takes less than a millisecond, and `/ready` a few.
CONNECT_TIMEOUT_S = 0.5
READY_TIMEOUT_S = 3.0
# A language model may write for minutes.
ANSWER_TIMEOUT_S = 900.0
# Who listens on every address is reached on the machine's own.
_OWN = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "::1": "[::1]"}  # noqa: S104


def ask_server(question: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the answer object of the server at APP_HOST:APP_PORT.

    None where no server of this database, version and configuration is ready there, or it does
    not answer: then the caller answers itself, and finds out why.

    Args:
        question: The parameters of ``GET /answer``.
    """
    host = _OWN.get(settings.PKB_HOST, settings.PKB_HOST)
    timeout = httpx.Timeout(ANSWER_TIMEOUT_S, connect=CONNECT_TIMEOUT_S)
    address = f"http://{host}:{settings.PKB_PORT}"
    try:
        # No proxy of the environment stands between a machine and itself.
        with httpx.Client(base_url=address, timeout=timeout, trust_env=False) as client:
            ready = client.get("/ready", timeout=READY_TIMEOUT_S)
            if ready.headers.get(INSTALLATION_HEADER) != installation_sha256():
                return None
            reply = client.get("/answer", params=question)
            return dict(reply.json()) if reply.status_code == httpx.codes.OK else None
    except (httpx.TransportError, httpx.InvalidURL, ValueError):
        return None
