import json
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from corpus.admin.base_admin import (
    LINK,
    Deletion,
    ReadOnlyAdmin,
    counted_deletion,
    link_list,
    read_tag,
    tag_action_form,
)
from corpus.api.document_views import DocumentResponse
from corpus.errors import PkbError
from corpus.ingestion.ingest import reingest_document
from corpus.models import Document
from corpus.models.document import DocumentQuerySet
from corpus.tags import add_tags, remove_tags

# A browser would take long to show a text of 20 million characters.
TEXT_SHOWN_CHARS = 50_000
# A file and its folder.
PATH_SHOWN_PARTS = 2


@admin.register(Document)
class DocumentAdmin(ReadOnlyAdmin):
    list_display = [
        "name", "path", "collection", "tag_names", "status", "chunks", "word_count", "ingested_at",
    ]  # fmt: skip
    list_filter = ["collection", "status", "source", "media_type", "tags"]
    search_fields = ["title", "source_uri", "content_sha256"]
    date_hierarchy = "created_at"
    ordering = ["-created_at", "-id"]
    actions = ["add_tag", "remove_tag", "reingest", "export"]
    action_form = tag_action_form(["add_tag", "remove_tag"])
    readonly_fields = ["name", "page", "answers", "tag_names", "chunks", "text"]
    fieldsets = [
        (None, {"fields": ["page", "answers"]}),
        (None, {"fields": ["name", "collection", "tag_names", "status", "error", "chunks"]}),
        ("Origin", {"fields": ["source_uri", "source", "user_created_at"]}),
        ("Text", {"fields": ["text"]}),
        (
            "File",
            {"fields": ["file_path", "media_type", "last_modified", "file_hash", "content_sha256"]},
        ),
        (
            "Details",
            {
                "fields": [
                    "metadata", "chapter", "section", "word_count", "char_count", "ingested_at",
                    "created_at", "updated_at",
                ]
            },
        ),
    ]  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[Document]:
        return Document.objects.listed()

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Deletion:
        rows = list(objs)
        chunk_count = sum(row.chunk_count for row in rows)
        return counted_deletion(rows, documents=len(rows), chunks=chunk_count)

    @admin.display(ordering="chunk_count")
    def chunks(self, document: Document) -> SafeString:
        return link_list("corpus_chunk", "document__id__exact", document.pk, document.chunk_count)

    @admin.display(description="tags")
    def tag_names(self, document: Document) -> str:
        return ", ".join(tag.name for tag in document.tags.all())

    @admin.display(ordering="source_uri")
    def path(self, document: Document) -> SafeString:
        """Return the end of the path, with the full path as tooltip."""
        whole = document.file_path or document.source_uri
        before, *end = whole.rsplit("/", PATH_SHOWN_PARTS)
        is_long = before and len(end) == PATH_SHOWN_PARTS
        shown = "/".join(["…", *end]) if is_long else whole
        return format_html('<span title="{}">{}</span>', whole, shown)

    @admin.display(description="Page")
    def page(self, document: Document) -> SafeString:
        return format_html(
            '<a class="{}" href="/ui/documents/{}">Open in the library</a>', LINK, document.pk
        )

    @admin.display(description="Answers that quote it")
    def answers(self, document: Document) -> SafeString:
        return link_list("qa_answer", "citations__document__id__exact", document.pk, "Answers")

    @admin.display
    def text(self, document: Document) -> SafeString:
        """Return the beginning of the text with its line breaks."""
        shown = Document.objects.filter(pk=document.pk).slice_of_text(0, TEXT_SHOWN_CHARS)
        left = document.char_count - len(shown)
        note = f"\n\n… and {left:,} more characters on its page." if left > 0 else ""
        return format_html('<div style="white-space: pre-wrap">{}{}</div>', shown, note)

    @admin.action(description="Add the tag", permissions=["change_tags"])
    def add_tag(self, request: HttpRequest, documents: QuerySet[Document]) -> None:
        if name := read_tag(request):
            count = add_tags(documents.values_list("pk", flat=True), [name])
            self.message_user(request, f"{count} documents now have the tag {name!r}.")

    @admin.action(description="Remove the tag", permissions=["change_tags"])
    def remove_tag(self, request: HttpRequest, documents: QuerySet[Document]) -> None:
        if name := read_tag(request):
            count = remove_tags(documents.values_list("pk", flat=True), [name])
            self.message_user(request, f"{count} documents no longer have the tag {name!r}.")

    @admin.action(description="Export as JSON lines")
    def export(self, request: HttpRequest, documents: DocumentQuerySet) -> HttpResponse:
        lines = [
            json.dumps(DocumentResponse(row).data | {"text": row.text}, default=str)
            for row in documents.with_text()
        ]
        reply = HttpResponse("\n".join([*lines, ""]), content_type="application/x-ndjson")
        reply["Content-Disposition"] = 'attachment; filename="documents.jsonl"'
        return reply

    @admin.action(description="Re-chunk and re-embed", permissions=["reingest"])
    def reingest(self, request: HttpRequest, documents: QuerySet[Document]) -> None:
        done = 0
        for document in documents:
            try:
                reingest_document(document)
                done += 1
            except PkbError as exc:
                self.message_user(request, f"{document}: {exc}", messages.ERROR)
        self.message_user(request, f"{done} documents were re-chunked and re-embedded.")

    def has_reingest_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("corpus.change_document")

    has_change_tags_permission = has_reingest_permission
