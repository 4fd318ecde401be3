"""The grammar of search filters."""

from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.filters import (
    MAX_DEPTH,
    Comparison,
    Compound,
    FilterError,
    count_comparisons,
    parse_filter,
)


def compare(op: str, key: str, value: Any) -> dict[str, Any]:
    return {"type": op, "key": key, "value": value}


def nested(depth: int) -> dict[str, Any]:
    leaf = compare("eq", "a", 1)
    for _ in range(depth - 1):
        leaf = {"type": "and", "filters": [leaf]}
    return leaf


def test_a_field_and_an_entry_of_the_metadata_are_told_apart() -> None:
    assert parse_filter(compare("eq", "title", "A")) == Comparison("eq", "title", "title", "A")
    assert parse_filter(compare("eq", "metadata.title", "A")) == Comparison(
        "eq", None, "title", "A"
    )
    assert parse_filter(compare("gt", "year", 2_000)) == Comparison("gt", None, "year", 2_000)


def test_compounds_nest() -> None:
    tree = {"type": "or", "filters": [compare("in", "a", [1, "b"]), nested(3)]}
    leaf = Comparison("eq", None, "a", 1)
    expected = Compound(
        "or",
        (
            Comparison("in", None, "a", (1, "b")),
            Compound("and", (Compound("and", (leaf,)),)),
        ),
    )
    assert parse_filter(tree) == expected
    assert count_comparisons(expected) == 2


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-01-31", datetime(2026, 1, 31, tzinfo=UTC)),
        ("2026-01-31T10:00:00Z", datetime(2026, 1, 31, 10, tzinfo=UTC)),
        ("2026-01-31T10:00:00+02:00", datetime(2026, 1, 31, 8, tzinfo=UTC)),
    ],
    ids=["day", "UTC", "zone"],
)
def test_times_are_moments(text: str, moment: datetime) -> None:
    assert parse_filter(compare("lt", "created_at", text)).value == moment  # type: ignore[union-attr]


BAD = {
    "no object": ([], ""),
    "no type": ({"key": "a", "value": 1}, "type"),
    "unknown type": (compare("like", "a", "b"), "type"),
    "type a list": ({"type": []}, "type"),
    "no key": ({"type": "eq", "value": 1}, "key"),
    "key a number": (compare("eq", 5, 1), "key"),  # type: ignore[arg-type]
    "key empty": (compare("eq", "", 1), "key"),
    "key only a prefix": (compare("eq", "metadata.", 1), "key"),
    "key with NUL": (compare("eq", "a\x00", 1), "key"),
    "no value": ({"type": "eq", "key": "a"}, "value"),
    "value null": (compare("eq", "a", None), "value"),
    "value an object": (compare("eq", "a", {}), "value"),
    "value a list": (compare("eq", "a", [1]), "value"),
    "value infinite": (compare("eq", "a", float("inf")), "value"),
    "value long": (compare("eq", "a", "x" * 1_001), "value"),
    "value a surrogate": (compare("eq", "a", "\ud800"), "value"),
    "order of truths": (compare("gt", "a", True), "value"),
    "in without list": (compare("in", "a", 1), "value"),
    "in nothing": (compare("in", "a", []), "value"),
    "in null": (compare("nin", "a", [1, None]), "value.1"),
    "too many values": (compare("in", "a", [1] * 101), "value"),
    "title a number": (compare("eq", "title", 5), "value"),
    "count a text": (compare("gt", "word_count", "5"), "value"),
    "count a truth": (compare("eq", "word_count", True), "value"),
    "count a fraction": (compare("gt", "word_count", 1.5), "value"),
    "time a number": (compare("gt", "created_at", 5), "value"),
    "time no date": (compare("gt", "created_at", "yesterday"), "value"),
    "time without zone": (compare("gt", "created_at", "2026-01-31T10:00:00"), "value"),
    "time before all": (compare("gt", "created_at", "0001-01-01T00:00:00+02:00"), "value"),
    "no filters": ({"type": "and"}, "filters"),
    "filters empty": ({"type": "or", "filters": []}, "filters"),
    "inner": ({"type": "or", "filters": [nested(1), {"type": "x"}]}, "filters.1.type"),
    "further field": ({**nested(1), "boost": 2}, "boost"),
    "too deep": (nested(MAX_DEPTH + 1), ".".join(["filters", "0"] * (MAX_DEPTH - 1) + ["filters"])),
    "too many": (
        {"type": "and", "filters": [{"type": "or", "filters": [nested(1)] * 26}] * 2},
        "",
    ),
}


@pytest.mark.parametrize(("bad", "path"), BAD.values(), ids=BAD.keys())
def test_what_breaks_the_grammar_is_refused_where_it_is(bad: Any, path: str) -> None:
    with pytest.raises(FilterError) as refused:
        parse_filter(bad)
    assert refused.value.path == path


def test_the_deepest_filter_is_taken() -> None:
    assert count_comparisons(parse_filter(nested(MAX_DEPTH))) == 1


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["type", "key", "value", "filters", "x"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@given(json_values)
def test_any_json_is_read_or_refused(value: Any) -> None:
    with suppress(FilterError):
        assert count_comparisons(parse_filter(value)) >= 1
