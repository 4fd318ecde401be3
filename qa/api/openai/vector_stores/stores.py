"""List collections as vector stores, and search them by several queries."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, zip_longest
from typing import Any

from django.db.models import Count, Q, Sum
from django.db.models.functions import Coalesce

from corpus.filters import Filter
from corpus.models import Collection, Document
from corpus.models.collection import CollectionQuerySet
from qa.api.openai.chat_answers import PREFIX
from qa.context import build_context
from qa.search_passages import search_passages
from qa.types import Passage, Query

_IS_STORED = ~Q(documents__content_sha256="")
_HAS_FAILED = Q(documents__status=Document.Status.FAILED) & ~_IS_STORED


def counted_stores() -> CollectionQuerySet:
    """Return the collections by name, with their document counts and sizes."""
    return (
        Collection.objects.select_related("owner")
        .annotate(
            total_count=Count("documents"),
            completed_count=Count("documents", filter=_IS_STORED),
            failed_count=Count("documents", filter=_HAS_FAILED),
            size_bytes=Coalesce(Sum("documents__size_bytes"), 0),
        )
        .order_by("name")
    )


def find_store(key: str) -> Collection:
    """Return the collection named ``key``, with or without ``pkb/``.

    Raises:
        CollectionNotFound: There is no collection of this name.
    """
    return counted_stores().get_named(key.removeprefix(PREFIX))


def show_store(store: Any) -> dict[str, Any]:
    pending = store.total_count - store.completed_count - store.failed_count
    return {
        "id": store.qualified_name,
        "object": "vector_store",
        "created_at": int(store.created_at.timestamp()),
        "name": store.qualified_name,
        "status": "completed",
        "usage_bytes": store.size_bytes,
        "file_counts": {
            "completed": store.completed_count,
            "failed": store.failed_count,
            "in_progress": pending,
            "cancelled": 0,
            "total": store.total_count,
        },
        "metadata": {"embedding_model": store.embedding_model},
    }


def search_store(
    queries: Sequence[str],
    *,
    collection: str,
    limit: int,
    filters: Filter | None,
    threshold: float,
    rerank: bool,
) -> list[Passage]:
    """Return the best passages of all queries, each once.

    Results are merged by rank, since scores of several queries do not compare. A passage's
    similarity is its highest to any query.

    Raises:
        CollectionNotFound: There is no collection of this name.
        BackendError: A model failed.
    """
    lists = [
        search_passages(
            Query(query, collection=collection, k=limit, filters=filters),
            mode="hybrid",
            threshold=threshold,
            rerank=rerank,
            context=build_context(),
        ).results
        for query in queries
    ]
    return list(_merge(lists))[:limit]


def _merge(lists: Sequence[Sequence[Passage]]) -> Iterator[Passage]:
    similarity: dict[str, float] = {}
    for passage in chain.from_iterable(lists):
        known = similarity.get(passage.chunk_id, 0.0)
        similarity[passage.chunk_id] = max(known, passage.similarity)
    for passage in chain.from_iterable(zip_longest(*lists)):
        if passage is not None and passage.chunk_id in similarity:
            yield replace(passage, similarity=similarity.pop(passage.chunk_id))


def show_passage(passage: Passage) -> dict[str, Any]:
    attributes = {
        key: value
        for key, value in passage.metadata.items()
        if isinstance(value, str | int | float)
    }
    return {
        "file_id": passage.document_id,
        "filename": passage.name,
        "score": passage.similarity,
        "attributes": attributes,
        "content": [{"type": "text", "text": passage.text}],
        "chunk_id": passage.chunk_id,
        "start_char": passage.start_char,
        "end_char": passage.end_char,
    }
