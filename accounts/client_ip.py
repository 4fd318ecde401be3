"""IP address of a client, as reported by trusted proxies."""

from collections.abc import Iterable
from functools import cache
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any

import structlog
from django.conf import settings
from django.http import HttpRequest

log = structlog.get_logger(__name__)

# The smallest IPv6 network that a provider assigns to a customer.
IPV6_CLIENT_BITS = 64


def client_ip(request: HttpRequest) -> str:
    forwarded = request.headers.get("X-Forwarded-For", "")
    return resolve_client_ip(str(request.META.get("REMOTE_ADDR") or ""), forwarded)


def peer_of(scope: Any) -> str:
    """Return the IP address of the connection of an ASGI scope; empty if it is unknown."""
    return str((scope.get("client") or [""])[0])


def read_headers(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return ASGI headers by name; repeated headers are joined with commas."""
    headers: dict[str, str] = {}
    for name, value in raw:
        key, text = name.decode("latin-1"), value.decode("latin-1")
        headers[key] = f"{headers[key]},{text}" if key in headers else text
    return headers


def resolve_client_ip(peer: str, forwarded_for: str) -> str:
    """Return the IP address of the client of the outermost of ``PKB_TRUSTED_PROXIES`` proxies.

    Args:
        peer: IP address of the connection.
        forwarded_for: The X-Forwarded-For header, to which each proxy appends its client. The part
            before that of trusted proxies can be forged, and is ignored.
    """
    proxy_count: int = settings.PKB_TRUSTED_PROXIES
    if not proxy_count:
        if forwarded_for:
            _warn_about_proxy()
        return peer
    clients = [each.strip() for each in forwarded_for.split(",") if each.strip()]
    return clients[-proxy_count] if len(clients) >= proxy_count else peer


@cache
def _warn_about_proxy() -> None:
    """Log once per process that all clients behind a proxy count as one IP address."""
    log.warning("x_forwarded_for_ignored", reason="PKB_TRUSTED_PROXIES is 0")


def client_network(address: str) -> str:
    """Return the network that counts as one client: the /64 of an IPv6 address."""
    try:
        ip = ip_address(address)
    except ValueError:
        return address
    if isinstance(ip, IPv6Address) and not ip.ipv4_mapped:
        return str(ip_network((ip, IPV6_CLIENT_BITS), strict=False))
    return address


def is_within(address: str, networks: Iterable[str]) -> bool:
    """Return whether an IP address is in any of the networks; False if it is not valid."""
    try:
        ip = ip_address(address)
    except ValueError:
        return False
    return any(ip in ip_network(network) for network in networks)
