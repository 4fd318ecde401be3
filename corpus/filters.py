"""Filter documents by a tree of comparisons, given as JSON.

    {"type": "eq", "key": "source", "value": "web"}
    {"type": "and", "filters": [{"type": "gte", "key": "year", "value": 2020}, ...]}

A key is a field of the document (``TEXT_FIELDS``, ``COUNT_FIELDS``, ``TIME_FIELDS``) or an entry of
its metadata; ``metadata.title`` is the entry, if a field has the same name. Numbers are compared
only with numbers, and text only with text, by code point, which orders ISO dates. Any element of a
list in the metadata may match. ``ne`` and ``nin`` also keep documents without the key.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import isfinite
from typing import Any

from corpus.characters import is_storable
from corpus.times import EARLIEST, LATEST, is_storable_time

Scalar = str | int | float | bool | datetime

TEXT_FIELDS = frozenset(
    {"source", "source_uri", "title", "media_type", "chapter", "section", "file_path", "status",
     "content_sha256"}
)  # fmt: skip
COUNT_FIELDS = frozenset({"word_count", "char_count", "chunk_count"})
TIME_FIELDS = frozenset(
    {"created_at", "updated_at", "ingested_at", "user_created_at", "last_modified"}
)
METADATA_PREFIX = "metadata."

COMPARISONS = ("eq", "ne", "gt", "gte", "lt", "lte")
MEMBERSHIPS = ("in", "nin")
COMPOUNDS = ("and", "or")
# Limits of the size of the SQL.
MAX_DEPTH = 5
MAX_COMPARISONS = 50
MAX_VALUES = 100
MAX_TEXT_CHARS = 1_000
MAX_COUNT = 2**53


@dataclass(frozen=True, slots=True)
class Comparison:
    """Compare a key with a value, or for ``in`` and ``nin`` with several.

    Attributes:
        field: The document's field, or None if ``key`` is an entry of its metadata.
    """

    op: str
    field: str | None
    key: str
    value: Scalar | tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class Compound:
    """Combine filters by ``and`` or ``or``."""

    op: str
    parts: "tuple[Filter, ...]"


Filter = Comparison | Compound


class FilterError(ValueError):
    """A filter is invalid; ``path`` locates the error."""

    def __init__(self, path: Sequence[str], message: str) -> None:
        super().__init__(message)
        self.path = ".".join(path)


def parse_filter(value: object) -> Filter:
    """Parse a filter.

    Raises:
        FilterError: It is invalid or too large.
    """
    parsed = _parse(value, (), depth=1)
    if count_comparisons(parsed) > MAX_COMPARISONS:
        raise FilterError((), f"At most {MAX_COMPARISONS} comparisons are allowed.")
    return parsed


def count_comparisons(tree: Filter) -> int:
    """Return the number of comparisons in a tree."""
    return sum(map(count_comparisons, tree.parts)) if isinstance(tree, Compound) else 1


def metadata_keys(tree: Filter) -> frozenset[str]:
    """Return the entries of metadata that a tree compares."""
    if isinstance(tree, Compound):
        return frozenset().union(*map(metadata_keys, tree.parts))
    return frozenset() if tree.field else frozenset({tree.key})


def _parse(tree: object, path: tuple[str, ...], *, depth: int) -> Filter:
    if not isinstance(tree, Mapping):
        raise FilterError(path, "Must be an object with a type.")
    op = tree.get("type")
    if op in COMPOUNDS:
        _expect_names(tree, {"type", "filters"}, path)
        parts, path = tree["filters"], (*path, "filters")
        if depth == MAX_DEPTH:
            raise FilterError(path, f"Filters nest at most {MAX_DEPTH} deep.")
        if not isinstance(parts, list) or not 1 <= len(parts) <= MAX_COMPARISONS:
            raise FilterError(path, f"Must be a list of 1 to {MAX_COMPARISONS} filters.")
        filters = (_parse(part, (*path, str(i)), depth=depth + 1) for i, part in enumerate(parts))
        return Compound(op, tuple(filters))
    if op not in (*COMPARISONS, *MEMBERSHIPS):
        known = ", ".join((*COMPARISONS, *MEMBERSHIPS, *COMPOUNDS))
        raise FilterError((*path, "type"), f"Must be one of {known}.")
    _expect_names(tree, {"type", "key", "value"}, path)
    key = _parse_text(tree["key"], (*path, "key"))
    field = key if key in TEXT_FIELDS | COUNT_FIELDS | TIME_FIELDS else None
    key = key if field else key.removeprefix(METADATA_PREFIX)
    if not key:
        raise FilterError((*path, "key"), "This field may not be blank.")
    value_path = (*path, "value")
    if op in MEMBERSHIPS:
        values = tree["value"]
        if not isinstance(values, list) or not 1 <= len(values) <= MAX_VALUES:
            raise FilterError(value_path, f"Must be a list of 1 to {MAX_VALUES} values.")
        parsed = (_parse_value(each, field, (*value_path, str(i))) for i, each in enumerate(values))
        return Comparison(op, field, key, tuple(parsed))
    value = _parse_value(tree["value"], field, value_path)
    if isinstance(value, bool) and op not in {"eq", "ne"}:
        raise FilterError(value_path, "true and false have no order; use eq or ne.")
    return Comparison(op, field, key, value)


def _expect_names(tree: Mapping[Any, Any], names: set[str], path: tuple[str, ...]) -> None:
    for name in sorted(names - tree.keys()):
        raise FilterError((*path, name), "This field is required.")
    for name in tree.keys() - names:
        raise FilterError((*path, str(name)[:40]), "A filter has no such field.")


def _parse_value(value: object, field: str | None, path: tuple[str, ...]) -> Scalar:
    if field is None:
        if isinstance(value, bool | int) or (isinstance(value, float) and isfinite(value)):
            return value
        return _parse_text(value, path, needed="Text, a number, true or false is needed.")
    if field in TIME_FIELDS:
        # A date means its first moment in UTC.
        needed = "A date, or a time with its zone, in ISO 8601 is needed."
        text = _parse_text(value, path, needed)
        try:
            is_date = len(text) == len("2026-01-31")
            moment = datetime.fromisoformat(f"{text}T00:00:00Z" if is_date else text)
        except ValueError as exc:
            raise FilterError(path, needed) from exc
        if moment.tzinfo is None:
            raise FilterError(path, needed)
        if not is_storable_time(moment):
            raise FilterError(path, f"Must be a time from {EARLIEST.date()} to {LATEST.date()}.")
        return moment.astimezone(UTC)
    if field not in COUNT_FIELDS:
        return _parse_text(value, path)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= MAX_COUNT:
        return value
    raise FilterError(path, "Must be a whole number.")


def _parse_text(value: object, path: tuple[str, ...], needed: str = "Must be text.") -> str:
    if not isinstance(value, str):
        raise FilterError(path, needed)
    if len(value) > MAX_TEXT_CHARS:
        raise FilterError(path, f"Must have at most {MAX_TEXT_CHARS} characters.")
    if not is_storable(value):
        raise FilterError(path, "Contains a character that cannot be stored.")
    return value


_VALUE = {"type": ["string", "number", "boolean"]}
_COMMON = {"key": {"type": "string", "description": "a field of the document or its metadata"}}


def _schema(kind: str, rest: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "required": ["type", *rest],
        "additionalProperties": False,
        "properties": {"type": _ref(kind), **rest},
    }


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _enum(ops: Sequence[str]) -> dict[str, Any]:
    return {"type": "string", "enum": list(ops)}


# JSON Schema for OpenAPI. The kinds have names, since client generators cannot read a recursive
# union of unnamed schemas. So do their types: drf-spectacular merges unnamed enums of fields with
# the same name, and generators misread a union of constants.
FILTER_SCHEMAS = {
    "SearchFilter": {
        "description": (__doc__ or "").strip(),
        "oneOf": [_ref("FilterComparison"), _ref("FilterMembership"), _ref("FilterCompound")],
    },
    "FilterComparison": _schema("ComparisonType", {**_COMMON, "value": _VALUE}),
    "FilterMembership": _schema(
        "MembershipType", {**_COMMON, "value": {"type": "array", "items": _VALUE}}
    ),
    "FilterCompound": _schema(
        "CompoundType", {"filters": {"type": "array", "items": _ref("SearchFilter")}}
    ),
    "ComparisonType": _enum(COMPARISONS),
    "MembershipType": _enum(MEMBERSHIPS),
    "CompoundType": _enum(COMPOUNDS),
}
