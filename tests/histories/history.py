"""What clients did and saw, in the order in which they tell it; kept as a line of JSON each."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from math import inf
from pathlib import Path
from threading import Lock
from typing import Any, TextIO

from tests.histories.model import (
    Act,
    Failure,
    Quote,
    Read,
    Sighting,
    Violation,
    Write,
    find_violations,
)

Record = Write | Read | Failure


@dataclass
class History:
    """Records of many clients; threads may share it.

    Attributes:
        file: Each record is written there, too.
        refused_count: Requests that were told to come again.
    """

    file: TextIO | None = None
    writes: list[Write] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    refused_count: int = 0
    _lock: Lock = field(default_factory=Lock)

    def add(self, record: Record) -> None:
        with self._lock:
            if isinstance(record, Write):
                self.writes.append(record)
            elif isinstance(record, Read):
                self.reads.append(record)
            else:
                self.failures.append(record)
            if self.file is not None:
                self.file.write(dump(record) + "\n")

    def refuse(self) -> None:
        with self._lock:
            self.refused_count += 1

    def find_violations(self) -> list[Violation]:
        return find_violations(self.writes, self.reads)


def dump(record: Record) -> str:
    told = {"record": type(record).__name__, **asdict(record)}
    return json.dumps(told, default=_plain).replace("Infinity", "null")


def _plain(value: Any) -> Any:
    if isinstance(value, frozenset):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} is in no record")


def load(lines: Iterable[str]) -> History:
    """Read a history again."""
    history = History()
    for line in lines:
        told = json.loads(line)
        history.add(_READERS[told.pop("record")](told))
    return history


def read_file(path: Path) -> History:
    with path.open() as lines:
        return load(lines)


def _read_write(told: dict[str, Any]) -> Write:
    told["returned"] = inf if told["returned"] is None else told["returned"]
    return Write(**{**told, "act": Act(told["act"]), "tags": frozenset(told["tags"])})


def _read_read(told: dict[str, Any]) -> Read:
    seen = tuple(_read_sighting(each) for each in told["seen"])
    return Read(**{**told, "seen": seen, "shelf": frozenset(told["shelf"])})


def _read_sighting(told: dict[str, Any]) -> Sighting:
    return Sighting(
        told["place"],
        frozenset(told["versions"]),
        frozenset(told["parts"]),
        told["quote"] and Quote(**told["quote"]),
    )


_READERS: dict[str, Any] = {
    "Write": _read_write,
    "Read": _read_read,
    "Failure": lambda told: Failure(**told),
}
