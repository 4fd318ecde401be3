"""Pages of PDFs and images as people see them: drawn, and where words stand on them."""

from base64 import b64decode

from corpus.loaders import registry
from corpus.loaders.formats.pdf.page import Box, PageLayout
from corpus.loaders.limits import LoaderLimits
from corpus.loaders.sandbox import run_in_child

__all__ = ["Box", "PageLayout", "draw_page", "find_on_page"]

# Somebody waits for it. Of 221 pages of 90 real PDFs the slowest took .26 s (docs/decisions/0029).
_LIMITS = LoaderLimits(wall_s=15.0)


def draw_page(content: bytes, number: int, *, media_type: str = registry.PDF) -> bytes:
    """Return a page as PNG, of at most ``formats.pdf.page.MAX_PIXELS``.

    Args:
        number: From 1.
        media_type: That of PDF, or of an image, whose pages are pictures in one file.

    Raises:
        PageNotFound: The file has no such page.
        UnreadableFile: It is damaged, or drawing it takes more than is allowed.
    """
    (png,) = run_in_child(
        "draw_page", content, media_type=media_type, limits=_LIMITS, given={"number": number}
    )
    return b64decode(png)


def find_on_page(
    content: bytes,
    number: int,
    *,
    quote: str,
    before: str = "",
    media_type: str = registry.PDF,
) -> PageLayout:
    """Return where a quote stands on a page.

    Args:
        number: From 1.
        quote: What to look for, in any case and however it is broken into lines; may be empty. On
            an image nothing is found: where its words are was kept when they were read.
        before: The page's text before it; tells which one is meant where it stands there twice.

    Raises:
        PageNotFound, UnreadableFile: As ``draw_page``.
    """
    given = {"number": number, "quote": quote, "before": before}
    (found,) = run_in_child(
        "find_on_page", content, media_type=media_type, limits=_LIMITS, given=given
    )
    return PageLayout(**{**found, "boxes": [Box(*box) for box in found["boxes"]]})
