from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin

from corpus.errors import InvalidInput
from corpus.jobs.kinds.edit_job import start_tagging
from corpus.models import Collection, Rule
from corpus.rules.conditions import FIELDS, validate_rule
from corpus.rules.matching import preview_rule


class RuleForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = Rule
        fields = FIELDS

    def clean(self) -> dict[str, Any]:
        values = super().clean() or self.cleaned_data
        try:
            rule = validate_rule({field: values.get(field) for field in FIELDS})
        except InvalidInput as exc:
            raise ValidationError({exc.field: exc.detail}) from exc
        if rule["collection"] and not Collection.objects.find(rule["collection"]):
            raise ValidationError({"collection": "There is no collection of this name."})
        same = Rule.objects.filter(name=rule["name"], is_set=False).exclude(pk=self.instance.pk)
        if same.exists():
            raise ValidationError({"name": "A rule of this name already exists."})
        return rule


@admin.register(Rule)
class RuleAdmin(ModelAdmin):
    """Rules of ``PKB_RULES`` are read-only here, and changed in its file."""

    form = RuleForm
    list_display = ["name", "path", "title", "words", "sender", "tags", "collection", "is_set"]
    list_filter = ["is_set"]
    search_fields = ["name", "path", "sender"]
    actions = ["try_them", "apply_them"]

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_change_permission(request, obj) and not (obj and obj.is_set)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_delete_permission(request, obj) and not (obj and obj.is_set)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        deleted, counts, needed, protected = super().get_deleted_objects(objs, request)
        return deleted, counts, needed, [*protected, *(str(rule) for rule in objs if rule.is_set)]

    @admin.action(description="Preview: count the documents each would change")
    def try_them(self, request: HttpRequest, rules: QuerySet[Rule]) -> None:
        for rule in rules:
            preview = preview_rule(rule)
            counts = f"{preview.matching_count} documents, {preview.changing_count} would get tags"
            self.message_user(request, f"{rule}: {counts}.")

    @admin.action(description="Apply to existing documents", permissions=["change"])
    def apply_them(self, request: HttpRequest, rules: QuerySet[Rule]) -> None:
        jobs = [job for rule in rules for job in start_tagging(rule)]
        self.message_user(request, f"{len(jobs)} jobs tag {sum(j.total for j in jobs)} documents.")
