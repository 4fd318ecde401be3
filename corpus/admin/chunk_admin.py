from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from corpus.admin.base_admin import UndeletableAdmin, link, link_list
from corpus.models import Chunk, Embedding


@admin.register(Chunk)
class ChunkAdmin(UndeletableAdmin):
    list_display = [
        "text_preview", "document_link", "ordinal", "span", "token_count", "headings", "tag_names",
    ]  # fmt: skip
    list_filter = ["collection", "tags"]
    search_fields = ["text"]
    exclude = ["lexemes", "document"]
    readonly_fields = ["document_link", "answers"]
    show_full_result_count = False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Chunk]:
        return Chunk.objects.shown().select_related("document")

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        fields = super().get_fields(request, obj)
        return [
            *self.readonly_fields,
            *(name for name in fields if name not in self.readonly_fields),
        ]

    @admin.display(description="document", ordering="document")
    def document_link(self, chunk: Chunk) -> SafeString:
        return link("corpus_document_change", chunk.document_id, chunk.document)

    @admin.display(description="Answers that quote it")
    def answers(self, chunk: Chunk) -> SafeString:
        return link_list("qa_answer", "citations__chunk__id__exact", chunk.pk, "Answers")

    @admin.display
    def span(self, chunk: Chunk) -> str:
        return f"{chunk.start_char}-{chunk.end_char}"

    @admin.display
    def headings(self, chunk: Chunk) -> str:
        return " > ".join(chunk.heading_path)

    @admin.display(description="tags")
    def tag_names(self, chunk: Chunk) -> str:
        return ", ".join(tag.name for tag in chunk.tags.all())


@admin.register(Embedding)
class EmbeddingAdmin(UndeletableAdmin):
    list_display = ["chunk_link", "document", "model", "dimension", "collection", "created_at"]
    list_filter = ["model", "dimension", "collection"]
    search_fields = ["chunk__document__title", "chunk__document__source_uri"]
    search_help_text = "Title or URL of the document"
    fields = ["chunk_link", "document", "collection", "model", "dimension", "created_at"]
    show_full_result_count = False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Embedding]:
        rows = Embedding.objects.select_related("collection", "chunk__document")
        return rows.defer("vector", "chunk__text", "chunk__lexemes", "chunk__ngrams")

    @admin.display(description="chunk", ordering="chunk")
    def chunk_link(self, embedding: Embedding) -> SafeString:
        return link("corpus_chunk_change", embedding.chunk_id, embedding.chunk)

    @admin.display(ordering="chunk__document__title")
    def document(self, embedding: Embedding) -> SafeString:
        document = embedding.chunk.document
        return link("corpus_document_change", document.pk, document)
