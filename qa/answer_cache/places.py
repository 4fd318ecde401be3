"""The place of one question in the cache: looked up before it is answered, filled after.

An answer is kept if the collection has the same version after it was made as before anything was
read for it. Versions never come back, so that all of it was read from that one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

import structlog
from django.conf import settings
from django.db import connection, transaction

from corpus.access.principal import SYSTEM, acting_as, current_principal
from corpus.models import Collection, CollectionChange, Version
from qa.answer_cache.entries import AnswerCache, AnswerKey
from qa.configuration import configuration_sha256
from qa.context import QAContext
from qa.state import QAInput
from qa.types import Answer

if TYPE_CHECKING:
    from qa.answer_question import AnsweredQuestion

log = structlog.get_logger(__name__)

cache = AnswerCache()

_STANDING = """
SELECT count(*) FROM unnest(%s::uuid[], %s::text[], %s::int[], %s::text[])
       AS quoted (document_id, content_sha256, start_char, quote)
  JOIN corpus_document d ON d.id = document_id AND d.content_sha256 = quoted.content_sha256
 WHERE substr(d.raw_text, start_char + 1, length(quote)) = quote
"""


class AnswerPlace:
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


def find_place(inputs: QAInput, collection: Collection, context: QAContext) -> AnswerPlace | None:
    """Return the question's place; None where an answer is to be made anew.

    A question within a conversation is another one each time. A transaction that writes sees what
    nobody else does.
    """
    is_kept = context.keeps_answers and settings.PKB_ANSWER_CACHE > 0
    if not is_kept or inputs["history"] or connection.in_atomic_block:
        return None
    return AnswerPlace(
        AnswerKey(
            question=inputs["question"],
            collection_id=collection.pk,
            tags=frozenset(inputs["tags"]),
            k=inputs["k"],
            parts=context.parts,
            configuration_sha256=configuration_sha256(collection.embedding_model),
            asker=current_principal().as_setting(),
        )
    )


def forget_answers(**_: Any) -> None:
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
