"""`manage.py benchmark` as people type it, on a few rows in the form of each set."""

import gzip
import json
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from corpus.models import Collection
from evaluation.benchmarks import catalogue
from evaluation.benchmarks.catalogue import BENCHMARKS
from evaluation.benchmarks.scoreboard import Score, compare
from evaluation.management.commands import benchmark as command
from qa.models import Answer
from tests.support.chat_server import answers, language_model, statement
from tests.support.commands import refusal, run
from tests.support.datasets import write_dataset
from tests.support.documents import BAKERY, LIGHTHOUSE, LIGHTHOUSE_QUESTION
from tests.support.doubles import embed_by_hashing
from tests.support.site_server import serving

OTHER = LIGHTHOUSE.replace("1874", "1911")
SETS: dict[str, dict[str, list[dict[str, Any]]]] = {
    "anthropic_docs": {
        "corpus": [{"id": "light", "text": LIGHTHOUSE}, {"id": "bread", "text": BAKERY}],
        "queries": [{"id": "q1", "text": LIGHTHOUSE_QUESTION}],
        "qrels": [{"qid": "q1", "docid": "light"}],
    },
    "multispanqa": {
        "corpus": [{"id": "q1", "text": LIGHTHOUSE}],
        "qa": [
            {
                "id": "q1", "question": LIGHTHOUSE_QUESTION, "doc_id": "q1",
                "answers": ["the engineer Orsolya Quill", "the keeper"],
            }
        ],
    },
    "policyqa_test": {
        "corpus": [{"id": "p#0", "text": LIGHTHOUSE}],
        "qa": [
            {"id": f"q{n}", "question": LIGHTHOUSE_QUESTION, "doc_id": "p#0",
             "answers": ["the engineer Orsolya Quill"]}
            for n in range(3)
        ],
    },
    "attributionbench": {
        "claims": [
            {
                "id": "c1", "claim": "The tower is thirty-one metres tall.",
                "evidence": [LIGHTHOUSE], "label": "attributable", "source": "LFQA",
            },
            {
                "id": "c2", "claim": "The bakery is closed on Fridays.",
                "evidence": [BAKERY], "label": "not attributable", "source": "LFQA",
            },
        ],
    },
    "wikicontradict": {
        "corpus": [
            {"id": "wc0-1", "title": "Bavoke", "text": LIGHTHOUSE, "wikipedia": LIGHTHOUSE[:-1]},
            {"id": "wc0-2", "title": "Bavoke", "text": OTHER, "wikipedia": OTHER},
        ],
        "qa": [
            {
                "id": "wc0", "question": "When was the lighthouse at Bavoke built?",
                "answers": ["1874", "1911"], "doc_id": ["wc0-1", "wc0-2"],
            }
        ],
    },
}  # fmt: skip


@pytest.fixture(autouse=True)
def light_parts(settings: Any, tmp_path: Path) -> None:
    settings.PKB_EVALUATIONS_DIR = tmp_path / "kept"
    embed_by_hashing(settings)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for name, files in SETS.items():
        write_dataset(tmp_path / name, **files)
    return tmp_path


def measure(data: Path, *arguments: Any) -> dict[tuple[str, str], dict[str, Any]]:
    _, _, code = run("benchmark", "--data", data, "--json", data / "out.json", *arguments)
    assert code == 0
    rows = json.loads((data / "out.json").read_text())
    return {(row["set"], row["figure"]): row for row in rows}


def test_figures_stand_beside_the_published_ones(data: Path) -> None:
    out, _, code = run("benchmark", "anthropic_docs", "--data", data, "--html", data / "out.html")
    assert code == 0
    assert "0.865 and reranked by Claude" in " ".join(out.replace("│", " ").split())
    assert "1.000 [1.000, 1.000]" in out
    assert "Left out: SQuAD 2.0" in out
    page = (data / "out.html").read_text()
    assert page.count("<svg") == 3
    assert "http" not in page


def test_each_kind_of_set_is_measured(data: Path) -> None:
    found = measure(data, *SETS)
    values = {key: row["value"] for key, row in found.items()}
    assert values["anthropic_docs", "MRR@3"] == 1
    assert values["anthropic_docs", "precision@3"] == 0.5
    assert values["policyqa_test", "exact match"] == values["policyqa_test", "F1 of words"] == 1
    # It marks one of the two.
    assert values["multispanqa", "exact F1"] == pytest.approx(2 / 3)
    assert values["attributionbench", "macro-F1, supported"] == 1
    assert values["attributionbench", "AUROC of the score"] == 1
    told = values["wikicontradict", "both sides told"]
    assert told + values["wikicontradict", "one side told as if it were all"] <= 1
    assert values["wikicontradict", "told though none disagrees"] == 0
    assert found["wikicontradict", "told though none disagrees"]["n"] == 1
    # Neither what was asked nor what it was asked of stays, but the searched corpus does.
    assert not Answer.objects.exists()
    kept = Collection.objects.filter(name__startswith="eval-").values_list("name", flat=True)
    assert [name.rpartition("-")[0] for name in kept] == ["eval-anthropic_docs"]


def test_an_interrupted_run_resumes(data: Path) -> None:
    questions = data / "multispanqa" / "qa.jsonl"
    whole = questions.read_text()
    questions.write_text(whole[:-1])
    problem, code = refusal("benchmark", "policyqa_test", "multispanqa", "--data", data)
    assert (code, "qa.jsonl:1" in problem) == (2, True)
    questions.write_text(whole)
    _, progress, _ = run("benchmark", "policyqa_test", "multispanqa", "--data", data)
    assert "multispanqa, questions" in progress
    assert "policyqa_test, questions" not in progress
    figures = measure(data, "policyqa_test")
    assert figures == measure(data, "policyqa_test")
    _, progress, _ = run("benchmark", "policyqa_test", "--data", data, "--fresh")
    assert "policyqa_test, questions: 3 of 3" in progress


def test_a_language_model_answers_only_if_it_is_told_to(data: Path, settings: Any) -> None:
    assert refusal("benchmark", "--lm", "--data", data)[1] == 2
    built = "The lighthouse at Bavoke was built by the engineer Orsolya Quill."
    with language_model(settings, answers(statement(built, "S1.1"))) as server:
        quoted = measure(data, "policyqa_test")["policyqa_test", "F1 of words"]
        assert (quoted["answerer"], server.calls) == ("extractive", [])
        told = measure(data, "policyqa_test", "--lm", "--sample", 1)["policyqa_test", "F1 of words"]
        assert server.calls
    assert told["answerer"] != "extractive"
    assert 0 < told["value"] < quoted["value"] == 1


def test_a_sample_is_kept_apart_from_the_whole(data: Path) -> None:
    assert measure(data, "policyqa_test", "--sample", 2)["policyqa_test", "exact match"]["n"] == 2
    assert measure(data, "policyqa_test")["policyqa_test", "exact match"]["n"] == 3


def test_wrong_calls_say_why(data: Path) -> None:
    assert refusal("benchmark", "nothing", "--data", data) == (
        f"Unknown set 'nothing'; use any of {', '.join(each.name for each in BENCHMARKS)}.", 2
    )  # fmt: skip
    assert refusal("benchmark", "--sample", 0)[1] == 2
    assert refusal("benchmark", "--json", data / "none" / "x") == (
        f"There is no folder {data / 'none'}.", 2
    )  # fmt: skip
    problem, code = refusal("benchmark", "anthropic_contextual", "--data", data)
    assert (code, "--fetch gets it" in problem) == (2, True)
    (data / "attributionbench" / "claims.jsonl").write_text('{"id": "c", "source": "LFQA"}')
    assert "'claim' must be a text" in refusal("benchmark", "attributionbench", "--data", data)[0]
    (data / "policyqa_test" / "qa.jsonl").write_text("")
    problem, code = refusal("benchmark", "policyqa_test", "--data", data)
    assert (code, "no question or claim" in problem) == (2, True)


@pytest.mark.usefixtures("fetching")
def test_a_set_is_fetched_once_if_it_is_the_published_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {"id": "q", "question": LIGHTHOUSE_QUESTION, "answers": [{"text": "Orsolya Quill"}]}
    article = {"title": "example.org", "paragraphs": [{"context": LIGHTHOUSE, "qas": [asked]}]}
    content = json.dumps({"data": [article]}).encode()
    policies = next(each for each in BENCHMARKS if each.name == "policyqa_test")
    (path,) = policies.files
    small = replace(policies, files={path: sha256(content).hexdigest()})
    monkeypatch.setattr(command, "BENCHMARKS", (small,))
    with serving() as site:
        monkeypatch.setattr(catalogue, "GITHUB", site.url)
        address = f"/{small.repository}/{small.commit}/{path}"
        site.says(address, b"another text")
        problem, code = refusal("benchmark", "--fetch", "--data", tmp_path)
        assert (code, "another SHA-256" in problem) == (1, True)
        assert not (tmp_path / small.name).exists()
        site.says(address, content)
        for _ in range(2):
            assert run("benchmark", "--fetch", "--data", tmp_path)[2] == 0
        assert site.asked == [address] * 2
    with gzip.open(tmp_path / small.name / "qa.jsonl.gz", "rt") as lines:
        assert json.loads(lines.read())["answers"] == ["Orsolya Quill"]


def test_without_network_a_set_is_not_fetched(tmp_path: Path) -> None:
    problem, code = refusal("benchmark", "multispanqa", "--fetch", "--data", tmp_path)
    assert (code, "PKB_FETCH" in problem) == (1, True)


def test_a_figure_is_ahead_or_behind_beyond_its_interval() -> None:
    score = Score("F1", 0.5, 0.4, 0.6, 10)
    assert compare(score, {"a": 0.3, "b": 0.4, "c": 0.7}) == "ahead of 1, level with 1, behind 1"
    assert compare(score, {}) == "-"
