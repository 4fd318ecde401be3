"""Decide from settings whether pkb is reachable from other machines. Pure."""

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Self
from urllib.parse import urlsplit

from pkb.env import Env, split_names

# Headers of proxies: the client is on another machine.
PROXY_HEADERS = frozenset({
    "forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto",
    "x-forwarded-server", "x-real-ip", "true-client-ip", "cf-connecting-ip",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Exposure:
    """Settings that decide from where the service is reachable.

    Attributes:
        bind: IP address or host name that the server listens on.
        hosts: Allowed host names of requests.
        public_url: URL of the web app for people; may be empty.
        is_behind_tls: A TLS proxy is in front of the server.
        issuer: URL of the OpenID provider; may be empty.
    """

    bind: str
    hosts: Sequence[str]
    public_url: str
    is_behind_tls: bool
    issuer: str = ""

    @classmethod
    def of(cls, env: Env) -> Self:
        hosts = split_names(env.ALLOWED_HOSTS)
        return cls(env.APP_HOST, hosts, env.PKB_PUBLIC_URL, env.PKB_HTTPS, env.PKB_OIDC_ISSUER)

    def reasons(self) -> list[str]:
        """Return the settings that expose the service, as ``SETTING: value``."""
        reasons = [] if is_loopback(self.bind) else [f"APP_HOST: {self.bind}"]
        reasons += [f"ALLOWED_HOSTS: {host}" for host in self.hosts if not is_loopback(host)]
        if self.public_url and not is_loopback(urlsplit(self.public_url).hostname or ""):
            reasons.append(f"PKB_PUBLIC_URL: {self.public_url}")
        if self.issuer:
            reasons.append(f"PKB_OIDC_ISSUER: {self.issuer}")
        return [*reasons, "PKB_HTTPS: true"] if self.is_behind_tls else reasons

    def requires_login(self, mode: str) -> bool:
        """Return whether a login is required; ``pkb.checks`` rejects an unsafe ``off``."""
        return mode == "required" or (mode == "auto" and bool(self.reasons()))


def is_loopback(host: str) -> bool:
    """Return whether a host name or IP address always means this machine."""
    with suppress(ValueError):
        return ip_address(host.strip("[]")).is_loopback
    # RFC 6761: names below localhost never leave the machine.
    return host.lower() == "localhost" or host.lower().endswith(".localhost")


def is_local_request(peer: str, *, names: Collection[str]) -> bool:
    """Return whether a request comes from this machine, and not through a proxy.

    Args:
        peer: IP address of the connection.
        names: Header names in lower case.
    """
    return is_loopback(peer) and not PROXY_HEADERS & set(names)
