"""Answers that are given again while nothing that decides them has changed."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

import structlog
from django.conf import settings
from django.db import connection, transaction

from corpus.access.principal import SYSTEM, acting_as, current_principal
from corpus.models import Collection, CollectionChange, Version
from qa.configuration import configuration_sha256
from qa.context import QAContext
from qa.state import QAInput
from qa.types import Answer

if TYPE_CHECKING:
    from qa.answer_question import AnsweredQuestion


# The least PKB_RETENTION_DAYS: who has answers removed is given none of before again. What is older
# goes with the next question.
MAX_AGE_S = 86_400.0


class AnswerKey(NamedTuple):
    """What decides an answer beside the content of its collection.

    Attributes:
        question: With one space for each white space.
        tags: Any of them must be on a chunk.
        k: Passages that the answer is made from.
        parts: What finds, reads, writes and proves; each is equal to itself alone, or by value.
        configuration_sha256: Of the settings and files in force.
        asker: For whom it was answered: nobody learns by its haste that another has asked it.
    """

    question: str
    collection_id: int
    tags: frozenset[str]
    k: int
    parts: tuple[object, ...]
    configuration_sha256: str
    asker: str


class _Entry(NamedTuple):
    version: Version
    answered: AnsweredQuestion
    kept_at: float


class AnswerCache:
    """The answers that were given last, up to a number; threads may share it."""

    def __init__(self) -> None:
        self._entries: OrderedDict[AnswerKey, _Entry] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def collection_ids(self) -> set[int]:
        with self._lock:
            return {key.collection_id for key in self._entries}

    def keep_only(self, versions: Mapping[int, Version]) -> None:
        """Drop what is of another version of its collection than this one, and what is too old."""
        oldest = monotonic() - MAX_AGE_S
        with self._lock:
            for key, entry in list(self._entries.items()):
                if entry.version != versions.get(key.collection_id) or entry.kept_at < oldest:
                    del self._entries[key]

    def find(self, key: AnswerKey, version: Version) -> AnsweredQuestion | None:
        """Return the answer that was made from this version."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None or entry.version != version:
                return None
            self._entries.move_to_end(key)
            return entry.answered

    def keep(
        self, key: AnswerKey, version: Version, answered: AnsweredQuestion, *, most: int
    ) -> None:
        """Keep an answer, and of all at most so many, those that were asked for last."""
        with self._lock:
            self._entries[key] = _Entry(version, answered, monotonic())
            self._entries.move_to_end(key)
            while len(self._entries) > most:
                self._entries.popitem(last=False)

    def drop(self, key: AnswerKey) -> None:
        with self._lock:
            self._entries.pop(key, None)

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()


log = structlog.get_logger(__name__)

cache = AnswerCache()

_STANDING = """
SELECT count(*) FROM unnest(%s::uuid[], %s::text[], %s::int[], %s::text[])
       AS quoted (document_id, content_sha256, start_char, quote)
  JOIN corpus_document d ON d.id = document_id AND d.content_sha256 = quoted.content_sha256
 WHERE substr(d.raw_text, start_char + 1, length(quote)) = quote
"""


class CacheSlot:
    """Where the answer to one question is, or will be, while its collection stays as it is."""

    def __init__(self, key: AnswerKey) -> None:
        self._key = key
        self._version: Version = frozenset()

    def find(self) -> AnsweredQuestion | None:
        """Return what was answered before, its quotes compared with the texts they are of.

        What is kept of collections that have changed is dropped.
        """
        # Of collections that others have asked, too.
        with acting_as(SYSTEM):
            versions = CollectionChange.objects.versions_of(
                cache.collection_ids | {self._key.collection_id}
            )
        cache.keep_only(versions)
        self._version = versions.get(self._key.collection_id, frozenset())
        found = cache.find(self._key, self._version)
        if found is None or _stands(found.answer):
            return found
        log.error("cached_answer_does_not_stand", answer_id=found.id)
        cache.drop(self._key)
        return None

    def keep(self, answered: AnsweredQuestion) -> None:
        """Keep an answer that was made since ``find``, unless the collection has changed."""
        collection_id = self._key.collection_id
        version = CollectionChange.objects.versions_of([collection_id]).get(collection_id)
        if version and version == self._version:
            cache.keep(self._key, version, answered, most=settings.PKB_ANSWER_CACHE)


def find_slot(inputs: QAInput, collection: Collection, context: QAContext) -> CacheSlot | None:
    """Return the question's place; None where an answer is to be made anew.

    A question within a conversation is another one each time. A transaction that writes sees what
    nobody else does.
    """
    is_kept = context.caches_answers and settings.PKB_ANSWER_CACHE > 0
    if not is_kept or inputs["history"] or connection.in_atomic_block:
        return None
    return CacheSlot(
        AnswerKey(
            question=inputs["question"],
            collection_id=collection.pk,
            tags=frozenset(inputs["tags"]),
            k=inputs["k"],
            parts=context.cache_key_parts,
            configuration_sha256=configuration_sha256(collection.embedding_model),
            asker=current_principal().as_setting(),
        )
    )


def clear_cached_answers(**_: Any) -> None:
    """Drop all that this process keeps, once the transaction that deletes documents is through."""
    transaction.on_commit(cache.clear)


def _stands(answer: Answer) -> bool:
    """Tell whether every quote is the span that it names of the version that it names."""
    quoted = list(answer.quoted)
    if not quoted:
        return True
    columns: list[Any] = [
        [UUID(each.passage.document_id) for each in quoted],
        [each.passage.content_sha256 for each in quoted],
        [each.start_char for each in quoted],
        [each.quote for each in quoted],
    ]
    with connection.cursor() as cursor:
        cursor.execute(_STANDING, columns)
        (standing,) = cursor.fetchone()
    return bool(standing == len(quoted))
