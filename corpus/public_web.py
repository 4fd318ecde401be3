"""Requests to user-submitted URLs: fetch pages, send webhooks. All of them go through this module.

A host name is resolved once, and the connection uses the checked IP address, also for each
redirect. Only public IP addresses are reached, unless the settings name the host.
"""

import ssl
import zlib
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from socket import SOCK_STREAM, gaierror, getaddrinfo
from time import monotonic
from types import MappingProxyType
from typing import Any
from urllib.parse import SplitResult, quote, urljoin, urlsplit, urlunsplit

import httpcore2
from django.conf import settings

from corpus.errors import FetchingOff, NotFetched, Redirected, TooLarge

MAX_REDIRECTS = 5
# Timeout of the whole request, with name resolution.
TOTAL_S = 30.0
# Timeout of one step.
STEP_S = 10.0
USER_AGENT = "pkb (self-hosted knowledge base)"

# Public by Python's tables, but routes to private addresses, or to many at once.
_GLOBAL_UNICAST = IPv6Network("2000::/3")
_TRANSLATING_NETWORKS = (
    IPv4Network("192.0.0.0/24"), IPv4Network("192.88.99.0/24"),
    IPv6Network("2001::/23"), IPv6Network("2002::/16"), IPv6Network("3fff::/20"),
)  # fmt: skip
_REDIRECTS = {301, 302, 303, 307, 308}
_PORTS = {"https": 443, "http": 80}
_COMPRESSED = {"gzip", "x-gzip", "deflate"}
# Tells zlib to read both.
_ANY_WRAPPER = 47

Address = IPv4Address | IPv6Address


@dataclass(frozen=True, slots=True)
class FetchResult:
    """A fetched resource.

    Attributes:
        url: The final URL.
        media_type: As the server states it.
        etag: Validator of later requests, like ``last_modified``.
    """

    url: str
    content: bytes
    media_type: str
    etag: str
    last_modified: str


def is_url(argument: str) -> bool:
    """Return whether an argument is a URL, not a file."""
    return argument.lower().startswith(("https://", "http://"))


def is_public_ip(address: Address) -> bool:
    """Return whether an IP address is one machine of the public internet."""
    if isinstance(address, IPv6Address) and address not in _GLOBAL_UNICAST:
        return False
    if any(address in each for each in _TRANSLATING_NETWORKS if each.version == address.version):
        return False
    return address.is_global and not address.is_multicast


def fetch(
    url: str,
    *,
    max_bytes: int,
    validators: Mapping[str, str] = MappingProxyType({}),
    total_s: float | None = None,
    max_redirects: int = MAX_REDIRECTS,
) -> FetchResult | None:
    """Fetch a URL, following redirects.

    Args:
        max_bytes: Maximum size, compressed and decompressed.
        validators: ``etag`` and ``last_modified`` of the last response, as far as known.
        total_s: Timeout of the whole request; by default ``TOTAL_S``.

    Returns:
        The content, or None if it has not changed.

    Raises:
        FetchingOff: ``PKB_FETCH`` does not allow it.
        Redirected: There are too many redirects.
        NotFetched: The URL is rejected, or the request fails; the message says why.
        TooLarge: It is over ``max_bytes``.
    """
    ends = monotonic() + (TOTAL_S if total_s is None else total_s)
    known = {
        "If-None-Match": validators.get("etag", ""),
        "If-Modified-Since": validators.get("last_modified", ""),
    }
    for followed in range(max_redirects + 1):
        parts = check_url(url)
        with _send_request(parts, known, ends, hosts=settings.PKB_FETCH_HOSTS) as response:
            # The last header of each name.
            headers = {
                name.lower().decode(): value.decode("latin-1") for name, value in response.headers
            }
            if response.status in _REDIRECTS and "location" in headers:
                try:
                    url = urljoin(url, headers["location"])
                except ValueError as exc:
                    message = "The page redirects to an invalid URL."
                    raise NotFetched(message, answered=response.status) from exc
                if followed == max_redirects:
                    message = f"It redirects more than {max_redirects} times."
                    raise Redirected(message, target=url, answered=response.status)
                continue
            if response.status == HTTPStatus.NOT_MODIFIED and any(known.values()):
                return None
            if response.status != HTTPStatus.OK:
                message = f"Its server answers {response.status}."
                raise NotFetched(message, answered=response.status)
            content = _read(response.iter_stream(), headers, max_bytes)
            names = ("content-type", "etag", "last-modified")
            return FetchResult(
                urlunsplit(parts), content, *(headers.get(name, "") for name in names)
            )
    raise AssertionError  # the last one returned, or was a redirect


def post(url: str, content: bytes, *, headers: Mapping[str, str], total_s: float) -> int:
    """Send a webhook and return the HTTP status of the reply; follow no redirect.

    Args:
        total_s: Timeout of the whole request.

    Raises:
        FetchingOff, NotFetched: As ``fetch``; hosts of ``PKB_WEBHOOK_HOSTS`` are always allowed.
    """
    hosts = settings.PKB_WEBHOOK_HOSTS
    parts, ends = check_url(url, hosts=hosts), monotonic() + total_s
    with _send_request(parts, headers, ends, hosts=hosts, content=content) as response:
        return response.status


def check_fetching() -> None:
    """Raise FetchingOff unless URLs may be fetched."""
    if settings.PKB_FETCH == "off":
        raise FetchingOff("PKB_FETCH is off. An administrator can turn it on.")


def check_url(url: str, *, hosts: AbstractSet[str] = frozenset()) -> SplitResult:
    """Split a URL, without its fragment.

    Args:
        hosts: Allowed whatever ``PKB_FETCH`` says, by http and https.

    Raises:
        FetchingOff, NotFetched: It may not be fetched.
    """
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError as exc:
        raise NotFetched("This is not a valid URL.") from exc
    schemes = {"https", "http"}
    if parts.hostname not in hosts:
        check_fetching()
        schemes = {"https", settings.PKB_FETCH}
    if parts.scheme not in schemes:
        raise NotFetched(f"Only {' and '.join(sorted(schemes))} URLs are allowed (PKB_FETCH).")
    if not parts.hostname or parts.username is not None or port == 0:
        raise NotFetched("The URL has no host, or contains a password.")
    path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=-._~")
    return parts._replace(
        path=path, query=quote(parts.query, safe="/%:@!$&'()*+,;=-._~?"), fragment=""
    )


def _resolve(host: str, port: int, hosts: AbstractSet[str]) -> str:
    """Return the IP address to connect to; of ``hosts`` it may be private.

    Raises:
        NotFetched: The host has no address, or a private one. The message is the same, so that it
            does not reveal the names of a private network.
    """
    try:
        infos = getaddrinfo(host, port, type=SOCK_STREAM)
    except (gaierror, UnicodeError) as exc:
        raise NotFetched("The host of the URL has no public IP address.") from exc
    addresses = [ip_address(str(each[4][0]).partition("%")[0]) for each in infos]
    if not addresses or not (host.lower() in hosts or all(map(is_public_ip, addresses))):
        raise NotFetched("The host of the URL has no public IP address.")
    return str(addresses[0])


@contextmanager
def _send_request(
    parts: SplitResult,
    optional: Mapping[str, str],
    ends: float,
    *,
    hosts: AbstractSet[str],
    content: bytes | None = None,
) -> Iterator[httpcore2.Response]:
    """Send a GET request, or POST ``content``; headers without a value are left out."""
    host, port = str(parts.hostname), parts.port or _PORTS[parts.scheme]
    backend = _PinnedBackend(_resolve(host, port, hosts), ends)
    optional = {"User-Agent": USER_AGENT, "Accept-Encoding": "identity", **optional}
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    url = httpcore2.URL(
        scheme=parts.scheme.encode(),
        host=host.encode("idna"),
        port=parts.port,
        target=target.encode(),
    )
    shown_host = f"[{host}]" if ":" in host else host.encode("idna").decode()
    headers = [
        ("Host", f"{shown_host}:{parts.port}" if parts.port else shown_host),
        *((name, each) for name, each in optional.items() if each),
    ]
    # Reading the system's certificates takes longer than a request.
    context = ssl.create_default_context() if parts.scheme == "https" else None
    method = "GET" if content is None else "POST"
    try:
        with (
            httpcore2.ConnectionPool(ssl_context=context, network_backend=backend) as pool,
            pool.stream(method, url, headers=headers, content=content) as response,
        ):
            yield response
    except (
        httpcore2.NetworkError,
        httpcore2.ProtocolError,
        httpcore2.TimeoutException,
        OSError,
    ) as exc:
        raise NotFetched(f"The server cannot be reached: {type(exc).__name__}.") from exc


def _read(pieces: Iterable[bytes], headers: dict[str, str], max_bytes: int) -> bytes:
    content = bytearray()
    for piece in pieces:
        content += piece
        if len(content) > max_bytes:
            raise TooLarge(f"It has more than the allowed {max_bytes:,} bytes.")
    encoding = headers.get("content-encoding", "identity").lower()
    if encoding in {"identity", ""}:
        return bytes(content)
    if encoding not in _COMPRESSED:
        raise NotFetched(f"The response uses the unsupported compression {encoding[:20]}.")
    unpacker = zlib.decompressobj(_ANY_WRAPPER)
    try:
        unpacked = unpacker.decompress(content, max_bytes + 1)
    except zlib.error as exc:
        raise NotFetched("The compressed response is damaged.") from exc
    if len(unpacked) > max_bytes:
        raise TooLarge(f"It has more than the allowed {max_bytes:,} bytes.")
    if not unpacker.eof:
        raise NotFetched("The compressed response is damaged.")
    return unpacked


class _PinnedBackend(httpcore2.SyncBackend):
    """Connects to one IP address, whatever host is requested, and ends in time."""

    def __init__(self, address: str, ends: float) -> None:
        self._address, self._ends = address, ends

    def connect_tcp(
        self, host: str, port: int, *args: Any, **options: Any
    ) -> httpcore2.NetworkStream:
        stream = super().connect_tcp(self._address, port, timeout=_remaining_s(self._ends))
        return _DeadlineStream(stream, self._ends)


class _DeadlineStream(httpcore2.NetworkStream):
    """Limits each step to the remaining time: a server may send a byte now and then."""

    def __init__(self, stream: httpcore2.NetworkStream, ends: float) -> None:
        self._stream, self._ends = stream, ends

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _remaining_s(self._ends))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, _remaining_s(self._ends))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.NetworkStream:
        left = _remaining_s(self._ends)
        return _DeadlineStream(
            self._stream.start_tls(ssl_context, server_hostname, left), self._ends
        )

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def _remaining_s(ends: float) -> float:
    left = ends - monotonic()
    if left <= 0:
        raise httpcore2.ReadTimeout
    return min(left, STEP_S)
