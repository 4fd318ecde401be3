"""Scopes of headings and labels: the parts of a text that they name."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from corpus.ingestion.chunkers.sections import HeadingPath
from corpus.ingestion.normal_form import Heading, Outline

# Maximum number of inner headings and labels in a chunk's path.
MAX_NAMES = 3


# The time of a transcript line, which its text does not contain.
_TIME = re.compile(r"\A\d\d:\d\d:\d\d\Z")


@dataclass(frozen=True, slots=True)
class Scope:
    """The half-open part ``start:end`` of a text under a name, including the name.

    Attributes:
        level: Level of a heading; None for a label.
    """

    start: int
    end: int
    text: str
    level: int | None = None


def find_scopes(outline: Outline, length: int) -> list[Scope]:
    """Return the scopes of a text of ``length`` characters by start, outer ones first.

    The scope of a heading ends at the next heading of its level or a higher one; that of a heading
    which is also a label, such as a question, ends with the label.
    """
    named: list[Scope] = []
    open_ones: list[Heading] = []
    for heading in outline.headings:
        while open_ones and open_ones[-1].level >= heading.level:
            ended = open_ones.pop()
            named.append(Scope(ended.start, heading.start, ended.text, ended.level))
        open_ones.append(heading)
    named += (Scope(each.start, length, each.text, each.level) for each in open_ones)
    ends = {(label.start, label.text): label.end for label in outline.labels}
    headings = (
        replace(scope, end=min(scope.end, ends.get((scope.start, scope.text), scope.end)))
        for scope in named
    )
    labels = (Scope(label.start, label.end, label.text) for label in outline.labels)
    scopes = [*headings, *labels]
    return sorted(scopes, key=lambda scope: (scope.start, -scope.end))


class OpenScopes:
    """Find the scopes of positions, which must be in ascending order."""

    def __init__(self, scopes: Sequence[Scope]) -> None:
        self._scopes = scopes
        self._next = 0
        self._open: list[Scope] = []

    def at(self, position: int) -> list[Scope]:
        """Return the scopes that begin before ``position`` and end after it.

        Scopes that begin there count only for times: other names are in the text itself.
        """
        while self._next < len(self._scopes):
            scope = self._scopes[self._next]
            is_time = scope.start == position and _TIME.match(scope.text)
            if scope.start >= position and not is_time:
                break
            self._open.append(scope)
            self._next += 1
        self._open = [scope for scope in self._open if scope.end > position]
        return self._open


def path_under(
    path: HeadingPath, scopes: Sequence[Scope], *, since: int
) -> tuple[HeadingPath, int | None]:
    """Return the path of a section, extended by the names of a position's scopes.

    Args:
        scopes: Scopes of the position.
        since: Start of the section.

    Returns:
        The path, and the level of the last inner heading, None without one.
    """
    below = [each for each in scopes if each.start >= since and each.text not in path]
    levels = [each.level for each in below if each.level is not None]
    names = tuple(dict.fromkeys(each.text for each in below))
    return path + names[-MAX_NAMES:], levels[-1] if levels else None
