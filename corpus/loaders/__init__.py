"""Convert files to text with structure.

``load_file`` detects the media type from content, name and declaration (``media_types``), reads
plain formats in this process and all others in a child process with limits (``sandbox``), and has
OCR read scanned pages (``ocr``). ``registry`` maps media types to modules, each a
``corpus.loaders.blocks.Loader``.
"""

from corpus.errors import EmptyDocument, TooLarge
from corpus.loaders.blocks import LoadedDocument
from corpus.loaders.limits import LoaderLimits
from corpus.loaders.media_types import detect_media_type
from corpus.loaders.ocr.scans import read_scans
from corpus.loaders.read import read
from corpus.loaders.registry import FORMATS, supported_extensions
from corpus.loaders.sandbox import read_in_child

__all__ = ["LoaderLimits", "load_file", "supported_extensions"]

# Plain formats up to this size take milliseconds; larger files would delay other requests.
_QUICK_BYTES = 128 * 1024
_DEFAULT_LIMITS = LoaderLimits()


def load_file(
    content: bytes, *, filename: str, media_type: str = "", limits: LoaderLimits = _DEFAULT_LIMITS
) -> tuple[LoadedDocument, str]:
    """Read a file of any supported format.

    Args:
        content: The whole file.
        filename: Its name, may be empty; its extension helps to choose the loader.
        media_type: As the sender declares it; used if content and name are inconclusive.
        limits: Limits of its size, and of the time and memory to read it.

    Returns:
        The document, which always contains text, and its detected media type.

    Raises:
        TooLarge: The file is over ``limits.max_file_bytes``.
        UnsupportedMediaType: No loader reads it; the message names what is supported.
        UnreadableFile: It is broken, encrypted, hostile, or not what it claims to be.
        BinaryText: It claims to be text and holds NUL bytes.
        EmptyDocument: It contains no text, and OCR found none.
        TextTooLong: It contains more than ``limits.max_chars`` characters.
    """
    if len(content) > limits.max_file_bytes:
        raise TooLarge(
            f"The file has {len(content):,} bytes; {limits.max_file_bytes:,} are allowed."
        )
    if not content.strip():
        raise EmptyDocument("The file is empty.")
    detected = detect_media_type(content, filename=filename, declared=media_type, limits=limits)
    is_quick = FORMATS[detected].in_process and len(content) <= _QUICK_BYTES
    reader = read if is_quick else read_in_child
    document = reader(content, filename=filename, media_type=detected, limits=limits)
    if document.scans:
        document = read_scans(
            content, document, filename=filename, media_type=detected, limits=limits
        )
    return document, detected
