"""Draw pages of PDFs and images, and find words on them."""

from base64 import b64decode

from corpus.loaders import registry
from corpus.loaders.formats.pdf.rendering import Box, PageLayout
from corpus.loaders.limits import LoaderLimits
from corpus.loaders.sandbox import run_in_child

__all__ = ["Box", "PageLayout", "draw_page", "find_on_page"]

# A client waits. The slowest of 221 pages of 90 real PDFs took 0.26 s (docs/decisions/0029).
_LIMITS = LoaderLimits(wall_s=15.0)


def draw_page(content: bytes, number: int, *, media_type: str = registry.PDF) -> bytes:
    """Return a page as PNG, of at most ``formats.pdf.rendering.MAX_PIXELS``.

    Args:
        number: From 1.
        media_type: PDF, or an image type, whose pages are images in one file.

    Raises:
        PageNotFound: The file has no such page.
        UnreadableFile: It is damaged, or drawing it exceeds the limits.
    """
    (png,) = run_in_child(
        "draw_page", content, media_type=media_type, limits=_LIMITS, arguments={"number": number}
    )
    return b64decode(png)


def find_on_page(
    content: bytes, number: int, *, quote: str, before: str = "", media_type: str = registry.PDF
) -> PageLayout:
    """Return the positions of a quote on a page.

    Args:
        number: From 1.
        quote: The text to find, ignoring case and line breaks; may be empty. Images give no result:
            their word positions are stored at ingestion.
        before: The page's text before the quote, which selects one of several occurrences.

    Raises as ``draw_page``.
    """
    arguments = {"number": number, "quote": quote, "before": before}
    (layout,) = run_in_child(
        "find_on_page", content, media_type=media_type, limits=_LIMITS, arguments=arguments
    )
    return PageLayout(**{**layout, "boxes": [Box(*box) for box in layout["boxes"]]})
