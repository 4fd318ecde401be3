"""Decide which URLs belong to a site, and which of them are the same page. Pure."""

import re
from dataclasses import dataclass
from mimetypes import guess_type
from string import ascii_letters, digits
from typing import Self
from urllib.parse import quote, urljoin, urlsplit, urlunsplit

# The maximum length of a stored URL.
MAX_CHARS = 2048
_DEFAULT_PORTS = {"http": 80, "https": 443}
_UNRESERVED = frozenset(f"{ascii_letters}{digits}-._~")
_ESCAPED = re.compile(r"%([0-9a-fA-F]{2})")
# Tracking parameters, which do not change the page.
_TRACKING = re.compile(r"(?:utm_[a-z_]+|fbclid|gclid|mc_cid|mc_eid|msclkid)(?:=|$)", re.IGNORECASE)
# Index pages of folders; their name is omitted.
_INDEX = re.compile(r"/index\.(?:html?|php|aspx?)$", re.IGNORECASE)
# A last path segment with such an ending is a page in a folder, any other one a folder.
_PAGE_ENDING = re.compile(r"\.(?:[xs]?html?|php|aspx?|jsp|md|txt|pdf)$", re.IGNORECASE)
# Files that contain no text of a page.
_NO_TEXT = {"image", "audio", "video", "font"}
_NO_TEXT_TYPES = {
    "text/css", "text/javascript", "application/javascript", "application/zip",
    "application/x-tar", "application/x-bzip2", "application/gzip", "application/x-msdownload",
    "application/octet-stream", "application/x-sh", "application/java-archive",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Scope:
    """The host and the path prefix of a site.

    Attributes:
        host: With a port other than the default.
        folder: Path prefix with a slash at both ends.
    """

    host: str
    folder: str

    @classmethod
    def of(cls, start: str) -> Self:
        """Return the scope of a normalized URL: everything in its folder."""
        parts = urlsplit(start)
        folder, _, last = parts.path.rpartition("/")
        is_folder = last and not _PAGE_ENDING.search(last)
        return cls(parts.netloc, f"{folder}/{last}/" if is_folder else f"{folder}/")

    def contains(self, address: str) -> bool:
        """Return whether a normalized URL belongs to the site."""
        parts = urlsplit(address)
        return parts.netloc == self.host and f"{parts.path}/".startswith(self.folder)


def host_of(address: str) -> str:
    """Return the host of a normalized URL, with a port other than the default."""
    return urlsplit(address).netloc


def normalize_url(address: str, base: str = "") -> str:
    """Return the normalized form of a URL for comparison, requests and storage.

    It has no fragment or tracking parameters, dots in its path are resolved, and only necessary
    escapes stay.

    Args:
        base: Base of a relative URL.

    Returns:
        "" if it is not a web page.
    """
    try:
        parts = urlsplit(urljoin(base, address.strip()))
        port = parts.port
    except ValueError:
        return ""
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname or parts.username is not None:
        return ""
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    netloc = host if port in {None, _DEFAULT_PORTS[parts.scheme]} else f"{host}:{port}"
    root = f"{parts.scheme}://{netloc}/"
    path = urlsplit(urljoin(root, f"/{escape(parts.path).lstrip('/')}")).path
    parameters = [each for each in parts.query.split("&") if each and not _TRACKING.match(each)]
    url = urlunsplit((parts.scheme, netloc, path, escape("&".join(parameters), more="?"), ""))
    return url if len(url) <= MAX_CHARS else ""


def escape(text: str, *, more: str = "") -> str:
    """Escape a path or query in the normalized form."""
    plain = _ESCAPED.sub(_unescape, text)
    return quote(plain, safe=f"/%:@!$&'()*+,;=-._~{more}")


def _unescape(escaped: re.Match[str]) -> str:
    letter = chr(int(escaped[1], 16))
    return letter if letter in _UNRESERVED else f"%{escaped[1].upper()}"


def page_key(address: str) -> str:
    """Return a key that URLs of the same page usually share."""
    parts = urlsplit(address)
    return urlunsplit(("", parts.netloc, _INDEX.sub("/", parts.path), parts.query, ""))


def is_same_path(address: str, other: str) -> bool:
    """Return whether two normalized URLs differ only in query or folder form."""
    paths = {_INDEX.sub("/", urlsplit(each).path).rstrip("/") for each in (address, other)}
    return host_of(address) == host_of(other) and len(paths) == 1


def kind_without_text(address: str) -> str:
    """Return the ending of a URL whose file has no text, such as an image, or ""."""
    path = urlsplit(address).path
    guessed, packed = guess_type(f"file://{path}")
    if packed or (guessed and (guessed.split("/")[0] in _NO_TEXT or guessed in _NO_TEXT_TYPES)):
        return path.rpartition(".")[2].lower()
    return ""
