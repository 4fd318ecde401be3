"""Parse the links of pages and sitemaps; runs in the child process, like all parsers."""

import zlib
from typing import Any

from corpus.errors import UnreadableFile
from corpus.loaders.archives import parse_xml
from corpus.loaders.charset import decode
from corpus.loaders.formats.html_blocks import parse_html

# Maximum links of a page.
MAX_LINKS = 5_000
# Limits of the sitemap protocol: 50,000 URLs of up to 2,048 characters.
MAX_ENTRIES = 50_000
MAX_ADDRESS_CHARS = 2_048
# Unpacked size. The protocol allows five times as much; 50,000 usual URLs need a tenth.
MAX_SITEMAP_BYTES = 10 * 2**20
_GZIP = b"\x1f\x8b"
_ANY_WRAPPER = 47


def read_links(content: bytes) -> dict[str, Any]:
    """Return the raw ``links``, ``base`` and ``canonical`` of a page.

    Links with ``nofollow`` are omitted, and all links of a page that says so in its head.
    """
    root = parse_html(decode(content))
    links: list[str] = []
    base = canonical = ""
    for element in () if root is None else root.iter("a", "area", "base", "link"):
        href = element.get("href") or ""
        relations = (element.get("rel") or "").lower().split()
        if not href or len(href) > MAX_ADDRESS_CHARS:
            continue
        if element.tag == "base":
            base = base or href
        elif element.tag == "link":
            canonical = href if "canonical" in relations else canonical
        elif "nofollow" not in relations and len(links) < MAX_LINKS:
            links.append(href)
    for meta in () if root is None else root.iter("meta"):
        is_for_robots = (meta.get("name") or "").lower() == "robots"
        if is_for_robots and "nofollow" in (meta.get("content") or "").lower():
            links = []
    return {"links": links, "base": base, "canonical": canonical}


def read_sitemap(content: bytes) -> dict[str, list[str]]:
    """Return the ``pages`` of a sitemap, and the ``sitemaps`` of a sitemap index.

    It may be XML or lines of URLs, gzipped or not.

    Raises:
        UnreadableFile: It is damaged, another format, or larger than ``MAX_SITEMAP_BYTES``
        unpacked.
    """
    if content.startswith(_GZIP):
        try:
            content = zlib.decompressobj(_ANY_WRAPPER).decompress(content, MAX_SITEMAP_BYTES + 1)
        except zlib.error as error:
            raise UnreadableFile("The sitemap is packed, and damaged.") from error
        if len(content) > MAX_SITEMAP_BYTES:
            raise UnreadableFile(f"The sitemap unpacks to over {MAX_SITEMAP_BYTES:,} bytes.")
    if not content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        lines = content.decode("utf-8", "replace").removeprefix("\ufeff").splitlines()
        pages = [line.strip() for line in lines[:MAX_ENTRIES] if len(line) <= MAX_ADDRESS_CHARS]
        return {"pages": [page for page in pages if page], "sitemaps": []}
    addresses: dict[str, list[str]] = {"url": [], "sitemap": []}
    for element in parse_xml(content, name="The sitemap").iter():
        kind = element.tag.rpartition("}")[2]
        locations = (each.text for each in element if each.tag.rpartition("}")[2] == "loc")
        address = (next(locations, "") or "").strip()
        if kind in addresses and 0 < len(address) <= MAX_ADDRESS_CHARS:
            addresses[kind].append(address)
        if sum(map(len, addresses.values())) >= MAX_ENTRIES:
            break
    return {"pages": addresses["url"], "sitemaps": addresses["sitemap"]}
