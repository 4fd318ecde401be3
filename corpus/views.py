"""The doors to what is known: parse, call, render."""

from typing import Any, ClassVar
from uuid import UUID

from django.conf import settings
from django.db.models import Count, QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiParameter, PolymorphicProxySerializer, extend_schema
from rest_framework import generics
from rest_framework.exceptions import ValidationError
from rest_framework.parsers import MultiPartParser
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.settings import api_settings
from rest_framework.views import APIView

from corpus.catalogue import (
    change_collection,
    create_collection,
    delete_collection,
    delete_document,
    delete_tag,
)
from corpus.errors import (
    CollectionExists,
    CollectionNotEmpty,
    CollectionNotFound,
    CollectionProtected,
    DuplicateDocument,
    Errors,
    PathIngestionOff,
    PathNotFound,
    UnprocessableContent,
)
from corpus.idempotency import MAX_KEY_CHARS, answered_once
from corpus.ingestion import Attributes, StoredDocument, ingest_file, ingest_text
from corpus.jobs.views import IngestFolder, JobShown, ingest_folder
from corpus.models import Chunk, Collection, Document, Tag
from corpus.pagination import ByCreation, ByName, ByOrdinal
from corpus.serializers import (
    ChunkShown,
    CollectionChange,
    CollectionChoice,
    CollectionInput,
    CollectionShown,
    DeletionChoice,
    DocumentFilter,
    DocumentShown,
    DocumentText,
    IndexInput,
    IndexMade,
    Ingested,
    IngestedInPart,
    IngestFile,
    IngestText,
    Stats,
    TagShown,
)
from corpus.tags import normalize_tags

REPLY = PolymorphicProxySerializer("IngestReply", [Ingested, IngestedInPart], None)
KEY = {"type": "string", "maxLength": MAX_KEY_CHARS}


class IngestView(APIView):
    """Take in a text, a file as multipart form data, or a folder of the server."""

    errors: ClassVar[Errors] = {
        "post": [PathIngestionOff, CollectionNotFound, PathNotFound, DuplicateDocument,
                 UnprocessableContent],
    }  # fmt: skip
    parser_classes = [*api_settings.DEFAULT_PARSER_CLASSES, MultiPartParser]  # type: ignore[list-item]

    @extend_schema(
        request=PolymorphicProxySerializer("Ingest", [IngestText, IngestFolder], None),
        parameters=[OpenApiParameter("Idempotency-Key", KEY, OpenApiParameter.HEADER)],
        responses={201: REPLY, 200: REPLY, 202: JobShown},
    )
    def post(self, request: Request) -> Response:
        form = _ingest_form(request)
        form.is_valid(raise_exception=True)
        given = form.validated_data
        return answered_once(
            request.headers.get("Idempotency-Key", ""),
            fingerprint=given,
            act=lambda: (
                ingest_folder(request, given) if "content_path" in given else _ingest(given)
            ),
        )


def _ingest_form(request: Request) -> Any:
    if not (request.content_type or "").startswith("multipart/"):
        form = IngestFolder if "content_path" in request.data else IngestText
        return form(data=request.data)
    return IngestFile(data=request.data)


def _ingest(given: dict[str, Any]) -> Response:
    collection = Collection.objects.named(given["collection"])
    attributes = Attributes(
        source_uri=given["source_uri"],
        source=given["source"],
        title=given["title"],
        tags=normalize_tags(given["tags"]),
        metadata=given["metadata"],
        user_created_at=given["created_at"],
    )
    if "file" in given:
        stored = _ingest_upload(given["file"], collection, attributes)
    else:
        stored = ingest_text(given["text"], collection=collection, attributes=attributes)
    shown = Ingested if stored.is_complete else IngestedInPart
    return Response(shown(stored).data, status=201 if stored.is_new else 200)


def _ingest_upload(upload: Any, collection: Collection, attributes: Attributes) -> StoredDocument:
    # Plain text comes in under the bound of `text` whichever way it is sent.
    is_plain = upload.content_type == "text/plain"
    return ingest_file(
        upload.read(),
        filename=upload.name or "",
        media_type=upload.content_type or "",
        collection=collection,
        attributes=attributes,
        max_chars=settings.PKB_MAX_INPUT_CHARS if is_plain else None,
    )


class CollectionsView(generics.ListAPIView[Collection]):
    """The collections."""

    errors: ClassVar[Errors] = {"post": [CollectionExists]}
    serializer_class = CollectionShown
    pagination_class = ByCreation

    def get_queryset(self) -> QuerySet[Collection]:
        return Collection.objects.counted()

    @extend_schema(request=CollectionInput, responses={201: CollectionShown})
    def post(self, request: Request) -> Response:
        form = CollectionInput(data=request.data)
        form.is_valid(raise_exception=True)
        given = form.validated_data
        create_collection(
            given["name"],
            description=given["description"],
            embedding_model=given.get("embedding_model"),
            dimension=given.get("dimension"),
            chunking=given.get("chunking"),
            language=given["language"],
        )
        return Response(_shown_collection(given["name"]), status=201)


class CreateView(APIView):
    """Make an index: a collection by the name that scripts use."""

    errors: ClassVar[Errors] = {"post": [CollectionExists]}

    @extend_schema(request=IndexInput, responses={201: IndexMade})
    def post(self, request: Request) -> Response:
        form = IndexInput(data=request.data)
        form.is_valid(raise_exception=True)
        given = dict(form.validated_data)
        made = create_collection(given.pop("index_name"), **given)
        body = {
            "index_name": made.name,
            "status": "created",
            "message": f"Embedded by {made.embedding_model}, {made.dimension} dimensions.",
        }
        return Response(IndexMade(body).data, status=201)


class CollectionView(APIView):
    """One collection."""

    errors: ClassVar[Errors] = {
        "get": [CollectionNotFound],
        "patch": [CollectionNotFound],
        "delete": [CollectionNotFound, CollectionProtected, CollectionNotEmpty],
    }

    @extend_schema(responses={200: CollectionShown})
    def get(self, request: Request, name: str) -> Response:
        return Response(_shown_collection(name))

    @extend_schema(request=CollectionChange, responses={200: CollectionShown})
    def patch(self, request: Request, name: str) -> Response:
        form = CollectionChange(data=request.data)
        form.is_valid(raise_exception=True)
        given = form.validated_data
        if given.pop("name", name) != name:
            raise ValidationError({"name": ["A collection keeps its name."]})
        change_collection(name, **given)
        return Response(_shown_collection(name))

    @extend_schema(parameters=[DeletionChoice], responses={204: None})
    def delete(self, request: Request, name: str) -> Response:
        choice = DeletionChoice(data=request.query_params)
        choice.is_valid(raise_exception=True)
        delete_collection(name, if_empty=choice.validated_data["if_empty"])
        return Response(status=204)


def _shown_collection(name: str) -> Any:
    collection = Collection.objects.counted().filter(name=name).first()
    if collection is None:
        raise CollectionNotFound(f"There is no collection {name!r}.")
    return CollectionShown(collection).data


class DocumentsView(generics.ListAPIView[Document]):
    """The documents, without their text."""

    errors: ClassVar[Errors] = {"get": [CollectionNotFound]}
    serializer_class = DocumentShown
    pagination_class = ByCreation

    def get_queryset(self) -> QuerySet[Document]:
        choice = DocumentFilter(data=self.request.query_params)
        choice.is_valid(raise_exception=True)
        given = choice.validated_data
        documents = Document.objects.listed().tagged(normalize_tags(given["tag"]))
        if "collection" in given:
            collection = Collection.objects.named(given["collection"])
            documents = documents.filter(collection=collection)
        if "q" in given:
            documents = documents.mentioning(given["q"])
        exact = {name: given[name] for name in ("status", "source") if name in given}
        return documents.filter(**exact)

    @extend_schema(parameters=[DocumentFilter])
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return super().get(request, *args, **kwargs)


class DocumentView(APIView):
    """One document."""

    @extend_schema(responses={200: DocumentShown})
    def get(self, request: Request, document_id: UUID) -> Response:
        document = get_object_or_404(Document.objects.listed(), pk=document_id)
        return Response(DocumentShown(document).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, document_id: UUID) -> Response:
        delete_document(document_id)
        return Response(status=204)


class PlainTextRenderer(BaseRenderer):
    media_type = "text/plain"
    format = "txt"
    charset = "utf-8"

    def render(self, data: Any, media_type: Any = None, context: Any = None) -> bytes:
        if "text" in data:
            return str(data["text"]).encode()
        return bytes(JSONRenderer().render(data))  # an error has the one body


class DocumentTextView(APIView):
    """The stored text that all offsets refer to."""

    renderer_classes = [JSONRenderer, PlainTextRenderer]

    @extend_schema(responses={200: DocumentText})
    def get(self, request: Request, document_id: UUID) -> Response:
        rows = Document.objects.only("id", "content_sha256", "raw_text")
        return Response(DocumentText(get_object_or_404(rows, pk=document_id)).data)


class DocumentChunksView(generics.ListAPIView[Chunk]):
    """The chunks of a document, in order."""

    serializer_class = ChunkShown
    pagination_class = ByOrdinal

    def get_queryset(self) -> QuerySet[Chunk]:
        document = get_object_or_404(Document.objects.only("id"), pk=self.kwargs["document_id"])
        return Chunk.objects.shown().filter(document=document)


class ChunkView(APIView):
    """One chunk."""

    @extend_schema(responses={200: ChunkShown})
    def get(self, request: Request, chunk_id: UUID) -> Response:
        return Response(ChunkShown(get_object_or_404(Chunk.objects.shown(), pk=chunk_id)).data)


class StatsView(APIView):
    """How much a collection holds."""

    errors: ClassVar[Errors] = {"get": [CollectionNotFound]}

    @extend_schema(parameters=[CollectionChoice], responses={200: Stats})
    def get(self, request: Request) -> Response:
        choice = CollectionChoice(data=request.query_params)
        choice.is_valid(raise_exception=True)
        collection = Collection.objects.named(choice.validated_data["collection"])
        stats = {
            "total_documents": Document.objects.stored().filter(collection=collection).count(),
            "total_chunks": collection.chunks.count(),
            "embedding_dimension": collection.dimension,
            "model_name": collection.embedding_model,
        }
        return Response(Stats(stats).data)


def _counted_tags() -> QuerySet[Tag]:
    return Tag.objects.annotate(
        document_count=Count("documents", distinct=True), chunk_count=Count("chunks", distinct=True)
    )


class TagsView(generics.ListAPIView[Tag]):
    """The tags in use."""

    serializer_class = TagShown
    pagination_class = ByName

    def get_queryset(self) -> QuerySet[Tag]:
        return _counted_tags()


class TagView(APIView):
    """One tag."""

    @extend_schema(responses={200: TagShown})
    def get(self, request: Request, name: str) -> Response:
        return Response(TagShown(get_object_or_404(_counted_tags(), name=name)).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, name: str) -> Response:
        delete_tag(name)
        return Response(status=204)
