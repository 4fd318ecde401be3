"""Validate chunk settings and fill in defaults."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from django.conf import settings

from corpus.errors import InvalidInput
from corpus.models import Collection

# Bounds of ``size`` by unit.
SIZE_BOUNDS = {
    Collection.Unit.TOKENS: (16, 8_192),
    Collection.Unit.CL100K_TOKENS: (16, 8_192),
    Collection.Unit.CHARACTERS: (64, 40_000),
}
# Strategies that do not split by sentences and share none.
SENTENCELESS = {Collection.Strategy.RECURSIVE, Collection.Strategy.SEMANTIC}


@dataclass(frozen=True, slots=True)
class ChunkSettings:
    """Chunk settings of a collection, whose fields have the prefix ``chunk_``."""

    strategy: str
    size: int
    overlap: int
    overlap_sentences: int
    unit: str

    @classmethod
    def of(cls, collection: Collection) -> "ChunkSettings":
        return cls(**{name: getattr(collection, f"chunk_{name}") for name in cls.__slots__})

    def as_fields(self) -> dict[str, Any]:
        """Return the values by the names of the collection's fields."""
        return {f"chunk_{name}": value for name, value in asdict(self).items()}


def default_chunking(strategy: str = Collection.Strategy.AUTO) -> ChunkSettings:
    """Return the default settings of a strategy.

    Recursive splitting has fixed defaults; for the others they are settings.
    """
    if strategy == Collection.Strategy.RECURSIVE:
        return ChunkSettings(strategy, 512, 64, 0, Collection.Unit.CHARACTERS)
    sentences = 0 if strategy in SENTENCELESS else settings.PKB_CHUNK_OVERLAP_SENTENCES
    return ChunkSettings(
        strategy,
        settings.PKB_CHUNK_SIZE,
        settings.PKB_CHUNK_OVERLAP,
        sentences,
        Collection.Unit.TOKENS,
    )


def resolve_chunking(
    values: Mapping[str, Any], *, current: ChunkSettings | None = None
) -> ChunkSettings:
    """Complete settings by ``current`` ones, or by the defaults of a new strategy.

    Raises:
        InvalidInput: A value is invalid; the error names the field.
    """
    base = current or default_chunking()
    if values.get("strategy", base.strategy) != base.strategy:
        base = default_chunking(values["strategy"])
    if values.get("unit", base.unit) != base.unit:
        if "size" not in values:
            raise _invalid("size", "If you change the unit, set a size in that unit.")
        base = replace(base, overlap=0)
    resolved = replace(base, **values)
    minimum, maximum = SIZE_BOUNDS[Collection.Unit(resolved.unit)]
    if not minimum <= resolved.size <= maximum:
        raise _invalid("size", f"Must be from {minimum} to {maximum} {resolved.unit}.")
    if resolved.overlap * 2 > resolved.size:
        raise _invalid("overlap", f"Must be at most half of size ({resolved.size}).")
    if resolved.overlap_sentences and resolved.strategy in SENTENCELESS:
        raise _invalid(
            "overlap_sentences",
            f"The strategy {resolved.strategy} does not use sentences; set overlap instead.",
        )
    return resolved


def _invalid(field: str, message: str) -> InvalidInput:
    return InvalidInput(message, field=f"chunking.{field}")
