"""Data set folders, well-formed and not."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from corpus.errors import InvalidDataSet
from evaluation.datasets import Turn, draw_foreign_questions, read_dataset, sample_dataset

DOCUMENT = {"id": "d1", "title": "Bavoke", "text": "The tower is thirty-one metres tall."}
QUESTION = {"id": "q1", "question": "How tall?", "answers": ["thirty-one"], "doc_id": "d1"}


def write(folder: Path, name: str, *rows: Any) -> None:
    lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
    (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n")


def test_a_whole_data_set_is_read(tmp_path: Path) -> None:
    write(tmp_path, "corpus", DOCUMENT, {"id": 2, "text": ""})
    write(tmp_path, "queries", {"id": "q1", "text": "tower"}, {"id": "unjudged", "text": "sea"})
    write(
        tmp_path,
        "qrels",
        {"qid": "q1", "docid": "d1", "grade": 2},
        {"qid": "q1", "docid": 2, "grade": 0},
    )
    asked = {**QUESTION, "kind": "number"}
    write(tmp_path, "qa", asked, {"id": "q2", "question": "Why?", "answerable": False})
    dataset = read_dataset(tmp_path)
    assert dataset.name == tmp_path.name
    assert dataset.counts == {"documents": 2, "queries": 1, "questions": 2}
    (query,) = dataset.queries
    assert (query.relevant, query.answers) == ({"d1": 2}, ("thirty-one",))
    assert [question.is_answerable for question in dataset.questions] == [True, False]
    assert [question.kind for question in dataset.questions] == ["number", "unanswerable"]


def test_zipped_files_and_files_named_by_path_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n\nText.")
    with gzip.open(tmp_path / "corpus.jsonl.gz", "wt") as lines:
        # Some sets have both: what people send in is the file.
        row = {"id": "d1", "path": "a.md", "text": "What somebody read in it."}
        lines.write(json.dumps(row) + "\n\n")
    write(tmp_path, "qa", QUESTION)
    dataset = read_dataset(tmp_path)
    assert dataset.documents[0].path == tmp_path / "a.md"
    assert dataset.queries[0].relevant == {"d1": 1}


@pytest.mark.parametrize(
    ("name", "row", "reason"),
    [
        ("corpus", "{", "corpus.jsonl:2: is no JSON"),
        ("corpus", "[1]", "corpus.jsonl:2: is no JSON object"),
        ("corpus", {"text": "x"}, "corpus.jsonl:2: 'id' must be an id"),
        ("corpus", DOCUMENT, "corpus.jsonl:2: the id 'd1' stands there twice"),
        ("corpus", {"id": "d2"}, "corpus.jsonl:2: 'text' or 'path' is missing"),
        ("corpus", {"id": "d2", "text": 3}, "corpus.jsonl:2: 'text' must be a text"),
        ("corpus", {"id": "d2", "path": "no.md"}, "corpus.jsonl:2: there is no file"),
        ("qa", {"id": "q2", "question": " "}, "qa.jsonl:2: 'question' must be a text"),
        ("qa", {**QUESTION, "id": "q2", "doc_id": "d9"}, "qa.jsonl:2: the corpus has no document"),
        ("qa", {**QUESTION, "id": "q2", "answers": [1]}, "qa.jsonl:2: 'answers' must be a list"),
        ("qa", {**QUESTION, "id": "q2", "answerable": 1}, "qa.jsonl:2: 'answerable' must be"),
        ("qa", {**QUESTION, "id": "q2", "history": "Hi."}, "qa.jsonl:2: 'history' must be a list"),
        ("qa", {**QUESTION, "id": "q2", "history": [{"speaker": "dog", "text": "x"}]}, "'history'"),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) and ":" in value else "",
)
def test_a_bad_line_is_named(tmp_path: Path, name: str, row: Any, reason: str) -> None:
    write(tmp_path, "corpus", DOCUMENT)
    write(tmp_path, "qa", QUESTION)
    with (tmp_path / f"{name}.jsonl").open("a") as lines:
        lines.write((row if isinstance(row, str) else json.dumps(row)) + "\n")
    with pytest.raises(InvalidDataSet) as caught:
        read_dataset(tmp_path)
    assert reason in str(caught.value)


def test_a_relevance_of_a_strange_document_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "corpus", DOCUMENT)
    write(tmp_path, "qrels", {"qid": "q1", "docid": "d9", "grade": 1})
    with pytest.raises(InvalidDataSet, match=r"qrels.jsonl:1: the corpus has no document 'd9'"):
        read_dataset(tmp_path)


def test_broken_bytes_are_named(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_bytes(b'{"id": "\xff"}\n')
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "corpus.jsonl.gz").write_bytes(b"no gzip")
    for folder in (tmp_path, tmp_path / "other"):
        with pytest.raises(InvalidDataSet, match=r"corpus.jsonl.*:1: cannot be read"):
            read_dataset(folder)


@pytest.mark.parametrize("name", ["", "absent"], ids=["empty", "absent"])
def test_a_folder_without_a_data_set_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidDataSet):
        read_dataset(tmp_path / name)


def test_a_sample_is_repeatable_and_keeps_what_it_needs(tmp_path: Path) -> None:
    write(tmp_path, "corpus", *({"id": f"d{n}", "text": f"Text {n}."} for n in range(30)))
    write(
        tmp_path,
        "qa",
        *({"id": f"q{n}", "question": f"Which {n}?", "doc_id": f"d{n}"} for n in range(20)),
    )
    whole = read_dataset(tmp_path)
    part = sample_dataset(whole, query_count=4, document_count=10, seed=7)
    assert part == sample_dataset(whole, query_count=4, document_count=10, seed=7)
    assert part != sample_dataset(whole, query_count=4, document_count=10, seed=8)
    assert part.counts == {"documents": 10, "queries": 4, "questions": 4}
    kept = {document.id for document in part.documents}
    assert all(kept.issuperset(query.relevant) for query in part.queries)
    assert sample_dataset(whole, query_count=None, document_count=None, seed=0) == whole


def test_what_was_said_before_is_read_as_questions_with_their_answers(tmp_path: Path) -> None:
    said = [
        {"speaker": "user", "text": "Who built it?"},
        {"speaker": "agent", "text": "Orsolya Quill."},
        {"speaker": "user", "text": "Thanks."},
        {"speaker": "user", "text": "When?"},
        {"speaker": "agent", "text": "In 1874."},
    ]
    write(tmp_path, "qa", {**QUESTION, "doc_id": [], "history": said})
    (question,) = read_dataset(tmp_path).questions
    assert question.history == (
        Turn("Who built it?", "Orsolya Quill."),
        Turn("Thanks.", ""),
        Turn("When?", "In 1874."),
    )


def test_foreign_questions_are_those_that_others_answer(tmp_path: Path) -> None:
    write(tmp_path, "corpus", DOCUMENT)
    write(tmp_path, "qa", QUESTION, {"id": "q2", "question": "Why?", "answerable": False})
    (foreign,) = draw_foreign_questions(read_dataset(tmp_path), count=5, seed=0)
    assert foreign.id == f"{tmp_path.name}/q1"
    assert (foreign.text, foreign.is_answerable, foreign.kind) == ("How tall?", False, "foreign")
    assert (foreign.answers, foreign.doc_ids) == ((), ())
