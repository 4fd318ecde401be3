from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from unfold.admin import ModelAdmin

from corpus.admin.base_admin import Deletion, counted_deletion, link_list, read_tag, tag_action_form
from corpus.errors import InvalidInput
from corpus.models import Tag
from corpus.tags import merge_tags, normalize_tags


class TagForm(forms.ModelForm):  # type: ignore[type-arg]
    """Normalizes a tag like search does: other spellings would never be found."""

    class Meta:
        model = Tag
        fields = ("collection", "name")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # The collection cannot change, but stays a field, because names are unique in it.
        self.fields["collection"].disabled = self.instance.pk is not None

    def clean_name(self) -> str:
        try:
            names = normalize_tags([self.cleaned_data["name"]])
        except InvalidInput as exc:
            raise ValidationError(str(exc)) from exc
        if not names:
            raise ValidationError("Enter a name for the tag.")
        return names[0]


@admin.register(Tag)
class TagAdmin(ModelAdmin):
    """Renaming changes only the tag's name, because documents and chunks link to the tag."""

    form = TagForm
    # Methods named like the fields would not be called.
    list_display = ["name", "collection", "on_documents", "on_chunks"]
    search_fields = ["name"]
    actions = ["merge"]
    action_form = tag_action_form(["merge"])

    def get_queryset(self, request: HttpRequest) -> QuerySet[Tag]:
        return Tag.objects.with_counts()

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return ["on_documents", "on_chunks"] if obj else []

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Deletion:
        rows = list(objs)
        return counted_deletion(rows, tags=len(rows))

    @admin.display(description="documents", ordering="document_count")
    def on_documents(self, tag: Any) -> SafeString:
        return link_list("corpus_document", "tags__id__exact", tag.pk, tag.document_count)

    @admin.display(description="chunks", ordering="chunk_count")
    def on_chunks(self, tag: Any) -> SafeString:
        return link_list("corpus_chunk", "tags__id__exact", tag.pk, tag.chunk_count)

    @admin.action(description="Merge into the tag", permissions=["merge"])
    def merge(self, request: HttpRequest, tags: QuerySet[Tag]) -> None:
        if into := read_tag(request):
            count = merge_tags(tags.values_list("pk", flat=True), into=into)
            self.message_user(request, f"Merged {count} into {into!r}.")

    def has_merge_permission(self, request: HttpRequest) -> bool:
        return bool(self.has_change_permission(request) and self.has_delete_permission(request))
