"""Go through all promises: collection by collection, some documents at a time, then the rest."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from uuid import UUID

from corpus.invariants.checks import Violation, find_in_tables
from corpus.invariants.files import find_in_files, find_in_names
from corpus.invariants.portions import FIRST, LAST, find_in_rows, portions_of
from corpus.invariants.tables import TABLES
from corpus.invariants.texts import Quotes, find_in_texts
from corpus.invariants.words import find_in_words
from corpus.models import Collection
from corpus.postgres.snapshot import one_snapshot


@dataclass(frozen=True, slots=True)
class Promises:
    """What rooms above the corpus promise.

    Attributes:
        tables: By promise, a statement as ``find_in_tables`` takes it.
        quotes: Spans of the stored texts.
    """

    tables: Mapping[str, str] = field(default_factory=dict)
    quotes: Sequence[Quotes] = ()


@dataclass(frozen=True, slots=True)
class Place:
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
        place: Where a run would go on; None behind all collections.
        chunk_count: Chunks that it had.
        found: What it breaks.
    """

    place: Place | None
    chunk_count: int
    found: Sequence[Violation]


class Verification:
    """A run through everything, or one collection.

    Each step is one snapshot of a part of the database, so that nothing which is written meanwhile
    looks broken, and no writer waits.

    Args:
        collection: Only what is of this one; what is of none is left out, too.
        place: Where to go on.
    """

    def __init__(
        self,
        promises: Promises,
        *,
        collection: Collection | None = None,
        place: Place | None = None,
    ) -> None:
        self._promises = promises
        self._collection = collection
        self._place = place or Place(0, FIRST)

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
        rows = Collection.objects.filter(pk__gte=self._place.collection_id)
        return list(rows.order_by("pk").values_list("pk", flat=True))

    def _in_collection(self, collection_id: int) -> Iterator[Step]:
        is_begun = self._place.collection_id == collection_id
        after = self._place.after if is_begun else FIRST
        if after == LAST:
            return
        for portion in portions_of(collection_id, after=after):
            with one_snapshot():
                found = [*find_in_rows(portion), *find_in_texts(portion, self._promises.quotes)]
            if portion.up_to == LAST:
                found += find_in_words(collection_id)
            yield Step(Place(collection_id, portion.up_to), portion.chunk_count, found)

    def _rest(self) -> Iterator[Callable[[], Iterator[Violation]]]:
        key = self._collection.pk if self._collection else None
        for promise, query in {**TABLES, **self._promises.tables}.items():
            yield partial(find_in_tables, {promise: query}, collection_id=key)
        if self._collection is None:
            yield find_in_names
            yield find_in_files
