"""Endpoints and serializers of documents and chunks."""

from typing import Any, ClassVar
from uuid import UUID

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import generics, serializers
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from corpus.api.fields import QualifiedNameField, StrictCharField, TagListField, read_input
from corpus.api.pagination import CreationPagination, OrdinalPagination
from corpus.catalogue import delete_document
from corpus.endpoints import Endpoint, endpoint
from corpus.errors import CollectionNotFound, Errors
from corpus.models import Chunk, Collection, Document
from corpus.roots.shown_paths import shown_path, shown_uri


class DocumentResponse(serializers.ModelSerializer[Document]):
    source_uri = serializers.SerializerMethodField()
    file_path = serializers.SerializerMethodField()
    collection = serializers.CharField(source="collection.qualified_name")
    tags: Any = serializers.SlugRelatedField(slug_field="name", many=True, read_only=True)
    metadata = serializers.DictField()

    class Meta:
        model = Document
        fields = [
            "id", "collection", "title", "source", "source_uri", "media_type", "content_sha256",
            "status", "error", "word_count", "char_count", "chunk_count", "page_count",
            "size_bytes", "tags", "metadata", "chapter", "section", "file_path", "file_hash",
            "last_modified", "user_created_at", "ingested_at", "created_at", "updated_at",
        ]  # fmt: skip

    def get_source_uri(self, document: Document) -> str:
        return shown_uri(document.source_uri, file_path=document.file_path)

    def get_file_path(self, document: Document) -> str:
        return shown_path(document.file_path)


class DocumentText(serializers.Serializer[Any]):
    document_id = serializers.UUIDField(source="id")
    content_sha256 = serializers.CharField()
    text = serializers.CharField()


class ChunkResponse(serializers.ModelSerializer[Chunk]):
    document_id = serializers.UUIDField()
    collection = serializers.CharField(source="collection.qualified_name")
    preview = serializers.CharField(source="text_preview")
    heading_path = serializers.ListField(child=serializers.CharField())
    heading_text = serializers.CharField()
    tags: Any = serializers.SlugRelatedField(slug_field="name", many=True, read_only=True)
    metadata = serializers.DictField()

    class Meta:
        model = Chunk
        fields = [
            "id", "document_id", "collection", "ordinal", "text", "preview", "start_char",
            "end_char", "heading_path", "heading_level", "heading_text", "page", "token_count",
            "chunk_sha256", "tags", "metadata", "created_at",
        ]  # fmt: skip


class DocumentFilter(serializers.Serializer[Any]):
    collection = QualifiedNameField(required=False)
    tag = TagListField(default=tuple)
    status = serializers.ChoiceField(Document.Status.choices, required=False)
    source = StrictCharField(max_length=100, required=False)  # type: ignore[assignment]
    q = StrictCharField(max_length=1_000, required=False)


@endpoint(GET=Endpoint("list_documents", tag="Documents", summary="List documents"))
@extend_schema_view(get=extend_schema(parameters=[DocumentFilter]))
class DocumentsView(generics.ListAPIView[Document]):
    """List the documents, without their text."""

    errors: ClassVar[Errors] = {"get": [CollectionNotFound]}
    serializer_class = DocumentResponse
    pagination_class = CreationPagination

    def get_queryset(self) -> QuerySet[Document]:
        values = read_input(DocumentFilter, self.request.query_params)
        documents = Document.objects.listed().tagged(values["tag"])
        if "collection" in values:
            collection = Collection.objects.get_named(values["collection"])
            documents = documents.filter(collection=collection)
        if "q" in values:
            documents = documents.mentioning(values["q"])
        exact = {name: values[name] for name in ("status", "source") if name in values}
        return documents.filter(**exact)


@endpoint(
    GET=Endpoint("get_document", tag="Documents", summary="Get a document"),
    DELETE=Endpoint("delete_document", tag="Documents", summary="Delete a document"),
)
class DocumentView(generics.RetrieveAPIView[Document]):
    """Show and delete one document."""

    queryset = Document.objects.listed()
    serializer_class = DocumentResponse
    lookup_url_kwarg = "document_id"

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


@endpoint(GET=Endpoint("get_text", tag="Documents", summary="Get a document's text"))
class DocumentTextView(generics.RetrieveAPIView[Document]):
    """Return the stored text that all offsets refer to."""

    queryset = Document.objects.with_text().only("id", "content_sha256")
    renderer_classes = [JSONRenderer, PlainTextRenderer]
    serializer_class = DocumentText
    lookup_url_kwarg = "document_id"


@endpoint(GET=Endpoint("list_chunks", tag="Documents", summary="List a document's chunks"))
class DocumentChunksView(generics.ListAPIView[Chunk]):
    """List the chunks of a document, in order."""

    serializer_class = ChunkResponse
    pagination_class = OrdinalPagination

    def get_queryset(self) -> QuerySet[Chunk]:
        document = get_object_or_404(Document.objects.only("id"), pk=self.kwargs["document_id"])
        return Chunk.objects.shown().filter(document=document)


@endpoint(GET=Endpoint("get_chunk", tag="Documents", summary="Get a chunk"))
class ChunkView(generics.RetrieveAPIView[Chunk]):
    """Return one chunk."""

    queryset = Chunk.objects.shown()
    serializer_class = ChunkResponse
    lookup_url_kwarg = "chunk_id"
