import json
from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.admin import ModelAdmin

from corpus.api.documents import DocumentShown
from corpus.errors import PkbError
from corpus.ingestion import reingest_document
from corpus.jobs.states import cancel_job, retry_job
from corpus.models import (
    Chunk,
    Collection,
    CollectionMap,
    Document,
    Embedding,
    Job,
    JobItem,
    Tag,
)


class ReadOnlyAdmin(ModelAdmin):
    """Shows rows that are not written by hand."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


def _link(url_name: str, key: object, text: object) -> SafeString:
    return format_html('<a href="{}">{}</a>', reverse(f"admin:{url_name}", args=[key]), text)


def _citing(lookup: str, key: object) -> SafeString:
    url = reverse("admin:qa_answer_changelist")
    return format_html('<a href="{}?{}={}">Answers</a>', url, lookup, key)


@admin.register(Collection)
class CollectionAdmin(ModelAdmin):
    list_display = ["name", "embedding_model", "dimension", "documents", "chunks", "updated_at"]
    search_fields = ["name", "description"]
    readonly_fields = [
        "name", "embedding_model", "dimension", "distance", "previous_model", "previous_dimension"
    ]  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[Collection]:
        return Collection.objects.counted()

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    @admin.display(ordering="document_count")
    def documents(self, collection: Any) -> SafeString:
        url = reverse("admin:corpus_document_changelist")
        return format_html(
            '<a href="{}?collection__id__exact={}">{}</a>',
            url, collection.pk, collection.document_count,
        )  # fmt: skip

    @admin.display(ordering="chunk_count")
    def chunks(self, collection: Any) -> int:
        return int(collection.chunk_count)


@admin.register(Document)
class DocumentAdmin(ReadOnlyAdmin):
    list_display = ["name", "collection", "status", "chunks", "word_count", "source", "ingested_at"]
    list_filter = ["collection", "status", "source", "media_type", "tags"]
    search_fields = ["title", "source_uri", "content_sha256"]
    date_hierarchy = "created_at"
    list_select_related = ["collection"]
    actions = ["reingest", "export"]
    readonly_fields = ["page", "answers"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Document]:
        return Document.objects.defer("outline")

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        # Chunks cannot be deleted by themselves, but with their document.
        listed, counts, _, protected = super().get_deleted_objects(objs, request)
        return listed, counts, set(), protected

    @admin.display(ordering="chunk_count")
    def chunks(self, document: Document) -> SafeString:
        url = reverse("admin:corpus_chunk_changelist")
        return format_html(
            '<a href="{}?document__id__exact={}">{}</a>', url, document.pk, document.chunk_count
        )

    @admin.display(description="Page")
    def page(self, document: Document) -> SafeString:
        return format_html(
            '<a href="/ui/documents/{}">/ui/documents/{}</a>', document.pk, document.pk
        )

    @admin.display(description="Answers that cite it")
    def answers(self, document: Document) -> SafeString:
        return _citing("citations__document__id__exact", document.pk)

    @admin.action(description="Export as JSON lines")
    def export(self, request: HttpRequest, documents: QuerySet[Document]) -> HttpResponse:
        rows = documents.select_related("collection").prefetch_related("tags")
        lines = [
            json.dumps(DocumentShown(row).data | {"text": row.raw_text}, default=str)
            for row in rows
        ]
        reply = HttpResponse("\n".join([*lines, ""]), content_type="application/x-ndjson")
        reply["Content-Disposition"] = 'attachment; filename="documents.jsonl"'
        return reply

    @admin.action(description="Cut and embed again")
    def reingest(self, request: HttpRequest, documents: QuerySet[Document]) -> None:
        done = 0
        for document in documents.select_related("collection"):
            try:
                reingest_document(document)
                done += 1
            except PkbError as exc:
                self.message_user(request, f"{document}: {exc}", messages.ERROR)
        self.message_user(request, f"{done} documents were cut and embedded again.")

    def has_reingest_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("corpus.change_document")


DocumentAdmin.reingest.allowed_permissions = ["reingest"]  # type: ignore[attr-defined]


@admin.register(Chunk)
class ChunkAdmin(ReadOnlyAdmin):
    list_display = [
        "text_preview", "document_link", "ordinal", "span", "token_count", "headings", "tag_names",
    ]  # fmt: skip
    list_filter = ["collection", "tags"]
    search_fields = ["text"]
    list_select_related = ["document", "collection"]
    exclude = ["lexemes"]
    readonly_fields = ["document_link", "answers"]
    show_full_result_count = False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Chunk]:
        rows = Chunk.objects.shown().defer("lexemes", "document__raw_text", "document__outline")
        return rows.select_related("document")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @admin.display(description="document", ordering="document")
    def document_link(self, chunk: Chunk) -> SafeString:
        return _link("corpus_document_change", chunk.document_id, chunk.document)

    @admin.display(description="Answers that cite it")
    def answers(self, chunk: Chunk) -> SafeString:
        return _citing("citations__chunk__id__exact", chunk.pk)

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
class EmbeddingAdmin(ReadOnlyAdmin):
    list_display = ["chunk_link", "model", "dimension", "collection", "created_at"]
    list_filter = ["model", "dimension", "collection"]
    list_select_related = ["collection"]
    show_full_result_count = False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Embedding]:
        return Embedding.objects.defer("vector")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @admin.display(description="chunk", ordering="chunk")
    def chunk_link(self, embedding: Embedding) -> SafeString:
        return _link("corpus_chunk_change", embedding.chunk_id, embedding.chunk_id)


@admin.register(CollectionMap)
class CollectionMapAdmin(ReadOnlyAdmin):
    list_display = ["collection", "model", "variance_share", "computed_at"]
    exclude = ["points"]


@admin.register(Tag)
class TagAdmin(ModelAdmin):
    list_display = ["name"]
    search_fields = ["name"]


@admin.register(Job)
class JobAdmin(ReadOnlyAdmin):
    list_display = [
        "id", "kind", "collection", "status", "stage", "progress", "created_at", "finished_at",
    ]  # fmt: skip
    list_filter = ["status", "kind", "collection", "is_background"]
    date_hierarchy = "created_at"
    list_select_related = ["collection"]
    actions = ["retry", "cancel"]

    @admin.display
    def progress(self, job: Job) -> SafeString:
        url = reverse("admin:corpus_jobitem_changelist")
        counts = f"{job.done} + {job.failed} failed of {job.total}"
        return format_html('<a href="{}?job__id__exact={}">{}</a>', url, job.pk, counts)

    @admin.action(description="Try again what failed or was cancelled")
    def retry(self, request: HttpRequest, jobs: QuerySet[Job]) -> None:
        self._act(request, jobs, retry_job, "queued again")

    @admin.action(description="Cancel")
    def cancel(self, request: HttpRequest, jobs: QuerySet[Job]) -> None:
        self._act(request, jobs, cancel_job, "cancelled")

    def _act(
        self,
        request: HttpRequest,
        jobs: QuerySet[Job],
        verb: Callable[[UUID], Job],
        said: str,
    ) -> None:
        done = 0
        for job in jobs:
            try:
                verb(job.pk)
                done += 1
            except PkbError as exc:
                self.message_user(request, f"{job}: {exc}", messages.ERROR)
        self.message_user(request, f"{done} jobs {said}.")

    def has_run_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("corpus.change_job")


for _action in (JobAdmin.retry, JobAdmin.cancel):
    _action.allowed_permissions = ["run"]  # type: ignore[attr-defined]


@admin.register(JobItem)
class JobItemAdmin(ReadOnlyAdmin):
    list_display = ["key", "job", "status", "outcome", "attempts", "chunk_count", "ended_at"]
    list_filter = ["status", "outcome", "job__collection"]
    search_fields = ["key", "reason"]
    list_select_related = ["job"]
    show_full_result_count = False
