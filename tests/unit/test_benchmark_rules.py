"""The published rules of scoring, each on an example that can be worked out by hand."""

import json
from typing import Any

import numpy as np
import pytest

from evaluation.benchmarks import converters
from evaluation.benchmarks.catalogue import BENCHMARKS
from evaluation.benchmarks.rules import (
    count_spans,
    judge_first,
    macro_f1_of_sources,
    spans_f1,
    squad_exact_match,
    squad_f1,
)
from pkb.env import BASE_DIR


@pytest.mark.parametrize(
    ("ranking", "relevant", "expected"),
    [
        # As in the published outputs: precision, recall, reciprocal rank.
        (["x", "a", "y", "b"], {"a", "b"}, (1 / 3, 0.5, 0.5)),
        (["a", "b", "x"], {"a", "b"}, (2 / 3, 1, 1)),
        (["x", "y", "a"], {"a"}, (1 / 3, 1, 1 / 3)),
        (["x", "y", "z", "a"], {"a"}, (0, 0, 0)),
        # A chunk that is found twice counts once.
        (["a", "x", "a"], {"a", "b"}, (1 / 2, 1 / 2, 1)),
        ([], {"a"}, (0, 0, 0)),
    ],
)
def test_first_results_are_judged_as_published(
    ranking: list[str], relevant: set[str], expected: tuple[float, ...]
) -> None:
    assert judge_first(ranking, relevant, k=3) == pytest.approx(expected)


def test_spans_are_compared_without_articles_and_punctuation() -> None:
    assert squad_exact_match("The U.S. Navy!", ["navy", "us navy"]) == 1
    assert squad_exact_match("navy of the US", ["us navy"]) == 0
    assert squad_f1("the old harbour wall", ["a wall", "harbour"]) == pytest.approx(0.5)
    assert squad_f1("the", ["a wall"]) == 0


def test_of_several_spans_equal_ones_count() -> None:
    rows = np.array(
        [
            count_spans(["the lamp", "wall", "Wall"], ["lamp", "tower"], is_partial=False),
            count_spans([], ["keeper"], is_partial=False),
        ]
    )
    # One of 2 + 1 said ones (none counts as one), one of 2 + 1 gold ones.
    assert spans_f1(rows) == pytest.approx(1 / 3)
    assert spans_f1(rows[1:]) == 0


def test_of_several_spans_parts_count() -> None:
    (counts,) = [count_spans(["lighthouse"], ["house", "x"], is_partial=True)]
    assert counts == pytest.approx((5 / 10, 1, 1, 2))
    assert count_spans([], ["x"], is_partial=True) == (0, 1, 0, 1)
    assert count_spans(["the"], ["x"], is_partial=True) == (0, 1, 0, 1)


def test_each_source_counts_the_same() -> None:
    # Source 0: all right. Source 1: all three are accepted, of which one is held up.
    rows = [(0, 1, 1), (0, 0, 0), (1, 1, 1), (1, 0, 1), (1, 0, 1)]
    assert macro_f1_of_sources(np.array(rows, float)) == pytest.approx((1 + (0.5 + 0) / 2) / 2)
    # A class that nobody has or says is left out.
    assert macro_f1_of_sources(np.array([(0, 1, 1)], float)) == 1


def as_json(value: Any) -> bytes:
    return json.dumps(value).encode()


def as_lines(*rows: Any) -> bytes:
    return b"\n".join(map(as_json, rows)) + b"\n"


def test_documentation_chunks_are_converted() -> None:
    chunks = [{"chunk_link": "/a#b", "chunk_heading": "Keys", "text": "Turn it."}]
    asked = {"id": "q", "question": "How?", "correct_answer": "So."}
    questions = [{**asked, "correct_chunks": ["/a#b", "/a#b", "/gone"]}]
    assert converters.convert_anthropic_docs([as_json(chunks), as_json(questions)]) == {
        "corpus": [{"id": "/a#b", "title": "Keys", "text": "Turn it."}],
        "queries": [{"id": "q", "text": "How?"}],
        "qrels": [{"qid": "q", "docid": "/a#b"}],
    }


def test_code_chunks_are_found_by_file_and_index() -> None:
    chunks = [{"chunk_id": f"c{n}", "original_index": n, "content": f"fn {n}"} for n in (0, 1)]
    files = [{"doc_id": "doc_1", "original_uuid": "u", "content": "", "chunks": chunks}]
    question = {"query": "Which?", "answer": "1", "golden_chunk_uuids": [["u", 1]]}
    assert converters.convert_anthropic_code([as_json(files), as_lines(question)]) == {
        "corpus": [{"id": "c0", "text": "fn 0"}, {"id": "c1", "text": "fn 1"}],
        "queries": [{"id": "q0", "text": "Which?"}],
        "qrels": [{"qid": "q0", "docid": "c1"}],
    }


def test_claims_keep_their_source() -> None:
    row = {
        "id": "c", "claim": "It is tall.", "references": ["Tall."], "question": "?",
        "attribution_label": "attributable", "src_dataset": "LFQA",
    }  # fmt: skip
    (claim,) = converters.convert_attributionbench([as_lines(row)])["claims"]
    assert claim == {
        "id": "c", "claim": "It is tall.", "evidence": ["Tall."], "label": "attributable",
        "source": "LFQA",
    }  # fmt: skip


def test_contradicting_passages_are_two_documents_or_one() -> None:
    two = {
        "question": "How tall?", "answer1": "3 m", "answer2": "4 m",
        "context1_self_contained": "The mast is 3 m.", "context1_info": "It is 3 m.",
        "context2_self_contained": "The mast is 4 m.", "context2_info": "It is 4 m.",
    }  # fmt: skip
    both = {**two, "context2_self_contained": "The mast is 3 m."}
    article = {"title": "Mast", "annotationResult": {"paragraphA_information": "It is 3 m."}}
    found = converters.convert_wikicontradict([as_lines(two, both), as_json([article])])
    assert [row["doc_id"] for row in found["qa"]] == [["wc0-1", "wc0-2"], ["wc1-1"]]
    assert found["corpus"][1] == {
        "id": "wc0-2", "title": "Mast", "text": "The mast is 4 m.", "wikipedia": "It is 4 m."
    }  # fmt: skip
    assert found["qa"][0]["answers"] == ["3 m", "4 m"]


def test_paragraphs_with_questions_are_converted() -> None:
    answers = [{"text": "two years", "answer_start": 3}, {"text": "two", "answer_start": 3}]
    asked = {"id": "q", "question": "How long?", "type": "Retention", "answers": answers}
    paragraph = {"context": "For two years.", "qas": [asked]}
    articles = {"data": [{"title": "example.org", "paragraphs": [paragraph]}]}
    assert converters.convert_policyqa([as_json(articles)]) == {
        "corpus": [{"id": "example.org#0", "title": "example.org", "text": "For two years."}],
        "qa": [
            {"id": "q", "question": "How long?", "doc_id": "example.org#0",
             "answers": ["two years", "two"]}
        ],
    }  # fmt: skip


def test_labelled_tokens_become_spans() -> None:
    row = {
        "id": "q", "question": ["who", "?"],
        "context": ["Ann", "Orr", ",", "Bo", "Cy", "and", "Di"],
        "label": ["B", "I", "O", "B", "B", "O", "I"],
    }  # fmt: skip
    found = converters.convert_multispanqa([as_json({"data": [row]})])
    assert found["corpus"] == [{"id": "q", "text": "Ann Orr , Bo Cy and Di"}]
    assert found["qa"][0]["answers"] == ["Ann Orr", "Bo", "Cy", "Di"]
    assert found["qa"][0]["question"] == "who ?"


def test_no_benchmark_is_what_weights_or_constants_were_made_from() -> None:
    files = [BASE_DIR / "qa" / "calibration.json", *(BASE_DIR / "qa").glob("**/*.md")]
    told = "\n".join(path.read_text(encoding="utf-8") for path in files).lower()
    assert "squad2" in told  # it names the sets that were read
    names = [benchmark.name.partition("_test")[0] for benchmark in BENCHMARKS]
    assert [name for name in names if name.replace("_", "") in told.replace("_", "")] == []
