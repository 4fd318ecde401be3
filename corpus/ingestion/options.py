"""What a sync was asked for, as it is kept with its job."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

DEFAULT_BATCH_SIZE = 100


@dataclass(frozen=True, slots=True)
class SyncOptions:
    """How files are brought in.

    Attributes:
        paths: Files and folders, absolute.
        mirror: Documents of files that are gone from the folder are removed, and a file that
            was renamed keeps its document.
        force: Files are taken in again even if nothing has changed.
        source: The label of the documents.
        tags: Put on every document besides its own.
        batch_size: Files that are listed at a time.
    """

    paths: tuple[str, ...]
    mirror: bool = False
    force: bool = False
    source: str = ""
    tags: tuple[str, ...] = ()
    batch_size: int = DEFAULT_BATCH_SIZE

    @property
    def roots(self) -> list[Path]:
        return [Path(path) for path in self.paths]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Self:
        lists = {name: tuple(kept[name]) for name in ("paths", "tags")}
        return cls(**{**kept, **lists})
