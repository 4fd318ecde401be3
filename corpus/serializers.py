from typing import Any

from rest_framework import serializers

from corpus.fields import (
    CollectionName,
    JsonObject,
    RawText,
    TagList,
    Text,
    Whole,
    ZonedDateTime,
)
from corpus.languages import ENGLISH, LANGUAGES
from corpus.models import DEFAULT_COLLECTION, Chunk, Collection, Document


class _DocumentAttributes(serializers.Serializer[Any]):
    tags = TagList(default=list)
    source = Text(max_length=100, default="", allow_blank=True)  # type: ignore[assignment]
    source_uri = Text(max_length=2048, default="", allow_blank=True)
    title = Text(max_length=512, default="", allow_blank=True)
    created_at = ZonedDateTime(default=None, allow_null=True)
    collection = CollectionName(default=DEFAULT_COLLECTION)
    metadata = JsonObject(default=dict)


class IngestText(_DocumentAttributes):
    text = RawText()


class IngestFile(_DocumentAttributes):
    file = serializers.FileField(allow_empty_file=True)
    metadata = serializers.JSONField(default=dict)  # type: ignore[assignment]

    def validate_metadata(self, value: Any) -> Any:
        return JsonObject().run_validation(value)


class Ingested(serializers.Serializer[Any]):
    document_id = serializers.UUIDField()
    chunk_ids = serializers.ListField(child=serializers.UUIDField())
    chunk_count = serializers.IntegerField()
    tags = serializers.ListField(child=serializers.CharField())
    collection = serializers.CharField()


class IngestedInPart(Ingested):
    """Some chunks have no vector yet; a job brings them."""

    embedded_count = serializers.IntegerField()
    status = serializers.SerializerMethodField()

    def get_status(self, stored: Any) -> str:
        return Document.Status.PROCESSING.value


class ChunkingShown(serializers.Serializer[Any]):
    strategy = serializers.CharField(source="chunk_strategy")
    size = serializers.IntegerField(source="chunk_size")
    overlap = serializers.IntegerField(source="chunk_overlap")
    overlap_sentences = serializers.IntegerField(source="chunk_overlap_sentences")
    unit = serializers.CharField(source="chunk_unit")


class ChunkingInput(serializers.Serializer[Any]):
    strategy = serializers.ChoiceField(Collection.Strategy.choices, required=False)
    size = Whole(min_value=16, max_value=40_000, required=False)
    overlap = Whole(min_value=0, max_value=20_000, required=False)
    overlap_sentences = Whole(min_value=0, max_value=10, required=False)
    unit = serializers.ChoiceField(Collection.Unit.choices, required=False)


class CollectionInput(serializers.Serializer[Any]):
    name = CollectionName()
    description = Text(max_length=10_000, default="", allow_blank=True)
    embedding_model = Text(max_length=200, required=False)
    dimension = Whole(min_value=1, max_value=4_000, required=False)
    distance = serializers.ChoiceField(Collection.Distance.choices, required=False)
    language = serializers.ChoiceField(LANGUAGES, default=ENGLISH)
    chunking = ChunkingInput(required=False)


class IndexInput(serializers.Serializer[Any]):
    index_name = CollectionName()
    description = Text(max_length=10_000, default="", allow_blank=True)
    embedding_model = Text(max_length=200, required=False)
    dimension = Whole(min_value=1, max_value=4_000, required=False)
    chunking = ChunkingInput(required=False)


class IndexMade(serializers.Serializer[Any]):
    index_name = serializers.CharField()
    status = serializers.ChoiceField(["created"])
    message = serializers.CharField()


class CollectionChange(serializers.Serializer[Any]):
    name = CollectionName(required=False)
    description = Text(max_length=10_000, required=False, allow_blank=True)
    chunking = ChunkingInput(required=False)


class CollectionShown(serializers.ModelSerializer[Collection]):
    chunking = ChunkingShown(source="*")
    document_count = serializers.IntegerField()
    chunk_count = serializers.IntegerField()

    class Meta:
        model = Collection
        fields = [
            "name", "description", "embedding_model", "dimension", "distance", "language",
            "chunking", "document_count", "chunk_count", "created_at", "updated_at",
        ]  # fmt: skip


class DocumentShown(serializers.ModelSerializer[Document]):
    collection = serializers.CharField(source="collection.name")
    tags: Any = serializers.SlugRelatedField(slug_field="name", many=True, read_only=True)
    metadata = serializers.DictField()

    class Meta:
        model = Document
        fields = [
            "id", "collection", "title", "source", "source_uri", "media_type", "content_sha256",
            "status", "error", "word_count", "char_count", "chunk_count", "tags", "metadata",
            "chapter", "section", "file_path", "file_hash", "last_modified", "user_created_at",
            "ingested_at", "created_at", "updated_at",
        ]  # fmt: skip


class DocumentText(serializers.Serializer[Any]):
    document_id = serializers.UUIDField(source="id")
    content_sha256 = serializers.CharField()
    text = serializers.CharField(source="raw_text")


class ChunkShown(serializers.ModelSerializer[Chunk]):
    document_id = serializers.UUIDField()
    collection = serializers.CharField(source="collection.name")
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


class TagShown(serializers.Serializer[Any]):
    name = serializers.CharField()
    document_count = serializers.IntegerField()
    chunk_count = serializers.IntegerField()


class DocumentFilter(serializers.Serializer[Any]):
    collection = CollectionName(required=False)
    tag = TagList(default=list)
    status = serializers.ChoiceField(Document.Status.choices, required=False)
    source = Text(max_length=100, required=False)  # type: ignore[assignment]
    q = Text(max_length=1_000, required=False)


class CollectionChoice(serializers.Serializer[Any]):
    collection = CollectionName(default=DEFAULT_COLLECTION)


class DeletionChoice(serializers.Serializer[Any]):
    if_empty = serializers.BooleanField(default=False)


class Stats(serializers.Serializer[Any]):
    total_documents = serializers.IntegerField()
    total_chunks = serializers.IntegerField()
    embedding_dimension = serializers.IntegerField()
    model_name = serializers.CharField()
