"""Whether others than this machine's own people are meant to reach the service. Pure."""

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Self
from urllib.parse import urlsplit

from pkb.server_env import ServerEnv

# Written by proxies: who they speak for is not on this machine.
PROXY_HEADERS = frozenset({
    "forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto",
    "x-forwarded-server", "x-real-ip", "true-client-ip", "cf-connecting-ip",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Exposure:
    """What of a deployment says where it is reached from.

    Attributes:
        bind: The address that it listens on.
        hosts: The names that requests may be sent to.
        public_url: Where people reach it; may be empty.
        is_behind_tls: A proxy stands before it.
        issuer: Where people log in; may be empty.
    """

    bind: str
    hosts: Sequence[str]
    public_url: str
    is_behind_tls: bool
    issuer: str = ""

    @classmethod
    def of(cls, env: ServerEnv) -> Self:
        hosts = [host.strip() for host in env.allowed_hosts.split(",") if host.strip()]
        return cls(env.app_host, hosts, env.pkb_public_url, env.pkb_https, env.pkb_oidc_issuer)

    def reasons(self) -> list[str]:
        """Return what is not for this machine alone, as ``SETTING: value``; empty for nothing."""
        found = [] if is_loopback(self.bind) else [f"APP_HOST: {self.bind}"]
        found += [f"ALLOWED_HOSTS: {host}" for host in self.hosts if not is_loopback(host)]
        if self.public_url and not is_loopback(urlsplit(self.public_url).hostname or ""):
            found.append(f"PKB_PUBLIC_URL: {self.public_url}")
        if self.issuer:
            found.append(f"PKB_OIDC_ISSUER: {self.issuer}")
        return [*found, "PKB_HTTPS: true"] if self.is_behind_tls else found

    def requires_login(self, mode: str) -> bool:
        """Tell what ``PKB_AUTH`` means here; ``off`` that cannot be is told by ``pkb.checks``."""
        return mode == "required" or (mode == "auto" and bool(self.reasons()))


def is_loopback(host: str) -> bool:
    """Tell whether a name or address is this machine's own, whoever asks."""
    with suppress(ValueError):
        return ip_address(host.strip("[]")).is_loopback
    # RFC 6761: names below localhost never leave the machine.
    return host.lower() == "localhost" or host.lower().endswith(".localhost")


def is_local_request(peer: str, *, names: Collection[str]) -> bool:
    """Tell whether a request began on this machine, and at no proxy on it.

    Args:
        peer: The address of the connection.
        names: Of its headers, in lower case.
    """
    return is_loopback(peer) and not PROXY_HEADERS & set(names)
