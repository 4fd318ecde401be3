"""Check all invariants: the collections in batches of documents, then the other tables."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from uuid import UUID

from corpus.invariants.batches import FIRST, LAST, batches_of, find_in_rows
from corpus.invariants.document_checks import Violation, find_in_tables
from corpus.invariants.files import find_in_files, find_in_names
from corpus.invariants.table_checks import TABLES
from corpus.invariants.texts import Quotes, find_in_texts
from corpus.invariants.word_checks import find_in_words
from corpus.models import Collection
from corpus.postgres.snapshot import one_snapshot


@dataclass(frozen=True, slots=True)
class Invariants:
    """Invariants that other apps add.

    Attributes:
        tables: Statements by invariant, for ``find_in_tables``.
        quotes: Spans of the stored texts.
    """

    tables: Mapping[str, str] = field(default_factory=dict)
    quotes: Sequence[Quotes] = ()


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The progress of a run; everything before it is checked.

    Attributes:
        collection_id: Collections are checked in the order of their ids.
        after: Last checked document of the collection; after the last, its words are checked too.
    """

    collection_id: int
    after: UUID


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a run.

    Attributes:
        checkpoint: Where to resume after it; None after all collections.
        chunk_count: Number of checked chunks.
        found: Violations.
    """

    checkpoint: Checkpoint | None
    chunk_count: int
    found: Sequence[Violation]


class Verification:
    """Check everything, or one collection.

    Each step reads a part of the database in one snapshot, so that concurrent writes do not look
    like violations and writers do not wait.

    Args:
        collection: Check only this collection.
        checkpoint: Where to resume.
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
        """Yield each step after it is done."""
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
