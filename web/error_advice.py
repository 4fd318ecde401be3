"""Advise what to do about a failed file or document, by its failure reason. Pure."""

from typing import NamedTuple


class Advice(NamedTuple):
    """Advice to show; ``names_formats`` also links the list of supported formats."""

    text: str
    names_formats: bool = False


# Words of a reason, and what helps then; the first that fits.
_ADVICE = (
    ("is not supported", Advice("Save it in another format.", names_formats=True)),
    ("password", Advice("Save a copy without its password, and upload that.")),
    ("OCR is off", Advice("Have its text recognized (OCR), and upload the result.")),
    (
        "OCR found no text",
        Advice("If there is some, scan it again: upright, sharp, 200 to 300 dpi."),
    ),
    ("damaged", Advice("Open it where it was made, save it anew, and upload that.")),
    ("well-formed", Advice("Open it where it was made, save it anew, and upload that.")),
    ("NUL bytes", Advice("Give it the ending of what it really is.", names_formats=True)),
    ("holds no text", Advice("There is nothing in it to search; delete it here.")),
    ("The file is empty", Advice("There is nothing in it to search; delete it here.")),
    ("pixels", Advice("Save it smaller: 300 dpi are enough.")),
    ("are allowed", Advice("Cut it into smaller files.")),
    ("reading it", Advice("Save it anew, or cut it into smaller files.")),
    ("embed", Advice("Retry when the model answers again.")),
)


# Behind it stands the whole list of formats, which the pages have behind a link.
_LIST = ". Supported are: "


def shorten(reason: str) -> str:
    """Return a reason without the list of all formats."""
    said, cut, _ = reason.partition(_LIST)
    return f"{said}." if cut else reason


def find_advice(reason: str) -> Advice | None:
    """Return what to do about a failure; None where nothing is known that would help."""
    return next((advice for words, advice in _ADVICE if words in reason), None)
