from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from unfold.admin import TabularInline

from corpus.admin.base_admin import (
    Deletion,
    UnaddableAdmin,
    counted_deletion,
    link_list,
)
from corpus.models import DEFAULT_COLLECTION, Collection, Grant


class GrantInline(TabularInline):
    model = Grant
    fields = ["user", "group", "role"]
    extra = 0


@admin.register(Collection)
class CollectionAdmin(UnaddableAdmin):
    inlines = [GrantInline]
    list_display = [
        "name", "owner", "is_public", "embedding_model", "documents", "chunks", "updated_at"
    ]  # fmt: skip
    search_fields = ["name", "description"]
    readonly_fields = [
        "name", "embedding_model", "dimension", "distance", "previous_model", "previous_dimension"
    ]  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[Collection]:
        return Collection.objects.with_counts()

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Deletion:
        rows = list(objs)
        return counted_deletion(
            rows,
            protected=[row for row in rows if row.name == DEFAULT_COLLECTION],
            documents=sum(row.document_count for row in rows),
            chunks=sum(row.chunk_count for row in rows),
        )

    @admin.display(ordering="document_count")
    def documents(self, collection: Any) -> SafeString:
        return link_list(
            "corpus_document", "collection__id__exact", collection.pk, collection.document_count
        )

    @admin.display(ordering="chunk_count")
    def chunks(self, collection: Any) -> int:
        return int(collection.chunk_count)
