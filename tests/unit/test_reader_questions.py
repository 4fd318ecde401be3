"""The questions that a reader is trained on and those held out: their form; no text is on file."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "data" / "reader"
PREFIXES = ("", "held_out_", "rules_")
Row = dict[str, Any]


def read_rows(name: str) -> list[Row]:
    content = (FOLDER / name).read_bytes()
    text = gzip.decompress(content) if name.endswith(".gz") else content
    return [json.loads(line) for line in text.decode().splitlines()]


@pytest.mark.parametrize("prefix", PREFIXES)
def test_each_question_is_asked_once_of_a_known_file(prefix: str) -> None:
    known = {row["id"] for row in read_rows(f"{prefix}documents.jsonl")}
    asked = [(row["document"], row["question"]) for row in read_rows(f"{prefix}questions.jsonl.gz")]
    assert {document for document, _ in asked} == known
    assert len(set(asked)) == len(asked)


@pytest.mark.parametrize("prefix", PREFIXES)
def test_answerable_question_has_spans_with_the_short_answer_in_the_first(
    prefix: str,
) -> None:
    for row in read_rows(f"{prefix}questions.jsonl.gz"):
        spans = row["spans"]
        assert bool(spans) == row["answerable"] == (row["kind"] != "near"), row
        assert all(0 <= start < end for start, end in spans), row
        assert len({tuple(span) for span in spans}) == len(spans), row
        if "short" in row:
            start, end = row["short"]
            assert spans[0][0] <= start < end <= spans[0][1], row


def test_no_package_or_question_that_is_held_out_is_trained_on() -> None:
    trained, held_out, rules = (
        {row["package"] for row in read_rows(f"{prefix}documents.jsonl")} for prefix in PREFIXES
    )
    assert not held_out & (trained | rules)
    learnt, kept, further = (
        {row["question"] for row in read_rows(f"{prefix}questions.jsonl.gz")} for prefix in PREFIXES
    )
    assert not kept & (learnt | further)
