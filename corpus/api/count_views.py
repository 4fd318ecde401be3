"""Count the mentions of a word or phrase, or documents by the amounts they state; list them."""

from typing import Any, ClassVar

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from corpus.access.principal import Scope
from corpus.api.fields import (
    AskedNameField,
    FilterField,
    StrictCharField,
    StrictIntegerField,
    TagListField,
    read_input,
)
from corpus.api.filter_notice import filter_notice
from corpus.api.pagination import MAX_LIMIT
from corpus.endpoints import Cost, Endpoint, endpoint
from corpus.errors import CollectionNotFound, Errors, InvalidInput
from corpus.mentions import (
    GROUPS,
    MAX_AMOUNT_CHARS,
    MAX_PHRASE_CHARS,
    SORTS,
    UNITS,
    MentionCount,
    count_mentions,
)
from corpus.models import ALL_COLLECTIONS, DEFAULT_COLLECTION, Collection
from corpus.spreadsheets import write_csv

# Rows of a CSV file, which is made in memory: about 30 MB.
MAX_ROWS = 100_000


class CountInput(serializers.Serializer[Any]):
    query = StrictCharField(max_length=MAX_PHRASE_CHARS, help_text="a word or phrase")
    amount = StrictCharField(
        max_length=MAX_AMOUNT_CHARS,
        default="",
        allow_blank=True,
        help_text="such as `over 500 EUR`: count documents named by `query` that state it",
    )
    collection = AskedNameField(default=DEFAULT_COLLECTION, help_text="`*`: all")
    tags = TagListField(default=tuple)
    filters = FilterField(default=None, allow_null=True)
    group_by = serializers.ChoiceField(GROUPS, default=None, allow_null=True)
    unit = serializers.ChoiceField(UNITS, default="document", help_text="of `results`")
    sort = serializers.ChoiceField(SORTS, default="mentions")
    offset = StrictIntegerField(min_value=0, max_value=10**9, default=0)
    limit = StrictIntegerField(min_value=0, max_value=MAX_LIMIT, default=20)
    format = serializers.ChoiceField(["json", "csv"], default="json")


class GroupShown(serializers.Serializer[Any]):
    name = serializers.CharField(allow_blank=True)
    document_count = serializers.IntegerField()
    mention_count = serializers.IntegerField()


class MentionContext(serializers.Serializer[Any]):
    text = serializers.CharField(source="context")
    start_char = serializers.IntegerField(source="context_start")
    end_char = serializers.IntegerField(source="context_end")


class AmountShown(serializers.Serializer[Any]):
    value = serializers.CharField()
    currency = serializers.CharField()


class DatePlace(serializers.Serializer[Any]):
    start_char = serializers.IntegerField(source="start")
    end_char = serializers.IntegerField(source="end")


class MentionShown(serializers.Serializer[Any]):
    """A mention: ``quote`` is ``start_char:end_char`` of the document's text."""

    document_id = serializers.UUIDField(source="document.pk")
    document_name = serializers.CharField(source="document.name")
    collection = serializers.CharField(source="document.collection.qualified_name")
    content_sha256 = serializers.CharField(source="document.content_sha256")
    document_date = serializers.CharField(source="date", allow_blank=True)
    start_char = serializers.IntegerField(source="start")
    end_char = serializers.IntegerField(source="end")
    quote = serializers.CharField()
    context = MentionContext(source="*")  # type: ignore[assignment]
    mention_count = serializers.IntegerField(help_text="in this document")
    amount = AmountShown(allow_null=True)
    date_place = DatePlace(source="stated_date", allow_null=True)


class CountOutput(serializers.Serializer[Any]):
    query = serializers.CharField(source="phrase")
    document_count = serializers.IntegerField()
    mention_count = serializers.IntegerField()
    searched_count = serializers.IntegerField(help_text="documents whose text was searched")
    unread_count = serializers.IntegerField(help_text="documents without a text: not counted")
    unclear_count = serializers.IntegerField(
        help_text="documents named so whose amount is unclear or in another currency: not counted"
    )
    currency = serializers.CharField(allow_blank=True, help_text="of the amounts")
    groups = GroupShown(many=True)
    results = MentionShown(many=True)
    total_results = serializers.IntegerField(source="result_count")


@endpoint(
    POST=Endpoint(
        "count",
        tag="Search",
        summary="Count mentions",
        scope=Scope.READ,
        cost=Cost.SEARCH,
        example={"query": "drift check", "collection": ALL_COLLECTIONS, "group_by": "tag"},
    )
)
class CountView(APIView):
    """Count the documents that mention a phrase, or state an amount, exactly, and list them all."""

    errors: ClassVar[Errors] = {"post": [CollectionNotFound]}

    @extend_schema(
        request=CountInput,
        responses={(200, "application/json"): CountOutput, (200, "text/csv"): str},
    )
    def post(self, request: Request) -> HttpResponse:
        fields = read_input(CountInput, request.data)
        wants_csv = fields.pop("format") == "csv"
        count = read_count(wants_all=wants_csv, **fields)
        if wants_csv:
            return csv_response(count, grouped=fields["group_by"] is not None)
        asked = fields["filters"], fields["collection"]
        notice = filter_notice(*asked) if not count.searched_count else None
        return Response(CountOutput(count).data, headers=notice)


def read_count(*, collection: str, wants_all: bool, **fields: Any) -> MentionCount:
    """Count in the collection of a name, or in all for ``*``.

    Args:
        wants_all: List all that is counted.

    Raises:
        CollectionNotFound: There is no collection of this name.
        InvalidInput: The list has more than ``MAX_ROWS`` rows, or as ``count_mentions``.
    """
    if wants_all:
        fields |= {"offset": 0, "limit": MAX_ROWS}
    asked = None if collection == ALL_COLLECTIONS else Collection.objects.get_named(collection)
    count = count_mentions(fields.pop("query"), collection=asked, **fields)
    if wants_all and count.result_count > MAX_ROWS:
        raise InvalidInput(
            f"The file would have {count.result_count:,} rows; at most {MAX_ROWS:,} are possible."
            " List documents instead of mentions, or use a filter.",
            field="format",
        )
    return count


def csv_response(count: MentionCount, *, grouped: bool) -> HttpResponse:
    """Return a file with a row for each group, or else for each result."""
    rows: list[Any]
    if grouped:
        rows = [("group", "document_count", "mention_count")]
        rows += [(each.name, each.document_count, each.mention_count) for each in count.groups]
    else:
        rows = [tuple(MentionShown().fields)]
        for mention in count.results:
            shown = MentionShown(mention).data
            shown["context"] = shown["context"]["text"]
            for name in ("amount", "date_place"):
                shown[name] = " ".join(map(str, (shown[name] or {}).values()))
            rows.append(shown.values())
    disposition = {"Content-Disposition": 'attachment; filename="count.csv"'}
    return HttpResponse(write_csv(rows), content_type="text/csv", headers=disposition)
