"""Request and response bodies of /v1/vector_stores; fields without effect are left out."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from corpus.api.fields import (
    FilterField,
    StrictBooleanField,
    StrictCharField,
    StrictFloatField,
    StrictIntegerField,
)
from qa.api.openai.chat_serializers import always

MAX_QUERY_CHARS = 1_000
# Each is a search of its own; admission counts one for all.
MAX_QUERIES = 5

_QUERY = {"type": "string", "minLength": 1, "maxLength": MAX_QUERY_CHARS, "pattern": r"\S"}
_QUERIES = {"type": "array", "minItems": 1, "maxItems": MAX_QUERIES, "items": _QUERY}
_SCALAR = {"oneOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"}]}


@extend_schema_field({"oneOf": [_QUERY, _QUERIES]})
class Queries(serializers.Field[list[str], Any, Any, Any]):
    """One query, or several that are searched in parallel."""

    default_error_messages = {"shape": f"A query, or a list of 1 to {MAX_QUERIES} queries."}

    def to_internal_value(self, data: Any) -> list[str]:
        queries = [data] if isinstance(data, str) else data
        if not isinstance(queries, list) or not 1 <= len(queries) <= MAX_QUERIES:
            self.fail("shape")
        query = StrictCharField(max_length=MAX_QUERY_CHARS)
        return [query.run_validation(each) for each in queries]

    def to_representation(self, value: Any) -> Any:
        return value


class RankingOptions(serializers.Serializer[Any]):
    ranker = StrictCharField(max_length=100, default="auto", help_text="`none`: do not rerank")
    score_threshold = StrictFloatField(min_value=0, max_value=1, default=0.0)


class StoreSearchInput(serializers.Serializer[Any]):
    query = Queries()
    max_num_results = StrictIntegerField(min_value=1, max_value=50, default=10)
    filters = FilterField(default=None, allow_null=True)
    ranking_options = RankingOptions(required=False, allow_null=True)
    rewrite_query = StrictBooleanField(
        default=False, allow_null=True, help_text="accepted and ignored"
    )


class FoundContent(serializers.Serializer[Any]):
    type = always("text")
    text = serializers.CharField()


@extend_schema_field({"type": "object", "additionalProperties": _SCALAR})
class Attributes(serializers.DictField):
    """The scalar entries of a document's metadata."""


class StoreResult(serializers.Serializer[Any]):
    file_id = serializers.UUIDField(help_text="the document's id")
    filename = serializers.CharField()
    score = serializers.FloatField(help_text="cosine similarity to the query, in [0, 1]")
    attributes = Attributes()
    content = FoundContent(many=True)
    chunk_id = serializers.UUIDField()
    start_char = serializers.IntegerField(help_text="offset in the document's text")
    end_char = serializers.IntegerField()


class StoreResults(serializers.Serializer[Any]):
    """Passages in reranked order, which `score` does not show."""

    object = always("vector_store.search_results.page")
    search_query = serializers.ListField(child=serializers.CharField())
    data = StoreResult(many=True)  # type: ignore[assignment]
    has_more = serializers.BooleanField()
    next_page = serializers.CharField(allow_null=True)


class FileCounts(serializers.Serializer[Any]):
    completed = serializers.IntegerField()
    failed = serializers.IntegerField()
    in_progress = serializers.IntegerField()
    cancelled = serializers.IntegerField()
    total = serializers.IntegerField()


class StoreShown(serializers.Serializer[Any]):
    id = serializers.CharField(help_text="the collection's name")
    object = always("vector_store")
    created_at = serializers.IntegerField()
    name = serializers.CharField()
    status = always("completed")
    usage_bytes = serializers.IntegerField(help_text="total size of the original files and texts")
    file_counts = FileCounts()
    metadata = serializers.DictField(child=serializers.CharField())


class StoreList(serializers.Serializer[Any]):
    object = always("list")
    data = StoreShown(many=True)  # type: ignore[assignment]
    first_id = serializers.CharField(allow_null=True)
    last_id = serializers.CharField(allow_null=True)
    has_more = serializers.BooleanField()
