"""Read input: serializer fields that accept only their own JSON type."""

from datetime import UTC, datetime
from itertools import chain
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.fields import empty
from rest_framework.utils import json

from corpus.characters import is_storable
from corpus.filters import Filter, FilterError, parse_filter
from corpus.models import ALL_COLLECTIONS, NAME_PATTERN, QUALIFIED_NAME_PATTERN
from corpus.tags import MAX_TAGS, normalize_tags
from corpus.times import EARLIEST, LATEST, is_storable_time


def read_input(form: type[serializers.Serializer[Any]], data: Any) -> dict[str, Any]:
    """Return the validated values of a body or query.

    Raises:
        ValidationError: A value is invalid; the error names the field.
    """
    bound = form(data=data)
    bound.is_valid(raise_exception=True)
    return dict(bound.validated_data)


class StrictCharField(serializers.CharField):
    """A JSON string; numbers are not converted, and whitespace is kept."""

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        if self.max_length is not None and len(data) > self.max_length:
            self.fail("max_length", max_length=self.max_length)
        return super().to_internal_value(data)


class StrictIntegerField(serializers.IntegerField):
    """A JSON integer, or a float like 2.0; no string or boolean."""

    def to_internal_value(self, data: Any) -> int:
        is_whole = isinstance(data, int) or (isinstance(data, float) and data.is_integer())
        if not is_whole or isinstance(data, bool):
            self.fail("invalid")
        return int(super().to_internal_value(int(data)))


class StrictBooleanField(serializers.BooleanField):
    """A JSON boolean."""

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, bool):
            self.fail("invalid", input=data)
        return data


class StrictFloatField(serializers.FloatField):
    """A JSON number; no string or boolean."""

    def to_internal_value(self, data: Any) -> float:
        if isinstance(data, (bool, str)):
            self.fail("invalid")
        return super().to_internal_value(data)


class UncheckedCharField(StrictCharField):
    """Text that is validated later: it may be empty, blank, or contain any character."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(allow_blank=True, trim_whitespace=False, **kwargs)
        self.validators = []


class CollectionNameField(StrictCharField, serializers.RegexField):
    pattern = NAME_PATTERN

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(regex=self.pattern, trim_whitespace=False, **kwargs)


class QualifiedNameField(CollectionNameField):
    """The name of an existing collection: ``handbook``, or ``handbook@ida`` of user ida."""

    pattern = QUALIFIED_NAME_PATTERN


class AskedNameField(QualifiedNameField):
    """The name of an existing collection, or ``*`` for all that the caller may read."""

    pattern = rf"{QUALIFIED_NAME_PATTERN}|^\{ALL_COLLECTIONS}\Z"


class ZonedDateTimeField(serializers.DateTimeField):
    """ISO 8601 with a time zone; without one the time is ambiguous."""

    default_error_messages = {
        "naive": "A time zone is needed, such as Z or +02:00.",
        "range": f"Must be a time from {EARLIEST.date()} to {LATEST.date()}.",
    }

    def enforce_timezone(self, value: datetime) -> datetime:
        if value.tzinfo is None:
            self.fail("naive")
        if not is_storable_time(value):
            self.fail("range")
        # Postgres rejects offsets of 16 hours, which some clients send.
        return value.astimezone(UTC)


class JsonObjectField(serializers.DictField):
    """A JSON object that can be stored."""

    default_error_messages = {
        "storable": "Holds a character, a number or a depth that cannot be stored."
    }

    def to_internal_value(self, data: Any) -> Any:
        # Checked first: other validators recurse, and fail at deep nesting.
        if not is_storable(data):
            self.fail("storable")
        return super().to_internal_value(data)


class JsonFormField(JsonObjectField):
    """A JSON object, serialized in a form field."""

    default_error_messages = {"json": "A JSON object is needed."}

    def get_value(self, dictionary: Any) -> Any:
        return dictionary.get(self.field_name, empty)

    def to_internal_value(self, data: Any) -> Any:
        try:
            value = json.loads(data)
        except (ValueError, TypeError, RecursionError):
            self.fail("json")
        return super().to_internal_value(value)


@extend_schema_field({"$ref": "#/components/schemas/SearchFilter"})
class FilterField(serializers.Field[Any, Any, Any, Any]):
    """A filter of ``corpus.filters``."""

    def to_internal_value(self, data: Any) -> Filter:
        try:
            return parse_filter(data)
        except FilterError as exc:
            detail = {exc.path: [str(exc)]} if exc.path else [str(exc)]
            raise serializers.ValidationError(detail) from exc


class TagListField(serializers.ListField):
    """Tags, normalized; a repeated field in a query or form, a list of strings in JSON."""

    child = StrictCharField(allow_blank=True, max_length=1_000)

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=MAX_TAGS, **kwargs)

    def to_internal_value(self, data: Any) -> Any:
        return normalize_tags(super().to_internal_value(data))


class FormTagListField(TagListField):
    """Tags of a form, which may also stand in one field, separated by commas."""

    def to_internal_value(self, data: Any) -> Any:
        parts = (each.split(",") if isinstance(each, str) else [each] for each in data)
        return super().to_internal_value(list(chain.from_iterable(parts)))
