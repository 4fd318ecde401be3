"""Check all invariants: the collections in batches of documents, then the other tables."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from uuid import UUID

from corpus.invariants.batches import FIRST, LAST, batches_of, find_in_rows
from corpus.invariants.checks import Violation, find_in_tables
from corpus.invariants.files import find_in_files, find_in_names
from corpus.invariants.tables import TABLES
from corpus.invariants.texts import Quotes, find_in_texts
from corpus.invariants.words import find_in_words
from corpus.models import Collection
from corpus.postgres.snapshot import one_snapshot


@dataclass(frozen=True, slots=True)
class Invariants:
    """Invariants that other apps add.

    Attributes:
        tables: By invariant, a statement as ``find_in_tables`` takes it.
        quotes: Spans of the stored texts.
    """

    tables: Mapping[str, str] = field(default_factory=dict)
    quotes: Sequence[Quotes] = ()


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """How far a run has come: all before it is checked.

    Attributes:
        collection_id: Collections are taken in the order of their ids.
        after: Of that one, the documents up to this id are; after the last its words as well.
    """

    collection_id: int
    after: UUID


@dataclass(frozen=True, slots=True)
class Step:
    """What was just checked.

    Attributes:
        checkpoint: Where a run would go on; None behind all collections.
        chunk_count: Chunks that it had.
        found: What it breaks.
    """

    checkpoint: Checkpoint | None
    chunk_count: int
    found: Sequence[Violation]


class Verification:
    """A run through everything, or one collection.

    Each step is one snapshot of a part of the database, so that nothing which is written meanwhile
    looks broken, and no writer waits.

    Args:
        collection: Only what is of this one; what is of none is left out, too.
        checkpoint: Where to go on.
    """

    def __init__(
        self,
        invariants: Invariants,
        *,
        collection: Collection | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> None:
        self._invariants = invariants
        self._collection = collection
        self._checkpoint = checkpoint or Checkpoint(0, FIRST)

    def run(self) -> Iterator[Violation]:
        for step in self.steps():
            yield from step.found

    def steps(self) -> Iterator[Step]:
        """Yield each step when it is done."""
        for collection_id in self._collection_ids():
            yield from self._in_collection(collection_id)
        for find in self._rest():
            yield Step(None, 0, list(find()))

    def _collection_ids(self) -> list[int]:
        if self._collection is not None:
            return [self._collection.pk]
        rows = Collection.objects.filter(pk__gte=self._checkpoint.collection_id)
        return list(rows.order_by("pk").values_list("pk", flat=True))

    def _in_collection(self, collection_id: int) -> Iterator[Step]:
        is_begun = self._checkpoint.collection_id == collection_id
        after = self._checkpoint.after if is_begun else FIRST
        if after == LAST:
            return
        for batch in batches_of(collection_id, after=after):
            with one_snapshot():
                found = [*find_in_rows(batch), *find_in_texts(batch, self._invariants.quotes)]
            if batch.up_to == LAST:
                found += find_in_words(collection_id)
            yield Step(Checkpoint(collection_id, batch.up_to), batch.chunk_count, found)

    def _rest(self) -> Iterator[Callable[[], Iterator[Violation]]]:
        key = self._collection.pk if self._collection else None
        for invariant, query in {**TABLES, **self._invariants.tables}.items():
            yield partial(find_in_tables, {invariant: query}, collection_id=key)
        if self._collection is None:
            yield find_in_names
            yield find_in_files
