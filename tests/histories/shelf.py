"""A collection of a history: the places it may hold, and what clients know of them."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.histories.texts import hash_of, name_of, write_version

# Versions that are asked for by their number: so many of the last.
LATEST = 12


@dataclass
class Folder:
    """A folder that one client changes and has mirrored.

    Attributes:
        files: The file of each place that has one.
    """

    path: Path
    places: tuple[str, ...]
    files: dict[str, Path] = field(default_factory=dict)
    written_count: int = 0
    suffix: str = ".md"

    def write(self, place: str, version: int) -> None:
        path = self.files.get(place) or self._new_path()
        path.write_text(write_version(place, version))
        self.files[place] = path

    def remove(self, place: str) -> None:
        self.files.pop(place).unlink()

    def rename(self, place: str) -> None:
        self.files[place] = self.files[place].rename(self._new_path())

    def _new_path(self) -> Path:
        self.written_count += 1
        return self.path / f"{self.written_count}{self.suffix}"


@dataclass
class Shelf:
    """What the clients share of one collection; each of its writes is atomic in Python.

    Attributes:
        notes: The places that anybody puts, tags and deletes.
        document_ids: The last known of each place that has one.
        answer_ids: Of answers that were given lately.
    """

    collection: str
    notes: tuple[str, ...]
    versions: Iterator[int]
    folders: tuple[Folder, ...] = ()
    document_ids: dict[str, str] = field(default_factory=dict)
    answer_ids: list[str] = field(default_factory=list)
    streams: list[str] = field(default_factory=list)
    _by_hash: dict[str, int] = field(default_factory=dict)
    _by_version: dict[int, str] = field(default_factory=dict)

    @property
    def places(self) -> frozenset[str]:
        return frozenset((*self.notes, *(p for folder in self.folders for p in folder.places)))

    def new_version(self, place: str) -> int:
        version = next(self.versions)
        self._by_hash[hash_of(place, version)] = version
        self._by_version[version] = place
        return version

    @property
    def latest_versions(self) -> list[int]:
        return list(self._by_version)[-LATEST:]

    def version_of(self, content_sha256: str) -> int | None:
        return self._by_hash.get(content_sha256)

    def place_of(self, version: int) -> str:
        return self._by_version.get(version, "")


def new_places(first: int, count: int) -> tuple[str, ...]:
    return tuple(name_of(number) for number in range(first, first + count))
