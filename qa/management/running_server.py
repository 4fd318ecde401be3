"""Connect to a running server of this installation, which has its models loaded."""

from collections.abc import Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import httpx2
from django.conf import settings

from qa.configuration_hash import INSTALLATION_HEADER, installation_sha256

# On one machine a connection takes less than a millisecond, and `/ready` a few.
CONNECT_TIMEOUT_S = 0.5
READY_TIMEOUT_S = 3.0
# A language model may write for minutes.
ANSWER_TIMEOUT_S = 900.0
# A server that listens on all addresses is reached at the loopback address.
_OWN = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "::1": "[::1]"}  # noqa: S104


def save_server_url(host: str, port: int) -> None:
    """Save where this installation is served, for other processes."""
    with suppress(OSError):  # in a read-only folder, APP_HOST and APP_PORT remain
        path = Path(settings.PKB_SERVED_AT)
        path.touch(mode=0o600)
        path.chmod(0o600)  # an older file may have another mode
        path.write_text(f"{host} {port}\n")


def connect_server() -> httpx2.Client | None:
    """Return a client of the server at APP_HOST:APP_PORT, or of the one started last.

    None if no server with this database, version and configuration is ready there: then the caller
    does the work itself.
    """
    addresses = [(settings.PKB_HOST, str(settings.PKB_PORT))]
    with suppress(OSError, ValueError):
        host, port = Path(settings.PKB_SERVED_AT).read_text().split()
        addresses.append((host, port))
    urls = dict.fromkeys(f"http://{_OWN.get(host, host)}:{port}" for host, port in addresses)
    key = settings.PKB_API_KEY
    for url in urls:
        try:
            client = httpx2.Client(
                base_url=url,
                timeout=httpx2.Timeout(ANSWER_TIMEOUT_S, connect=CONNECT_TIMEOUT_S),
                trust_env=False,  # without proxies: this is a local connection
                headers={"Authorization": f"Bearer {key}"} if key else {},
            )
        except httpx2.InvalidURL:
            continue
        with suppress(httpx2.TransportError):
            ready = client.get("ready", timeout=READY_TIMEOUT_S)
            if ready.headers.get(INSTALLATION_HEADER) == installation_sha256():
                return client
        client.close()
    return None


def ask_server(question: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the answer object of the running server.

    None if there is none, or it fails: then the caller answers itself, and sees the error.

    Args:
        question: The parameters of ``GET /answer``.
    """
    client = connect_server()
    if client is None:
        return None
    with closing(client):
        try:
            reply = client.get("answer", params=question)
            return dict(reply.json()) if reply.status_code == httpx2.codes.OK else None
        except (httpx2.TransportError, ValueError):
            return None
