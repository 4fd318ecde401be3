"""Where a request comes from, as far as the proxies before us can be believed."""

from collections.abc import Iterable
from functools import cache
from ipaddress import IPv6Address, ip_address, ip_network

import structlog
from django.conf import settings
from django.http import HttpRequest

log = structlog.get_logger(__name__)

# What a provider gives to one customer at least; each of its addresses can be theirs.
IPV6_CLIENT_BITS = 64


def client_ip(request: HttpRequest) -> str:
    """Return the address of who sent a request."""
    forwarded = request.headers.get("X-Forwarded-For", "")
    return resolve_client_ip(str(request.META.get("REMOTE_ADDR") or ""), forwarded)


def read_headers(sent: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return headers as ASGI brings them by their names; those of one name are one, with commas."""
    headers: dict[str, str] = {}
    for name, value in sent:
        key, told = name.decode("latin-1"), value.decode("latin-1")
        headers[key] = f"{headers[key]},{told}" if key in headers else told
    return headers


def resolve_client_ip(peer: str, forwarded_for: str) -> str:
    """Return the address that the outermost of ``PKB_TRUSTED_PROXIES`` proxies was reached from.

    Args:
        peer: Of the connection.
        forwarded_for: The header to which each proxy adds who reached it. What stands before the
            part that trusted ones wrote is anybody's word, and not looked at.
    """
    if not settings.PKB_TRUSTED_PROXIES:
        if forwarded_for:
            _warn_about_proxy()
        return peer
    told = [each.strip() for each in forwarded_for.split(",") if each.strip()]
    if len(told) < settings.PKB_TRUSTED_PROXIES:
        return peer
    return told[-settings.PKB_TRUSTED_PROXIES]


@cache
def _warn_about_proxy() -> None:
    """Say once, in each process, that everybody behind a proxy counts as one address."""
    log.warning("x_forwarded_for_ignored", reason="PKB_TRUSTED_PROXIES is 0")


def client_network(address: str) -> str:
    """Return the network that counts as one client: of IPv6 the /64, which one machine may have."""
    try:
        found = ip_address(address)
    except ValueError:
        return address
    if isinstance(found, IPv6Address) and not found.ipv4_mapped:
        return str(ip_network((found, IPV6_CLIENT_BITS), strict=False))
    return address


def is_within(address: str, networks: Iterable[str]) -> bool:
    """Tell whether an address is in any of the networks; what is no address is in none."""
    try:
        found = ip_address(address)
    except ValueError:
        return False
    return any(found in ip_network(network) for network in networks)
