"""Filters on metadata: values stand in a JSON path as data, and equality has an index."""

import json
from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from corpus.filters import parse_filter
from corpus.models import Collection, Document
from tests.support.database import execute

pytestmark = [pytest.mark.slow, pytest.mark.no_cover]

drawn = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
hostile = st.sampled_from(
    ['"', "\\", '\\"', "'", "''", "$value", "@ || true)", '") || (@ != "', "\\u0041", "\n", "\x7f",
     "%s", "%%", "?", "{}", "🚀", "é", "e\u0301", "第一", "", " ", "1", "-1", "1.0", "true", "null"]
)  # fmt: skip
texts = hostile | st.text(max_size=8).filter(
    lambda text: "\x00" not in text and not any("\ud800" <= char <= "\udfff" for char in text)
)
numbers = (
    st.sampled_from([0, -0.0, 1, 1.0, -1, -1.0, 10**40, -(10**40), 5e-324, 1e308, 0.1, 1e16])
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
)
scalars = texts | numbers | st.booleans()
kept = scalars | st.none() | st.lists(scalars | st.lists(scalars, max_size=2), max_size=3)
keys = st.sampled_from(["a", 'b"]$.*', "c\\d", "é", "$", "@"])
rows = st.lists(st.dictionaries(keys, kept | st.dictionaries(keys, kept, max_size=1), max_size=4))
OPERATORS = {"eq": "==", "gt": ">", "gte": ">=", "lt": "<", "lte": "<=", "in": "=="}
REFERENCE = """
SELECT id FROM corpus_document WHERE jsonb_path_exists(metadata, %s::jsonpath, %s::jsonb)
"""


@st.composite
def comparisons(draw: Any) -> dict[str, Any]:
    op = draw(st.sampled_from(list(OPERATORS)))
    value = draw(texts | numbers)
    if op == "eq":
        value = draw(scalars)
    if op == "in":
        value = draw(st.lists(scalars, min_size=1, max_size=5))
    return {"type": op, "key": f"metadata.{draw(keys)}", "value": value}


def store(found: list[dict[str, Any]]) -> None:
    collection = Collection.objects.get_named("default")
    Document.objects.bulk_create(
        Document(collection=collection, metadata=metadata) for metadata in found
    )


def plainly_found(comparison: dict[str, Any]) -> set[Any]:
    """What the function finds whose values are variables."""
    op, value = comparison["type"], comparison["value"]
    wanted = "$value[*]" if op == "in" else "$value"
    key = json.dumps(comparison["key"].removeprefix("metadata."))
    path = f"$.{key} ? (@ {OPERATORS[op]} {wanted})"
    return {row[0] for row in execute(REFERENCE, path, json.dumps({"value": value}))}


def found(comparison: dict[str, Any]) -> set[Any]:
    rows = Document.objects.matching_filter(parse_filter(comparison))
    return set(rows.values_list("pk", flat=True))


@drawn
@given(metadata=rows, comparison=comparisons())
@example([{"a": -5}, {"a": [5, -5.0]}], {"type": "eq", "key": "metadata.a", "value": -5})
@example([{"a": [["x"]]}, {"a": ["x"]}], {"type": "in", "key": "metadata.a", "value": ["x", True]})
def test_a_value_is_compared_as_data_whatever_it_holds(
    metadata: list[dict[str, Any]], comparison: dict[str, Any]
) -> None:
    with transaction.atomic():
        key = comparison["key"].removeprefix("metadata.")
        value = comparison["value"]
        store([*metadata, {key: value}, {key: [value]}])
        expected = plainly_found(comparison)
        assert found(comparison) == expected
        execute("SET LOCAL enable_seqscan = off")
        assert found(comparison) == expected
        transaction.set_rollback(True)


@pytest.mark.parametrize(
    ("op", "value"),
    [("eq", 'a"b'), ("eq", -500), ("eq", 0.5), ("eq", True), ("in", ["a", -500, False])],
)
def test_equality_is_looked_up_in_the_index(op: str, value: Any) -> None:
    store([{"a": number} for number in range(300)])
    execute("ANALYZE corpus_document")
    execute("SET LOCAL enable_seqscan = off")
    wanted = parse_filter({"type": op, "key": "a", "value": value})
    plan = Document.objects.matching_filter(wanted).explain(analyze=True)
    assert "Bitmap Index Scan on document_metadata" in plan
    # Had the index been read as a whole, every row would be compared again.
    assert "Rows Removed by Index Recheck" not in plan
