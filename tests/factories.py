"""Texts and documents for tests."""

from collections.abc import Callable
from typing import Any

from corpus.ingestion import Attributes, StoredDocument, ingest_text
from corpus.models import Collection

Ingest = Callable[..., StoredDocument]

LIGHTHOUSE = (
    "The lighthouse at Bavoke was built in 1874 by the engineer Orsolya Quill. "
    "Its lamp burns rapeseed oil and is seen from nineteen nautical miles away. "
    "The tower is thirty-one metres tall and stands on black basalt.\n\n"
    "Every evening the keeper climbs 212 steps to wind the clockwork of the lens. "
    "A second keeper writes the weather into a green book."
)
LIGHTHOUSE_QUESTION = "Who built the lighthouse at Bavoke?"
BAKERY = (
    "The bakery in Lindow opens at five in the morning. It bakes rye bread with caraway, "
    "and sells the first loaves to the fishermen before sunrise. On Mondays it is closed."
)


def long_text(paragraph_count: int = 6) -> str:
    """Paragraphs of about 900 characters, each of its own subject."""
    subjects = ["granary", "foundry", "orchard", "ferry", "library", "quarry", "brewery", "school"]
    paragraphs = []
    for number in range(paragraph_count):
        subject = f"{subjects[number % len(subjects)]} number {number}"
        paragraphs.append(
            " ".join(
                f"Entry {number}.{line} says that the {subject} was mended in {1700 + line}."
                for line in range(14)
            )
        )
    return "\n\n".join(paragraphs)


def ingest_text_of(collection: Collection) -> Ingest:
    def ingest(text: str, **attributes: Any) -> StoredDocument:
        return ingest_text(text, collection=collection, attributes=Attributes(**attributes))

    return ingest
