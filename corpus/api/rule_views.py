"""Endpoints and serializers of rules that tag documents."""

from typing import Any, ClassVar
from uuid import UUID

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import generics, serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from corpus.access.principal import Scope
from corpus.api.fields import StrictBooleanField, StrictCharField, TagListField, read_input
from corpus.api.pagination import CreationPagination
from corpus.endpoints import Cost, Endpoint, endpoint
from corpus.errors import (
    CollectionNotFound,
    Errors,
    RuleExists,
    RuleIsSet,
    RuleNotFound,
)
from corpus.jobs.kinds.edit_job import start_tagging
from corpus.models import Rule
from corpus.roots.shown_paths import shown_path, shown_uri
from corpus.rules import add_rule, all_rules, change_rule, delete_rule
from corpus.rules.conditions import (
    MAX_NAME_CHARS,
    MAX_PATTERN_CHARS,
    MAX_PHRASE_CHARS,
    validate_rule,
)
from corpus.rules.matching import preview_rule

_PATTERN: Any = {"max_length": MAX_PATTERN_CHARS, "required": False, "allow_blank": True}


class _PhraseListField(serializers.ListField):
    child = StrictCharField(max_length=MAX_PHRASE_CHARS)

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, **kwargs)


class _RuleFields(serializers.Serializer[Any]):
    path = StrictCharField(
        help_text="pattern; * matches any characters, also /; ? matches one", **_PATTERN
    )
    title = _PhraseListField(help_text="words or phrases; the title must contain all")
    words = _PhraseListField(help_text="words or phrases; the text must contain all")
    sender = StrictCharField(help_text="pattern, as for path, of an email's sender", **_PATTERN)
    tags = TagListField(required=False)
    collection = StrictCharField(
        max_length=MAX_NAME_CHARS,
        required=False,
        allow_blank=True,
        help_text="collection of new documents sent to `default`",
    )


class RuleInput(_RuleFields):
    name = StrictCharField(max_length=MAX_NAME_CHARS)
    apply = StrictBooleanField(default=False, help_text="start a job that tags existing documents")


class RuleUpdate(_RuleFields):
    name = StrictCharField(max_length=MAX_NAME_CHARS, required=False)
    apply = StrictBooleanField(default=False, help_text="start a job that tags existing documents")


class RulePreviewInput(_RuleFields):
    name = StrictCharField(max_length=MAX_NAME_CHARS, default="trial")


class RuleResponse(serializers.ModelSerializer[Rule]):
    title: Any = serializers.ListField(child=serializers.CharField())
    words: Any = serializers.ListField(child=serializers.CharField())
    tags: Any = serializers.ListField(child=serializers.CharField())
    is_set = serializers.BooleanField(help_text="comes from PKB_RULES and is edited there")

    class Meta:
        model = Rule
        fields = [
            "id", "name", "path", "title", "words", "sender", "tags", "collection", "is_set",
            "created_at", "updated_at",
        ]  # fmt: skip


class RuleSavedResponse(RuleResponse):
    job_ids = serializers.ListField(child=serializers.UUIDField())

    class Meta(RuleResponse.Meta):
        fields = [*RuleResponse.Meta.fields, "job_ids"]


class RuleMatch(serializers.Serializer[Any]):
    document_id = serializers.UUIDField()
    title = serializers.CharField()
    collection = serializers.CharField()
    file_path = serializers.CharField()
    source_uri = serializers.CharField()
    new_tags = serializers.ListField(child=serializers.CharField())


class RulePreviewResponse(serializers.Serializer[Any]):
    matching_count = serializers.IntegerField()
    changing_count = serializers.IntegerField(
        help_text="number of matching documents that lack a tag of the rule"
    )
    documents = RuleMatch(
        many=True, help_text="the newest of those, or of all matching ones; at most 50"
    )


_RULE = {"name": "invoices", "path": "invoices/*", "words": ["IBAN"], "tags": ["invoice"]}


@endpoint(
    GET=Endpoint("list_rules", tag="Documents", summary="List rules", scope=Scope.ADMIN),
    POST=Endpoint(
        "add_rule", tag="Documents", summary="Create a rule", scope=Scope.ADMIN, example=_RULE
    ),
)
class RulesView(generics.ListAPIView[Rule]):
    """List and create rules."""

    errors: ClassVar[Errors] = {"post": [CollectionNotFound, RuleExists]}
    serializer_class = RuleResponse
    pagination_class = CreationPagination

    def get_queryset(self) -> QuerySet[Rule]:
        return all_rules()

    @extend_schema(request=RuleInput, responses={201: RuleSavedResponse})
    def post(self, request: Request) -> Response:
        values = read_input(RuleInput, request.data)
        is_applied = values.pop("apply")
        return Response(_saved_response(add_rule(values), is_applied=is_applied), status=201)


@endpoint(
    PATCH=Endpoint(
        "change_rule",
        tag="Documents",
        summary="Update a rule",
        scope=Scope.ADMIN,
        example={"tags": ["invoice", "2026"]},
    ),
    DELETE=Endpoint("delete_rule", tag="Documents", summary="Delete a rule", scope=Scope.ADMIN),
)
class RuleView(APIView):
    """Change and delete one rule."""

    errors: ClassVar[Errors] = {
        "patch": [RuleNotFound, CollectionNotFound, RuleExists, RuleIsSet],
        "delete": [RuleNotFound, RuleIsSet],
    }

    @extend_schema(request=RuleUpdate, responses={200: RuleSavedResponse})
    def patch(self, request: Request, rule_id: UUID) -> Response:
        values = read_input(RuleUpdate, request.data)
        is_applied = values.pop("apply")
        return Response(_saved_response(change_rule(rule_id, values), is_applied=is_applied))

    @extend_schema(responses={204: None})
    def delete(self, request: Request, rule_id: UUID) -> Response:
        delete_rule(rule_id)
        return Response(status=204)


@endpoint(
    POST=Endpoint(
        "preview_rule",
        tag="Documents",
        summary="Preview a rule",
        scope=Scope.ADMIN,
        cost=Cost.SEARCH,
        example=_RULE,
    )
)
class RulePreviewView(APIView):
    """Preview a rule on the stored documents; nothing is saved or changed."""

    @extend_schema(request=RulePreviewInput, responses={200: RulePreviewResponse})
    def post(self, request: Request) -> Response:
        rule = Rule(**validate_rule(read_input(RulePreviewInput, request.data)))
        preview = preview_rule(rule)
        body = {
            "matching_count": preview.matching_count,
            "changing_count": preview.changing_count,
            "documents": [
                {
                    "document_id": document.pk,
                    "title": document.name,
                    "collection": document.collection.qualified_name,
                    "file_path": shown_path(document.file_path),
                    "source_uri": shown_uri(document.source_uri, file_path=document.file_path),
                    "new_tags": tags,
                }
                for document, tags in preview.documents
            ],
        }
        return Response(RulePreviewResponse(body).data)


def _saved_response(rule: Rule, *, is_applied: bool) -> Any:
    jobs = start_tagging(rule) if is_applied else []
    return {**RuleResponse(rule).data, "job_ids": [str(job.pk) for job in jobs]}
