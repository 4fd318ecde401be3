"""What must be visible: judges a history of operations that overlapped.

An operation has effect at one moment between when it was sent and when its reply came. A read may
show whatever a place had at some moment between: what was written before it ended, and was not
overwritten, for sure, before it began. One write overwrites another for sure if it was sent after
the other's reply; so each place is a register of which every value was written once, and a read is
judged by intervals alone, in time that grows with the number of writes of its place.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import inf

from tests.histories.texts import PARTS, hash_of, write_version


class Act(StrEnum):
    """What a write does to its place."""

    PUT = "put"
    DELETE = "delete"
    TAG = "tag"


@dataclass(frozen=True)
class Write:
    """One change of one place.

    Attributes:
        invoked, returned: Seconds; ``inf`` where nobody knows whether it had effect.
        version: Of the text that was put; 0 otherwise.
        tags: Those that the document has afterwards, with PUT and TAG.
    """

    act: Act
    place: str
    invoked: float
    returned: float
    version: int = 0
    tags: frozenset[str] = frozenset()
    client: int = 0


@dataclass(frozen=True)
class Quote:
    """A span that was shown as one of the text with that hash."""

    text: str
    content_sha256: str
    start: int
    end: int


@dataclass(frozen=True)
class Sighting:
    """A passage or citation that a read showed.

    Attributes:
        versions: Of the place, all that anything of it names.
        parts: Of the text that it shows.
    """

    place: str
    versions: frozenset[int]
    parts: frozenset[str] = frozenset()
    quote: Quote | None = None


@dataclass(frozen=True)
class Read:
    """What one request showed.

    Attributes:
        shelf: The places that it could show, if it shows all that are there; else empty.
        tag: It was to show only what carries this.
        is_kept: It shows an answer that was given before: what is replaced may be quoted, what
            is deleted may not.
    """

    door: str
    invoked: float
    returned: float
    seen: tuple[Sighting, ...]
    shelf: frozenset[str] = frozenset()
    tag: str = ""
    is_kept: bool = False
    client: int = 0


@dataclass(frozen=True)
class Failure:
    """A request that was answered as none should be."""

    door: str
    invoked: float
    status: int
    detail: str
    client: int = 0


@dataclass(frozen=True)
class Violation:
    """What a read showed and must not, or the other way round."""

    kind: str
    place: str
    read: Read
    detail: str

    def __str__(self) -> str:
        when = f"{self.read.invoked:.3f}-{self.read.returned:.3f}"
        return f"{self.kind}: {self.read.door} {when} {self.place}: {self.detail}"


_ABSENT = -inf


@dataclass
class Place:
    """All writes of one place, and what a read of it may show."""

    name: str
    writes: list[Write] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.writes = [Write(Act.DELETE, self.name, _ABSENT, _ABSENT), *self.writes]

    def text_writes(self, read: Read) -> list[Write]:
        """Return the writes of the text, none or another, that the read may show."""
        return _current([write for write in self.writes if write.act != Act.TAG], read)

    def tag_writes(self, read: Read) -> list[Write]:
        return _current(self.writes, read)

    def put_of(self, version: int) -> Write | None:
        puts = (write for write in self.writes if write.act == Act.PUT)
        return next((write for write in puts if write.version == version), None)

    def see(self, version: int, returned: float) -> None:
        """Let a write have had its effect when somebody had seen it."""
        put = self.put_of(version)
        if put is not None and returned < put.returned:
            self.writes[self.writes.index(put)] = replace(put, returned=returned)

    def is_deleted_between(self, put: Write, read: Read) -> bool:
        return any(
            write.act == Act.DELETE
            and put.returned < write.invoked
            and write.returned < read.invoked
            for write in self.writes
        )


def _current(writes: Iterable[Write], read: Read) -> list[Write]:
    """Leave out what began too late, and what was overwritten for sure before the read began."""
    begun = [write for write in writes if write.invoked < read.returned]
    over = max(write.invoked for write in begun if write.returned < read.invoked)
    return [write for write in begun if write.returned >= over]


def find_violations(writes: Iterable[Write], reads: Iterable[Read]) -> list[Violation]:
    """Return what the reads of a history show that they must not, and the other way round."""
    by_place: defaultdict[str, list[Write]] = defaultdict(list)
    for write in writes:
        by_place[write.place].append(write)
    ordered = sorted(reads, key=lambda read: read.returned)
    names = {*by_place, *(place for read in ordered for place in read.shelf)}
    places = {name: Place(name, by_place[name]) for name in names}
    found = []
    for read in ordered:
        violations = list(_judge(read, places))
        found += violations
        if not violations and not read.is_kept:
            for sighting in read.seen:
                for version in sighting.versions:
                    places[sighting.place].see(version, read.returned)
    return found


def _judge(read: Read, places: Mapping[str, Place]) -> Iterator[Violation]:
    seen: defaultdict[str, list[Sighting]] = defaultdict(list)
    for sighting in read.seen:
        seen[sighting.place].append(sighting)
        yield from _judge_quote(read, sighting)
    for name, sightings in seen.items():
        if name not in places:
            yield Violation("foreign", name, read, "nobody wrote of it")
        else:
            yield from _judge_place(read, places[name], sightings)
    for name in read.shelf - seen.keys():
        yield from _judge_unseen(read, places[name])


def _judge_quote(read: Read, sighting: Sighting) -> Iterator[Violation]:
    quote = sighting.quote
    if quote is None:
        return
    texts = {hash_of(sighting.place, v): v for v in sighting.versions}
    if quote.content_sha256 not in texts:
        yield Violation("misquoted", sighting.place, read, "its hash is of no version it names")
        return
    text = write_version(sighting.place, texts[quote.content_sha256])
    if text[quote.start : quote.end] != quote.text:
        yield Violation("misquoted", sighting.place, read, f"{quote.text!r} is not at its span")


def _judge_place(read: Read, place: Place, sightings: list[Sighting]) -> Iterator[Violation]:
    versions = frozenset[int]().union(*(each.versions for each in sightings))
    if len(versions) > 1:
        yield Violation("mixed", place.name, read, f"versions {sorted(versions)} in one reply")
    for version in versions:
        yield from _judge_version(read, place, version)
    current = place.text_writes(read)
    if not versions and not read.is_kept and all(w.act == Act.DELETE for w in current):
        yield Violation("stale", place.name, read, "it was deleted")
    parts = frozenset[str]().union(*(each.parts for each in sightings))
    if read.shelf and parts != PARTS:
        yield Violation("torn", place.name, read, f"only {sorted(parts)} of its parts")
    if read.tag and not any(_may_carry(place, version, read) for version in versions or {0}):
        yield Violation("tag", place.name, read, f"it did not carry {read.tag!r}")


def _judge_version(read: Read, place: Place, version: int) -> Iterator[Violation]:
    put = place.put_of(version)
    if put is None or put.invoked >= read.returned:
        yield Violation("foreign", place.name, read, f"nobody had put version {version}")
    elif read.is_kept:
        if place.is_deleted_between(put, read):
            yield Violation("kept", place.name, read, f"version {version} was deleted")
    elif put not in (current := place.text_writes(read)):
        there = sorted(each.version for each in current)
        how = "deleted" if place.is_deleted_between(put, read) else "replaced"
        yield Violation("stale", place.name, read, f"version {version} was {how}; now {there}")


def _judge_unseen(read: Read, place: Place) -> Iterator[Violation]:
    """Find what an exhaustive read had to show and did not."""
    current = place.text_writes(read)
    if any(write.act == Act.DELETE for write in current):
        return
    if read.tag and any(read.tag not in write.tags for write in place.tag_writes(read)):
        return
    versions = sorted(write.version for write in current)
    yield Violation("unseen", place.name, read, f"one of versions {versions} was there")


def _may_carry(place: Place, version: int, read: Read) -> bool:
    """Return whether that version may have carried the tag; 0: any version."""
    put = place.put_of(version)
    for write in place.tag_writes(read):
        is_later = put is None or write == put or _may_follow(write, put)
        if read.tag in write.tags and is_later:
            return True
    return False


def _may_follow(write: Write, put: Write) -> bool:
    """Return whether the tags may have been put on this version, after it."""
    return write.act == Act.TAG and write.returned >= put.invoked
