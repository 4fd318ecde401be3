"""Links of pages and entries of sitemaps, parsed in a child process."""

from typing import NamedTuple

from corpus.loaders import registry
from corpus.loaders.limits import LoaderLimits
from corpus.loaders.sandbox import run_in_child

_LIMITS = LoaderLimits(wall_s=30.0)


class PageLinks(NamedTuple):
    """The links of a page, unresolved.

    Attributes:
        base: Base of relative links; empty for the page itself.
        canonical: The page's canonical URL, or empty.
    """

    links: tuple[str, ...]
    base: str
    canonical: str


class Sitemap(NamedTuple):
    """The URLs of pages, and of further sitemaps."""

    pages: tuple[str, ...]
    sitemaps: tuple[str, ...]


def find_links(content: bytes) -> PageLinks:
    """Return the links of an HTML page.

    Raises:
        UnreadableFile: Parsing it exceeds the limits.
        BackendUnavailable: The process that parses could not be started.
    """
    (page,) = run_in_child(
        "find_links", content, media_type=registry.HTML, limits=_LIMITS, arguments={}
    )
    return PageLinks(tuple(page["links"]), page["base"], page["canonical"])


def find_entries(content: bytes) -> Sitemap:
    """Return the entries of a sitemap, gzipped or not.

    Raises:
        UnreadableFile: It is not a sitemap, or exceeds the limits of ``link_parser``.
        BackendUnavailable: As ``find_links``.
    """
    (sitemap,) = run_in_child(
        "find_entries", content, media_type=registry.XML, limits=_LIMITS, arguments={}
    )
    return Sitemap(tuple(sitemap["pages"]), tuple(sitemap["sitemaps"]))
