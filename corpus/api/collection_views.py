"""Endpoints and serializers of collections."""

from typing import Any, ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import generics, serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from corpus.access.principal import current_user_id
from corpus.api.fields import (
    CollectionNameField,
    QualifiedNameField,
    StrictCharField,
    StrictIntegerField,
    read_input,
)
from corpus.api.pagination import CreationPagination
from corpus.catalogue import change_collection, create_collection, delete_collection
from corpus.endpoints import Endpoint, endpoint
from corpus.errors import (
    CollectionExists,
    CollectionNotEmpty,
    CollectionNotFound,
    CollectionProtected,
    Errors,
)
from corpus.lexical import ENGLISH, LANGUAGES
from corpus.models import DEFAULT_COLLECTION, Collection, Grant
from corpus.user_quotas import read_usage


class ChunkingResponse(serializers.Serializer[Any]):
    strategy = serializers.CharField(source="chunk_strategy")
    size = serializers.IntegerField(source="chunk_size")
    overlap = serializers.IntegerField(source="chunk_overlap")
    overlap_sentences = serializers.IntegerField(source="chunk_overlap_sentences")
    unit = serializers.CharField(source="chunk_unit")


class ChunkingInput(serializers.Serializer[Any]):
    strategy = serializers.ChoiceField(Collection.Strategy.choices, required=False)
    size = StrictIntegerField(min_value=16, max_value=40_000, required=False)
    overlap = StrictIntegerField(min_value=0, max_value=20_000, required=False)
    overlap_sentences = StrictIntegerField(min_value=0, max_value=10, required=False)
    unit = serializers.ChoiceField(Collection.Unit.choices, required=False)


class CollectionInput(serializers.Serializer[Any]):
    name = CollectionNameField()
    description = StrictCharField(max_length=10_000, default="", allow_blank=True)
    embedding_model = StrictCharField(max_length=200, required=False)
    dimension = StrictIntegerField(min_value=1, max_value=4_000, required=False)
    distance = serializers.ChoiceField(Collection.Distance.choices, required=False)
    language = serializers.ChoiceField(LANGUAGES, default=ENGLISH)
    chunking = ChunkingInput(required=False)


class IndexInput(CollectionInput):
    name = distance = language = None  # type: ignore[assignment]
    index_name = CollectionNameField()


class IndexResponse(serializers.Serializer[Any]):
    index_name = serializers.CharField()
    status = serializers.ChoiceField(["created"])
    message = serializers.CharField()


class CollectionUpdate(serializers.Serializer[Any]):
    name = CollectionNameField(required=False)
    description = StrictCharField(max_length=10_000, required=False, allow_blank=True)
    chunking = ChunkingInput(required=False)


class CollectionResponse(serializers.ModelSerializer[Collection]):
    name = serializers.CharField(source="qualified_name")
    owner = serializers.CharField(
        source="owner.username",
        default=None,
        allow_null=True,
        help_text="null: owned by the administrators",
    )
    role = serializers.ChoiceField(Grant.Role.choices, help_text="your role")
    chunking = ChunkingResponse(source="*")
    document_count = serializers.IntegerField()
    chunk_count = serializers.IntegerField()

    class Meta:
        model = Collection
        fields = [
            "name", "description", "embedding_model", "dimension", "distance", "language",
            "chunking", "document_count", "chunk_count", "owner", "is_public", "role",
            "created_at", "updated_at",
        ]  # fmt: skip


class CollectionParams(serializers.Serializer[Any]):
    collection = QualifiedNameField(default=DEFAULT_COLLECTION)


class DeletionParams(serializers.Serializer[Any]):
    if_empty = serializers.BooleanField(default=False)


class Usage(serializers.Serializer[Any]):
    used = serializers.IntegerField()
    bound = serializers.IntegerField(allow_null=True, help_text="null: no limit")


class UserUsage(serializers.Serializer[Any]):
    size_bytes = Usage()
    documents = Usage()
    jobs = Usage(help_text="unfinished jobs")


class Stats(serializers.Serializer[Any]):
    total_documents = serializers.IntegerField()
    total_chunks = serializers.IntegerField()
    embedding_dimension = serializers.IntegerField()
    model_name = serializers.CharField()
    your_use = UserUsage(
        required=False, help_text="your documents, bytes and jobs; only where a limit is set"
    )


@endpoint(
    GET=Endpoint("list_collections", tag="Collections", summary="List collections"),
    POST=Endpoint(
        "create_collection",
        tag="Collections",
        summary="Create a collection",
        example={"name": "manuals", "description": "Of the machines in the hall."},
    ),
)
class CollectionsView(generics.ListAPIView[Collection]):
    """List and create collections."""

    errors: ClassVar[Errors] = {"post": [CollectionExists]}
    serializer_class = CollectionResponse
    pagination_class = CreationPagination

    def get_queryset(self) -> QuerySet[Collection]:
        return Collection.objects.with_counts().with_role().select_related("owner")

    @extend_schema(request=CollectionInput, responses={201: CollectionResponse})
    def post(self, request: Request) -> Response:
        values = read_input(CollectionInput, request.data)
        # There is a single distance.
        values.pop("distance", None)
        create_collection(**values)
        return Response(_collection_response(values["name"]), status=201)


@endpoint(
    POST=Endpoint(
        "create_index",
        tag="Index scripts",
        summary="Create an index",
        example={"index_name": "manuals"},
    )
)
class CreateView(APIView):
    """Create a collection by ``index_name``, for scripts."""

    errors: ClassVar[Errors] = {"post": [CollectionExists]}

    @extend_schema(request=IndexInput, responses={201: IndexResponse})
    def post(self, request: Request) -> Response:
        values = read_input(IndexInput, request.data)
        collection = create_collection(values.pop("index_name"), **values)
        model, dimension = collection.embedding_model, collection.dimension
        body = {
            "index_name": collection.name,
            "status": "created",
            "message": f"Embedded by {model}, {dimension} dimensions.",
        }
        return Response(IndexResponse(body).data, status=201)


@endpoint(
    GET=Endpoint("get_collection", tag="Collections", summary="Get a collection"),
    PATCH=Endpoint(
        "change_collection",
        tag="Collections",
        summary="Update a collection",
        example={"description": "Manuals."},
    ),
    DELETE=Endpoint("delete_collection", tag="Collections", summary="Delete a collection"),
)
class CollectionView(APIView):
    """Show, change and delete one collection."""

    errors: ClassVar[Errors] = {
        "get": [CollectionNotFound],
        "patch": [CollectionNotFound, CollectionExists, CollectionProtected],
        "delete": [CollectionNotFound, CollectionProtected, CollectionNotEmpty],
    }

    @extend_schema(responses={200: CollectionResponse})
    def get(self, request: Request, name: str) -> Response:
        return Response(_collection_response(name))

    @extend_schema(request=CollectionUpdate, responses={200: CollectionResponse})
    def patch(self, request: Request, name: str) -> Response:
        values = read_input(CollectionUpdate, request.data)
        changed = change_collection(name, new_name=values.pop("name", None), **values)
        return Response(_collection_response(changed.qualified_name))

    @extend_schema(parameters=[DeletionParams], responses={204: None})
    def delete(self, request: Request, name: str) -> Response:
        values = read_input(DeletionParams, request.query_params)
        delete_collection(name, if_empty=values["if_empty"])
        return Response(status=204)


def _collection_response(name: str) -> Any:
    return CollectionResponse(Collection.objects.with_counts().with_role().get_named(name)).data


@endpoint(GET=Endpoint("get_stats", tag="Documents", summary="Count documents and chunks"))
class StatsView(APIView):
    """Return the size of a collection."""

    errors: ClassVar[Errors] = {"get": [CollectionNotFound]}

    @extend_schema(parameters=[CollectionParams], responses={200: Stats})
    def get(self, request: Request) -> Response:
        values = read_input(CollectionParams, request.query_params)
        collection: Any = Collection.objects.with_counts().get_named(values["collection"])
        stats: dict[str, Any] = {
            "total_documents": collection.document_count,
            "total_chunks": collection.chunk_count,
            "embedding_dimension": collection.dimension,
            "model_name": collection.embedding_model,
        }
        if usage := read_usage(current_user_id()):
            stats["your_use"] = usage
        return Response(Stats(stats).data)
