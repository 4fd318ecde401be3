"""Passages of documents that are stored nowhere."""

from dataclasses import replace
from typing import Any

from qa.types import Passage, Reading


def passage(text: str, *, start_char: int = 0, **fields: Any) -> Passage:
    """Return a passage of a document, of which nothing is known but what the fields say."""
    unknown = {
        "chunk_id": "c1", "document_id": "d1", "content_sha256": "0" * 64, "title": "",
        "source_uri": "", "heading_path": (), "page": None,
    }  # fmt: skip
    place = {"text": text, "start_char": start_char, "end_char": start_char + len(text)}
    return Passage(**{**unknown, **place, **fields})


def read_as(
    passage: Passage, answer: str = "", *, score: float = 0.0, margin: float = 0.0
) -> Passage:
    """The passage as a reader leaves it that found this answer in its text."""
    start = passage.text.index(answer)
    reading = Reading(score, start, start + len(answer), margin)
    return replace(passage, reading=reading)
