"""`manage.py evaluate` and `generate_questions` as people type them."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError
from django.test.utils import override_settings

from corpus.models import Collection, Document, Embedding
from evaluation import runs
from evaluation.comparison import find_regressions, make_baseline
from evaluation.datasets import Turn
from evaluation.models import Question
from evaluation.questions import decide_questions, propose_questions, read_accepted
from evaluation.reports import latest_results
from evaluation.runs import recall_turns
from pkb.product_settings import settings_with
from qa.answer_question import answer_question
from qa.context import build_context
from qa.sessions import CONTEXT_MESSAGES
from qa.types import AnsweredQuestion
from tests.support.chat_server import language_model, says
from tests.support.commands import refusal, run
from tests.support.datasets import write_dataset
from tests.support.documents import BAKERY, LIGHTHOUSE, LIGHTHOUSE_QUESTION, Ingest
from tests.support.doubles import embed_by_hashing

BOAT = "A ferry is a boat that crosses the same water every day. It carries people and carts."


@pytest.fixture(autouse=True)
def light_parts(settings: Any, tmp_path: Path) -> None:
    """Parts without weights: what is tested here is the measuring."""
    settings.PKB_EVALUATIONS_DIR = tmp_path / "kept"
    embed_by_hashing(settings)


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    documents = [
        {"id": "light", "title": "Bavoke", "text": LIGHTHOUSE},
        {"id": "same", "title": "Copy", "text": LIGHTHOUSE},
        {"id": "bakery", "text": BAKERY},
        {"id": "short", "text": "Sea."},
    ]
    question = {"question": LIGHTHOUSE_QUESTION, "answers": ["Orsolya Quill"], "doc_id": "same"}
    asked: list[dict[str, Any]] = [
        {"id": "q1", **question},
        {"id": "q2", "question": "Why?", "answerable": False},
    ]
    return write_dataset(tmp_path / "coast", corpus=documents, qa=asked)


def test_a_run_prints_figures_and_is_kept(dataset: Path, tmp_path: Path) -> None:
    out, _, code = run("evaluate", dataset, "--mode", "retrieval", "--report", tmp_path / "out")
    assert code == 0
    assert "nDCG@10" in out
    (kept,) = latest_results()
    assert kept.result.dataset == "coast"
    # A question about a document is also answered by its copy.
    figure = next(each for each in kept.result.figures if each.name == "recall")
    assert (figure.value, figure.n) == (1.0, 1)
    assert {path.name for path in kept.plots} == {"recall.png"}
    page = (tmp_path / "out" / "report.html").read_text()
    assert page.count("data:image/png;base64,") == 1
    assert "http" not in page
    # It tells questions and what they were answered.
    assert kept.folder.stat().st_mode & 0o077 == 0


def test_a_run_says_where_right_answers_are_lost(dataset: Path, tmp_path: Path) -> None:
    out, _, _ = run("evaluate", dataset, "--mode", "answers", "--report", tmp_path / "out")
    assert "Where right answers are lost" in out
    assert "right, of all that was said" in out
    assert "If PKB_ANSWER_FROM were another" in out
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    assert {kind: row["asked"] for kind, row in result["by_kind"].items()} == {
        "answerable": 1,
        "unanswerable": 1,
    }
    at_default = next(row for row in result["thresholds"] if row["answer_from"] == 0.5)
    figures = {figure["name"]: figure for figure in result["figures"]}
    assert at_default["said_count"] == figures["said_right"]["n"]
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Where right answers are lost" in page
    assert "If PKB_ANSWER_FROM were another" in page
    (kept,) = latest_results()
    assert kept.plots[0].name == "risk_coverage.png"


def test_questions_of_another_set_are_asked_beside(dataset: Path, tmp_path: Path) -> None:
    asked: list[dict[str, Any]] = [
        {"id": "a", "question": "Which shares pay a dividend in April?", "answers": ["none"]},
        {"id": "b", "question": "Why?", "answerable": False},
    ]
    other = write_dataset(tmp_path / "trade", qa=asked)
    arguments = ("--mode", "answers", "--foreign", other, "--json")
    found = json.loads(run("evaluate", dataset, *arguments)[0])
    figures = {figure["name"]: figure for figure in found["figures"]}
    assert (figures["foreign_refused"]["value"], figures["foreign_refused"]["n"]) == (1.0, 1)
    # They count for nothing else.
    assert figures["refusal_recall"]["n"] == 1
    assert sum(row["asked"] for row in found["by_kind"].values()) == 2
    assert list(found["observations"]["foreign"]) == ["trade/a"]


def test_a_follow_up_is_asked_within_its_conversation(
    dataset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched: list[str] = []

    def ask(question: str, **arguments: Any) -> AnsweredQuestion:
        answered = answer_question(question, **arguments)
        searched.append(answered.searched)
        return answered

    monkeypatch.setattr(runs, "answer_question", ask)
    said = [
        {"speaker": "user", "text": LIGHTHOUSE_QUESTION},
        {"speaker": "agent", "text": "Orsolya Quill."},
    ]
    row = {"id": "f", "question": "How tall is it?", "answers": ["thirty-one"], "history": said}
    write_dataset(dataset, qa=[row])
    run("evaluate", dataset, "--mode", "answers")
    assert searched == ["How tall is the lighthouse at Bavoke?"]


def test_a_conversation_is_remembered_as_a_chat_does() -> None:
    asked = [LIGHTHOUSE_QUESTION, "How tall is it?", "Hello", "And when?", "Is it white?"]
    turns = [Turn(question, "An answer.") for question in asked]
    remembered = recall_turns(turns, context=build_context())
    assert [past.question for past in remembered] == asked[-CONTEXT_MESSAGES:]
    first = recall_turns(turns[:2], context=build_context())
    assert [past.searched for past in first] == [
        LIGHTHOUSE_QUESTION,
        "How tall is the lighthouse at Bavoke?",
    ]


def test_the_collection_is_reused_until_the_settings_change(dataset: Path) -> None:
    for _ in range(2):
        run("evaluate", dataset, "--mode", "retrieval")
    assert Collection.objects.filter(name__startswith="eval-coast-").count() == 1
    assert Document.objects.count() == 3
    run("evaluate", dataset, "--mode", "retrieval", "--set", "CHUNK_SIZE=32")
    assert Collection.objects.filter(name__startswith="eval-coast-").count() == 2


def test_a_corpus_without_all_its_vectors_is_not_measured(dataset: Path) -> None:
    run("evaluate", dataset, "--mode", "retrieval")
    Embedding.objects.filter(chunk__document__title="Bavoke").delete()
    with pytest.raises(CommandError, match=r"1 chunks of eval-coast-\w+ have no vector"):
        run("evaluate", dataset, "--mode", "retrieval")
    assert run("evaluate", dataset, "--mode", "retrieval", "--fresh")[2] == 0


def test_what_a_mode_lacks_is_said(dataset: Path) -> None:
    (dataset / "qa.jsonl").unlink()
    assert "nothing to measure answers with" in refusal("evaluate", dataset, "--mode", "answers")[0]


def test_two_configurations_are_compared(dataset: Path) -> None:
    arguments = ("--mode", "retrieval", "--compare", "FUSION_ALPHA=0", "--json")
    found = json.loads(run("evaluate", dataset, *arguments)[0])
    assert found["after"]["settings"]["FUSION_ALPHA"] == "0"
    assert {seen["name"] for seen in found["differences"]} >= {"ndcg", "recall"}
    assert latest_results() == []


def test_a_fall_below_the_baseline_exits_1(dataset: Path, tmp_path: Path) -> None:
    file = tmp_path / "baseline.json"
    run("evaluate", dataset, "--mode", "retrieval", "--write-baseline", file)
    assert run("evaluate", dataset, "--mode", "retrieval", "--against", file)[2] == 0
    (kept,) = latest_results()
    baseline = make_baseline(kept.result)
    baseline["observations"]["retrieval"]["q1"]["ndcg"] = 2.0
    assert [fall.difference.name for fall in find_regressions(baseline, kept.result)] == ["ndcg"]
    file.write_text(json.dumps(baseline))
    _, err, code = run("evaluate", dataset, "--mode", "retrieval", "--against", file)
    assert code == 1
    assert "fell: nDCG@10: 2.000 -> " in err


@pytest.mark.parametrize(
    "arguments",
    [
        (), ("/absent",), ("{}", "--collection", "default"), ("--collection", "absent"),
        ("{}", "--set", "FUSION_ALPHA"), ("{}", "--set", "NO_SUCH=1"),
        ("{}", "--compare", "FUSION_ALPHA=2"), ("{}", "--set", "PKB_DATA_DIR=/tmp/elsewhere"),
        ("{}", "--mode", "guessing"), ("{}", "--k", "0"), ("{}", "--queries", "0"),
        ("{}", "--against", "/absent.json"), ("--collection", "default"),
    ],
    ids=lambda arguments: "_".join(arguments).replace("/", "") or "nothing",
)  # fmt: skip
def test_wrong_usage_exits_2(dataset: Path, arguments: tuple[str, ...]) -> None:
    assert refusal("evaluate", *(argument.format(dataset) for argument in arguments))[1] == 2
    assert latest_results() == []


def test_settings_follow_the_environment_and_come_back(settings: Any) -> None:
    changed = settings_with({"FUSION_ALPHA": "0.75", "PKB_ANSWER_WORDS": "20"})
    assert changed.keys() == {"PKB_FUSION_ALPHA", "PKB_ANSWER_WORDS", "PKB_ANSWERERS"}
    before = settings.PKB_FUSION_ALPHA
    with override_settings(**changed):
        assert settings.PKB_FUSION_ALPHA == 0.75
    assert before == settings.PKB_FUSION_ALPHA


def test_questions_are_proposed_accepted_and_asked(ingest: Ingest) -> None:
    ingest(BOAT, title="Ferry")
    out, _, _ = run("generate_questions", "--count", "5")
    assert "What is a ferry?" in out
    question = Question.objects.get()
    assert question.quote == BOAT[question.start_char : question.end_char]
    assert question.document is not None
    assert question.content_sha256 == question.document.content_sha256
    assert "0 questions proposed" in run("generate_questions")[0]
    decide_questions(Question.objects.all(), state=Question.State.ACCEPTED)
    out, _, code = run("evaluate", "--collection", "default", "--mode", "retrieval", "--json")
    assert code == 0
    assert json.loads(out)["figures"][0]["value"] == 1.0


def test_a_question_whose_quote_is_gone_is_left_out(ingest: Ingest) -> None:
    ingest(BOAT, source_uri="note:ferry")
    (question,) = propose_questions(Collection.objects.get_named("default"), count=9)
    decide_questions(Question.objects.all(), state=Question.State.ACCEPTED)
    assert read_accepted(question.collection)[1] == 0
    ingest(BAKERY, source_uri="note:ferry")
    dataset, stale_count = read_accepted(question.collection)
    assert (dataset.questions, stale_count) == ((), 1)


@pytest.mark.parametrize(
    ("answer", "count"), [("every day", 1), ("twice a day", 0)], ids=["verbatim", "invented"]
)
def test_a_language_model_writes_questions(
    answer: str, count: int, ingest: Ingest, settings: Any
) -> None:
    ingest(BOAT, title="Ferry")
    written = json.dumps({"question": "How often does a ferry cross?", "answer": answer})
    with language_model(settings, says(written)):
        out, _, _ = run("generate_questions")
    assert f"{count} questions proposed" in out
    for question in Question.objects.all():
        assert question.answers == ["every day"]
        assert question.quote == "A ferry is a boat that crosses the same water every day."


def test_the_admin_accepts_and_rejects(admin_client: Any, ingest: Ingest) -> None:
    ingest(BOAT)
    (question,) = propose_questions(Collection.objects.get_named("default"), count=1)
    for action, state in (("accept", "accepted"), ("reject", "rejected")):
        body = {"action": action, "_selected_action": [str(question.pk)]}
        assert admin_client.post("/admin/evaluation/question/", body).status_code == 302
        question.refresh_from_db()
        assert question.state == state
    assert admin_client.get("/admin/evaluation/question/").status_code == 200
