"""Endpoints that list and search collections as vector stores.

Fields without effect are left out of the bodies.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, zip_longest
from typing import Any, ClassVar

from django.db.models import Count, F, Q, Sum, Value
from django.db.models.functions import Coalesce
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from corpus.access.principal import Scope
from corpus.api.fields import (
    FilterField,
    StrictBooleanField,
    StrictCharField,
    StrictFloatField,
    StrictIntegerField,
    read_input,
)
from corpus.endpoints import Cost, Endpoint, endpoint
from corpus.errors import CollectionNotFound, Errors
from corpus.filters import Filter
from corpus.models import Collection, Document
from corpus.models.collection import CollectionQuerySet
from qa.api.openai.base_view import OpenAIView
from qa.api.openai.fields import Constant, UnixTimeField
from qa.api.openai.served_models import PREFIX
from qa.context import build_context
from qa.search_passages import search_passages
from qa.types import Passage, Query

MAX_QUERY_CHARS = 1_000
# Each is a search of its own; admission counts one for all.
MAX_QUERIES = 5

_QUERY = {"type": "string", "minLength": 1, "maxLength": MAX_QUERY_CHARS, "pattern": r"\S"}
_QUERIES = {"type": "array", "minItems": 1, "maxItems": MAX_QUERIES, "items": _QUERY}
_SCALAR = {"oneOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"}]}


@extend_schema_field({"oneOf": [_QUERY, _QUERIES]})
class Queries(serializers.Field[list[str], Any, Any, Any]):
    """One query, or several that are searched in parallel."""

    default_error_messages = {"shape": f"A query, or a list of 1 to {MAX_QUERIES} queries."}

    def to_internal_value(self, data: Any) -> list[str]:
        queries = [data] if isinstance(data, str) else data
        if not isinstance(queries, list) or not 1 <= len(queries) <= MAX_QUERIES:
            self.fail("shape")
        query = StrictCharField(max_length=MAX_QUERY_CHARS)
        return [query.run_validation(each) for each in queries]


class RankingOptions(serializers.Serializer[Any]):
    ranker = StrictCharField(max_length=100, default="auto", help_text="`none`: do not rerank")
    score_threshold = StrictFloatField(min_value=0, max_value=1, default=0.0)


class StoreSearchInput(serializers.Serializer[Any]):
    query = Queries()
    max_num_results = StrictIntegerField(min_value=1, max_value=50, default=10)
    filters = FilterField(default=None, allow_null=True)
    ranking_options = RankingOptions(required=False, allow_null=True)
    rewrite_query = StrictBooleanField(
        default=False, allow_null=True, help_text="accepted and ignored"
    )


class FoundContent(serializers.Serializer[Any]):
    type = Constant("text")
    text = serializers.CharField()


@extend_schema_field({"type": "object", "additionalProperties": _SCALAR})
class Attributes(serializers.DictField):
    """The scalar entries of a document's metadata."""

    def to_representation(self, value: dict[str, Any]) -> dict[str, Any]:
        return {key: each for key, each in value.items() if isinstance(each, str | int | float)}


class StoreResult(serializers.Serializer[Any]):
    file_id = serializers.UUIDField(source="document_id", help_text="the document's id")
    filename = serializers.CharField(source="name")
    score = serializers.FloatField(
        source="similarity", help_text="cosine similarity to the query, in [0, 1]"
    )
    attributes = Attributes(source="metadata")
    content = serializers.SerializerMethodField()
    chunk_id = serializers.UUIDField()
    start_char = serializers.IntegerField(help_text="offset in the document's text")
    end_char = serializers.IntegerField()

    @extend_schema_field(FoundContent(many=True))
    def get_content(self, passage: Passage) -> list[dict[str, str]]:
        return [{"type": "text", "text": passage.text}]


class StoreResults(serializers.Serializer[Any]):
    """Passages in reranked order, which `score` does not show."""

    object = Constant("vector_store.search_results.page")
    search_query = serializers.ListField(child=serializers.CharField())
    data = StoreResult(many=True)  # type: ignore[assignment]
    has_more = serializers.BooleanField()
    next_page = serializers.CharField(allow_null=True)


class FileCounts(serializers.Serializer[Any]):
    completed = serializers.IntegerField(source="completed_count")
    failed = serializers.IntegerField(source="failed_count")
    in_progress = serializers.IntegerField(source="pending_count")
    cancelled = serializers.IntegerField(source="cancelled_count")
    total = serializers.IntegerField(source="total_count")


class StoreShown(serializers.Serializer[Any]):
    id = serializers.CharField(source="qualified_name", help_text="the collection's name")
    object = Constant("vector_store")
    created_at = UnixTimeField()
    name = serializers.CharField(source="qualified_name")
    status = Constant("completed")
    usage_bytes = serializers.IntegerField(
        source="size_bytes", help_text="total size of the original files and texts"
    )
    file_counts = FileCounts(source="*")
    metadata = serializers.SerializerMethodField()

    @extend_schema_field(serializers.DictField(child=serializers.CharField()))
    def get_metadata(self, store: Collection) -> dict[str, str]:
        return {"embedding_model": store.embedding_model}


class StoreList(serializers.Serializer[Any]):
    object = Constant("list")
    data = StoreShown(many=True)  # type: ignore[assignment]
    first_id = serializers.CharField(allow_null=True)
    last_id = serializers.CharField(allow_null=True)
    has_more = serializers.BooleanField()


_IS_STORED = ~Q(documents__content_sha256="")
_HAS_FAILED = Q(documents__status=Document.Status.FAILED) & ~_IS_STORED


def _counted_stores() -> CollectionQuerySet:
    """Return the collections by name, with their document counts and sizes."""
    return (
        Collection.objects.select_related("owner")
        .annotate(
            total_count=Count("documents"),
            completed_count=Count("documents", filter=_IS_STORED),
            failed_count=Count("documents", filter=_HAS_FAILED),
            pending_count=F("total_count") - F("completed_count") - F("failed_count"),
            cancelled_count=Value(0),
            size_bytes=Coalesce(Sum("documents__size_bytes"), 0),
        )
        .order_by("name")
    )


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
            threshold=threshold,
            rerank=rerank,
            context=build_context(),
        ).results
        for query in queries
    ]
    best: dict[str, Passage] = {}
    for passage in filter(None, chain.from_iterable(zip_longest(*lists))):
        known = best.get(passage.chunk_id, passage)
        similarity = max(known.similarity, passage.similarity)
        best[passage.chunk_id] = replace(known, similarity=similarity)
    return list(best.values())[:limit]


@endpoint(
    GET=Endpoint("list_vector_stores", tag="OpenAI", summary="List collections as vector stores")
)
class StoresView(OpenAIView):
    """List all collections as vector stores."""

    @extend_schema(responses={200: StoreList})
    def get(self, request: Request) -> Response:
        stores = list(_counted_stores())
        ids = [each.qualified_name for each in stores] or (None,)
        body = {"data": stores, "first_id": ids[0], "last_id": ids[-1], "has_more": False}
        return Response(StoreList(body).data)


@endpoint(
    GET=Endpoint("get_vector_store", tag="OpenAI", summary="Get a collection as a vector store")
)
class StoreView(OpenAIView):
    """Return one collection as a vector store."""

    errors: ClassVar[Errors] = {"get": [CollectionNotFound]}

    @extend_schema(responses={200: StoreShown})
    def get(self, request: Request, store_id: str) -> Response:
        store = _counted_stores().get_named(store_id.removeprefix(PREFIX))
        return Response(StoreShown(store).data)


@endpoint(
    POST=Endpoint(
        "search_vector_store",
        tag="OpenAI",
        summary="Search a collection",
        scope=Scope.READ,
        cost=Cost.SEARCH,
        example={"query": "skew between training and serving", "max_num_results": 5},
    )
)
class StoreSearchView(OpenAIView):
    """Search a collection for passages without answering."""

    errors: ClassVar[Errors] = {"post": [CollectionNotFound]}

    @extend_schema(request=StoreSearchInput, responses={200: StoreResults})
    def post(self, request: Request, store_id: str) -> Response:
        fields = read_input(StoreSearchInput, request.data)
        ranking = fields.get("ranking_options") or {}
        passages = search_store(
            fields["query"],
            collection=Collection.objects.get_named(store_id.removeprefix(PREFIX)).qualified_name,
            limit=fields["max_num_results"],
            filters=fields["filters"],
            threshold=ranking.get("score_threshold", 0.0),
            rerank=ranking.get("ranker") != "none",
        )
        body = {"search_query": fields["query"], "data": passages}
        return Response(StoreResults({**body, "has_more": False, "next_page": None}).data)
