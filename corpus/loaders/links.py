"""What the files of a site lead to: links of its pages, entries of its sitemaps."""

from dataclasses import dataclass
from typing import Any

from corpus.loaders import registry
from corpus.loaders.limits import LoaderLimits
from corpus.loaders.sandbox import run_in_child

_LIMITS = LoaderLimits(wall_s=30.0)


@dataclass(frozen=True, slots=True)
class PageLinks:
    """What a page leads to, as it stands there.

    Attributes:
        base: What its links are relative to, empty where that is the page itself.
        canonical: Which address the page itself says that it has, or empty.
    """

    links: tuple[str, ...]
    base: str
    canonical: str


@dataclass(frozen=True, slots=True)
class Sitemap:
    """The addresses of pages, and of further sitemaps."""

    pages: tuple[str, ...]
    sitemaps: tuple[str, ...]


def find_links(content: bytes) -> PageLinks:
    """Find what an HTML page leads to.

    Raises:
        UnreadableFile: Parsing it takes more than is allowed.
        BackendUnavailable: The process that parses could not be started.
    """
    found = _ask("find_links", content, registry.HTML)
    return PageLinks(tuple(found["links"]), found["base"], found["canonical"])


def find_entries(content: bytes) -> Sitemap:
    """Read a sitemap, packed or not.

    Raises:
        UnreadableFile: It is none, or over its bounds (``link_parser``).
        BackendUnavailable: As ``find_links``.
    """
    found = _ask("find_entries", content, registry.XML)
    return Sitemap(tuple(found["pages"]), tuple(found["sitemaps"]))


def _ask(act: str, content: bytes, media_type: str) -> Any:
    (found,) = run_in_child(act, content, media_type=media_type, limits=_LIMITS, given={})
    return found
