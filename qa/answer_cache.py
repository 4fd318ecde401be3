"""Cache of answers, valid while documents and settings are unchanged."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from threading import Lock
from time import monotonic
from typing import Any, NamedTuple
from uuid import UUID

import structlog
from django.conf import settings
from django.db import connection, transaction

from corpus.access.principal import SYSTEM, acting_as, current_principal
from corpus.models import Collection, CollectionChange, Version
from qa.configuration_hash import configuration_sha256
from qa.context import QAContext
from qa.types import Answer, AnsweredQuestion, QAInput

# The smallest PKB_RETENTION_DAYS, so that no answer outlives its retention in the cache. Older
# entries are dropped at the next question.
MAX_AGE_S = 86_400.0


class AnswerKey(NamedTuple):
    """Everything that decides an answer, except the content of its collections.

    Attributes:
        question: With white space normalized.
        tags: A chunk must have any of them.
        document: SHA-256 of the only document asked, or empty.
        k: Number of passages that the answer is made from.
        components: Retriever, reader, answerer and verifier; compared by identity or by value.
        configuration_sha256: Of the settings and files in force.
        principal: Whom it was answered for; timing must not reveal what others have asked.
    """

    question: str
    collection_ids: tuple[int, ...]
    tags: frozenset[str]
    document: str
    k: int
    components: tuple[object, ...]
    configuration_sha256: str
    principal: str


def join_versions(key: AnswerKey, versions: Mapping[int, Version]) -> Version:
    """Return what the versions of the asked collections are together."""
    return Version().union(*(versions.get(each, Version()) for each in key.collection_ids))


class _Entry(NamedTuple):
    version: Version
    answered: AnsweredQuestion
    stored_at: float


class AnswerCache:
    """Least-recently-used cache of answers; safe to share between threads."""

    def __init__(self) -> None:
        self._entries: OrderedDict[AnswerKey, _Entry] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def collection_ids(self) -> set[int]:
        with self._lock:
            return {each for key in self._entries for each in key.collection_ids}

    def keep_only(self, versions: Mapping[int, Version]) -> None:
        """Drop expired entries and those of other versions of their collections."""
        oldest = monotonic() - MAX_AGE_S
        with self._lock:
            for key, entry in list(self._entries.items()):
                version = join_versions(key, versions)
                if entry.version != version or entry.stored_at < oldest:
                    del self._entries[key]

    def get(self, key: AnswerKey, version: Version) -> AnsweredQuestion | None:
        """Return the answer made from this version, or None."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None or entry.version != version:
                return None
            self._entries.move_to_end(key)
            return entry.answered

    def set(
        self, key: AnswerKey, version: Version, answered: AnsweredQuestion, *, max_entries: int
    ) -> None:
        """Store an answer and evict the least recently used beyond ``max_entries``."""
        with self._lock:
            self._entries[key] = _Entry(version, answered, monotonic())
            self._entries.move_to_end(key)
            while len(self._entries) > max_entries:
                self._entries.popitem(last=False)

    def drop(self, key: AnswerKey) -> None:
        with self._lock:
            self._entries.pop(key, None)

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()


log = structlog.get_logger(__name__)

cache = AnswerCache()

_COUNT_UNCHANGED = """
SELECT count(*) FROM unnest(%s::uuid[], %s::text[], %s::int[], %s::text[])
       AS quoted (document_id, content_sha256, start_char, quote)
  JOIN corpus_document d ON d.id = document_id AND d.content_sha256 = quoted.content_sha256
  JOIN corpus_documentcontent t USING (document_id)
 WHERE substr(t.text, start_char + 1, length(quote)) = quote
"""


class CacheSlot:
    """The cache entry of one question, valid while its collections stay unchanged."""

    def __init__(self, key: AnswerKey) -> None:
        self._key = key
        self._version: Version = frozenset()

    def get(self) -> AnsweredQuestion | None:
        """Return the cached answer if all its quotes still equal the stored texts.

        Entries of collections that have changed are dropped.
        """
        # Also the collections that other users have asked.
        with acting_as(SYSTEM):
            versions = CollectionChange.objects.versions_of(
                cache.collection_ids.union(self._key.collection_ids)
            )
        cache.keep_only(versions)
        self._version = join_versions(self._key, versions)
        cached = cache.get(self._key, self._version)
        if cached is None or _quotes_are_unchanged(cached.answer):
            return cached
        log.error("cached_answer_does_not_stand", answer_id=cached.id)
        cache.drop(self._key)
        return None

    def set(self, answered: AnsweredQuestion) -> None:
        """Store an answer made since ``get``, unless a collection has changed."""
        versions = CollectionChange.objects.versions_of(self._key.collection_ids)
        version = join_versions(self._key, versions)
        if version and version == self._version:
            cache.set(self._key, version, answered, max_entries=settings.PKB_ANSWER_CACHE)


def find_slot(
    inputs: QAInput, collections: Sequence[Collection], context: QAContext
) -> CacheSlot | None:
    """Return the question's cache slot; None if it must not be cached.

    Questions in a conversation are not cached, nor those within a transaction, which may see
    uncommitted data.
    """
    is_cached = context.caches_answers and settings.PKB_ANSWER_CACHE > 0
    if not is_cached or inputs["history"] or connection.in_atomic_block:
        return None
    return CacheSlot(
        AnswerKey(
            question=inputs["question"],
            collection_ids=tuple(each.pk for each in collections),
            tags=frozenset(inputs["tags"]),
            document=inputs.get("document", ""),
            k=inputs["k"],
            components=context.cache_key_parts,
            configuration_sha256=configuration_sha256(collections[0].embedding_model),
            principal=current_principal().as_setting(),
        )
    )


def clear_cached_answers(**_: Any) -> None:
    """Clear the cache once the transaction that deletes documents has committed."""
    transaction.on_commit(cache.clear)


def _quotes_are_unchanged(answer: Answer) -> bool:
    """Return whether every quote still equals its span of its document version."""
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
        cursor.execute(_COUNT_UNCHANGED, columns)
        (unchanged,) = cursor.fetchone()
    return bool(unchanged == len(quoted))
