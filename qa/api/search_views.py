"""Endpoints that search for passages without answering."""

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from corpus.access.principal import Scope
from corpus.api.fields import (
    AskedNameField,
    FilterField,
    QualifiedNameField,
    StrictBooleanField,
    StrictCharField,
    StrictFloatField,
    StrictIntegerField,
    TagListField,
    read_input,
)
from corpus.api.filter_notice import filter_notice
from corpus.endpoints import EXAMPLE_QUESTION, Cost, Endpoint, endpoint
from corpus.errors import CollectionNotFound, Errors
from corpus.models import ALL_COLLECTIONS, DEFAULT_COLLECTION, Collection
from qa.answer_record import CorrectionShown
from qa.context import build_context
from qa.search_passages import search_passages
from qa.types import Query


class SearchInput(serializers.Serializer[Any]):
    query = StrictCharField(max_length=1_000)
    mode = serializers.ChoiceField(["hybrid", "semantic", "lexical"], default="hybrid")
    top_k = StrictIntegerField(min_value=1, max_value=50, default=5)
    similarity_threshold = StrictFloatField(min_value=0, max_value=1, default=0.0)
    collection = AskedNameField(
        default=DEFAULT_COLLECTION, help_text="`*` searches all collections"
    )
    tags = TagListField(default=tuple)
    filters = FilterField(default=None, allow_null=True)
    rerank = StrictBooleanField(
        required=False, help_text="default: true for mode `hybrid`, else false"
    )


class IndexQuery(serializers.Serializer[Any]):
    query = StrictCharField(max_length=1_000)
    index_name = QualifiedNameField()
    top_k = StrictIntegerField(min_value=1, max_value=100, default=5)


class IndexResult(serializers.Serializer[Any]):
    id = serializers.UUIDField(source="chunk_id", help_text="id of the chunk")
    content = serializers.CharField(source="text")
    source_document = serializers.CharField(source="source")
    score = serializers.FloatField()


class IndexFound(serializers.Serializer[Any]):
    results = IndexResult(many=True)
    query = serializers.CharField()
    index_name = serializers.CharField()


class SearchResult(serializers.Serializer[Any]):
    chunk_id = serializers.UUIDField()
    document_id = serializers.UUIDField()
    document_name = serializers.CharField(source="name")
    content = serializers.CharField(source="text")
    score = serializers.FloatField()
    similarity_score = serializers.FloatField(source="similarity")
    metadata = serializers.DictField()
    start_char = serializers.IntegerField()
    end_char = serializers.IntegerField()
    heading_path = serializers.ListField(child=serializers.CharField())
    collection = serializers.CharField(
        required=False, help_text="its collection, if all were searched"
    )


class SearchOutput(serializers.Serializer[Any]):
    query = serializers.CharField()
    corrections = CorrectionShown(many=True, required=False, help_text="absent if there are none")
    results = SearchResult(many=True)
    total_results = serializers.IntegerField()
    embedding_time_ms = serializers.FloatField()
    search_time_ms = serializers.FloatField()


@endpoint(
    POST=Endpoint(
        "search",
        tag="Search",
        summary="Search passages",
        scope=Scope.READ,
        cost=Cost.SEARCH,
        example={
            "query": "skew between training and serving",
            "top_k": 5,
            "filters": {"type": "gte", "key": "word_count", "value": 100},
        },
    )
)
class SearchView(APIView):
    """Search one collection, or all, for passages."""

    errors: ClassVar[Errors] = {"post": [CollectionNotFound]}

    @extend_schema(request=SearchInput, responses={200: SearchOutput})
    def post(self, request: Request) -> Response:
        fields = read_input(SearchInput, request.data)
        query = Query(
            fields["query"],
            collection=fields["collection"],
            tags=fields["tags"],
            k=fields["top_k"],
            filters=fields["filters"],
        )
        passages = search_passages(
            query,
            mode=fields["mode"],
            threshold=fields["similarity_threshold"],
            rerank=fields.get("rerank", fields["mode"] == "hybrid"),
            context=build_context(),
        )
        body = SearchOutput(passages).data
        if query.collection == ALL_COLLECTIONS:
            names = Collection.objects.names()
            for result, passage in zip(body["results"], passages.results, strict=True):
                result["collection"] = names.get(passage.collection_id)
        if not body["corrections"]:
            del body["corrections"]
        found_nothing = not passages.results
        notice = filter_notice(query.filters, query.collection) if found_nothing else None
        return Response(body, headers=notice)


@endpoint(
    POST=Endpoint(
        "query",
        tag="Index scripts",
        summary="Search an index",
        scope=Scope.READ,
        cost=Cost.SEARCH,
        example={"query": EXAMPLE_QUESTION, "index_name": "default"},
    )
)
class IndexQueryView(APIView):
    """Search one index and rerank the results."""

    errors: ClassVar[Errors] = {"post": [CollectionNotFound]}

    @extend_schema(request=IndexQuery, responses={200: IndexFound})
    def post(self, request: Request) -> Response:
        fields = read_input(IndexQuery, request.data)
        matches = search_passages(
            Query(fields["query"], collection=fields["index_name"], k=fields["top_k"]),
            context=build_context(),
        )
        body = {
            "results": matches.results,
            "query": matches.query,
            "index_name": fields["index_name"],
        }
        return Response(IndexFound(body).data)
