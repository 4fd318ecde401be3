"""What names the places of a text: each heading, and each label, with the part it stands for."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from corpus.ingestion.chunkers.sections import HeadingPath
from corpus.ingestion.normal_form import Heading, Outline

# Of the headings below a section's own, and of its labels, the innermost so many name a chunk.
MOST_NAMES = 3


# When something was said, which its text does not tell.
_TIME = re.compile(r"\A\d\d:\d\d:\d\d\Z")


@dataclass(frozen=True, slots=True)
class Scope:
    """The half-open part ``start:end`` of a text that is under a name, the name included.

    Attributes:
        level: Of a heading; None of a label.
    """

    start: int
    end: int
    text: str
    level: int | None = None


def find_scopes(outline: Outline, length: int) -> list[Scope]:
    """Return the scopes of a text of ``length`` characters by their start, outer ones first.

    A heading holds to the next one of its level or a higher one; one that is a label, too, no
    further than that: a question does not name what follows its answer.
    """
    ends = {(label.start, label.text): label.end for label in outline.labels}
    headings = (
        replace(scope, end=min(scope.end, ends.get((scope.start, scope.text), scope.end)))
        for scope in _heading_scopes(outline.headings, length)
    )
    labels = (Scope(label.start, label.end, label.text) for label in outline.labels)
    scopes = [*headings, *labels]
    return sorted(scopes, key=lambda scope: (scope.start, -scope.end))


def _heading_scopes(headings: Sequence[Heading], length: int) -> Iterator[Scope]:
    open_ones: list[Heading] = []
    for heading in headings:
        while open_ones and open_ones[-1].level >= heading.level:
            ended = open_ones.pop()
            yield Scope(ended.start, heading.start, ended.text, ended.level)
        open_ones.append(heading)
    yield from (Scope(each.start, length, each.text, each.level) for each in open_ones)


class OpenScopes:
    """Tells which scopes a position is in, for places in ascending order."""

    def __init__(self, scopes: Sequence[Scope]) -> None:
        self._scopes = scopes
        self._next = 0
        self._open: list[Scope] = []

    def at(self, position: int) -> list[Scope]:
        """Return the scopes that begin before ``position`` and end behind it.

        Of those that begin there, only times: what else begins says its own name.
        """
        while self._next < len(self._scopes) and self._begins(self._scopes[self._next], position):
            self._open.append(self._scopes[self._next])
            self._next += 1
        self._open = [scope for scope in self._open if scope.end > position]
        return self._open

    def _begins(self, scope: Scope, position: int) -> bool:
        return scope.start < position or (scope.start == position and bool(_TIME.match(scope.text)))


def path_under(
    path: HeadingPath, scopes: Sequence[Scope], *, since: int
) -> tuple[HeadingPath, int | None]:
    """Return the path of a section and, below it, what else names a position in the section.

    Args:
        scopes: Those that the position is in.
        since: Where the section begins.

    Returns:
        The path, and the level of the last heading below the section's, None without any.
    """
    below = [each for each in scopes if each.start >= since and each.text not in path]
    levels = [each.level for each in below if each.level is not None]
    names = tuple(dict.fromkeys(each.text for each in below))
    return path + names[-MOST_NAMES:], levels[-1] if levels else None
