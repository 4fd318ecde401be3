"""What replies show of places: of passages, answers, streams of them."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tests.histories.model import Quote, Sighting
from tests.histories.shelf import Shelf
from tests.histories.texts import find_parts, find_place, find_versions


def shown_by_search(body: Mapping[str, Any], *, version: int | None = None) -> list[Sighting]:
    """Return what a search found.

    Args:
        version: The one that the search's filter asks for.
    """
    asked = set() if version is None else {version}
    return [
        Sighting(
            find_place(result["content"]),
            frozenset(
                find_versions(result["content"])
                | ({result["metadata"]["version"]} if "version" in result["metadata"] else set())
                | asked
            ),
            frozenset(find_parts(result["content"])),
        )
        for result in body["results"]
    ]


def shown_by_answer(body: Mapping[str, Any], shelf: Shelf) -> list[Sighting]:
    """Return what an answer says, cites, and points to."""
    pointed = [*body["citations"], *body["closest"], *(body["disagreement"] or ())]
    return [
        *(show_quote(each, shelf) for each in pointed if each["quote"]),
        *shown_by_text(body["answer"], shelf),
    ]


def shown_by_text(text: str, shelf: Shelf) -> Iterator[Sighting]:
    for version in find_versions(text):
        yield Sighting(shelf.place_of(version), frozenset({version}))


def show_quote(quoted: Mapping[str, Any], shelf: Shelf) -> Sighting:
    version = shelf.version_of(quoted["content_sha256"])
    stored = set() if version is None else {version}
    return Sighting(
        find_place(quoted["title"]) or find_place(quoted["quote"]),
        frozenset(find_versions(quoted["quote"]) | stored),
        quote=Quote(
            quoted["quote"], quoted["content_sha256"], quoted["start_char"], quoted["end_char"]
        ),
    )


def read_events(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield kind and body of each event of a stream."""
    for block in text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line[1:])
        if "data" in lines:
            yield lines["event"], json.loads(lines["data"])


def shown_by_events(
    events: Iterable[tuple[str, Mapping[str, Any]]], shelf: Shelf
) -> list[Sighting]:
    """Return what a stream said, cited, and ended with."""
    shown: list[Sighting] = []
    for kind, body in events:
        if kind == "chunk":
            shown += shown_by_text(body["content"], shelf)
        elif kind == "citation":
            shown.append(show_quote(body["citation"], shelf))
        elif kind == "done" and body.get("answer"):
            shown += shown_by_answer(body["answer"], shelf)
    return shown
