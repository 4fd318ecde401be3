"""Bring what a language model wrote into one line."""

import re

# Postgres takes neither NUL nor half of a surrogate pair, and nobody searches for a control.
_UNREADABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def as_line(text: str) -> str:
    """Return the words of a text in one line, with single spaces and nothing unreadable."""
    return " ".join(_UNREADABLE.sub(" ", text).split())
