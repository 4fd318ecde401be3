"""A collection is tested with questions made from its documents."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from accounts.authentication import principal_of
from accounts.models import Event
from corpus.access.principal import acting_as
from corpus.errors import BackendError
from corpus.jobs.run import run_job_slice
from corpus.jobs.states import cancel_job, retry_job
from corpus.models import Collection, Grant, Job
from evaluation import collection_benchmark
from evaluation.collection_benchmark import (
    NAMES,
    Trial,
    make_trials,
    measure_trials,
    read_trials,
    start_benchmark,
)
from evaluation.models import CollectionBenchmark, Question
from qa.answer_question import answer_question
from qa.context import build_context
from qa.models import Answer
from tests.support.chat_server import fails, language_model, says
from tests.support.client import Api
from tests.support.commands import refusal, run
from tests.support.jobs import run_job
from tests.support.users import Tenant

HANDBOOK = """# Quarry handbook

## Annual holiday

Everyone who cuts stone is away for twenty-six days in each calendar year, or 26 days in short.

## Lost helmets

Report a missing helmet to the foreman before the next blast, and borrow one from the shed.
"""
HOLIDAY = "Annual holiday in Quarry handbook: how many days?"

pytestmark = pytest.mark.usefixtures("cheap_model")


@pytest.fixture
def handbook(collection: Collection, api: Api) -> str:
    file = SimpleUploadedFile("handbook.md", HANDBOOK.encode())
    reply = api.post("/ingest", {"file": file}, format="multipart")
    assert reply.status_code == 201
    return str(reply.json()["document_id"])


def start(client: Client) -> Job:
    assert client.post("/ui/quality/benchmark", {"collection": "default"}).status_code == 302
    return Job.objects.get(kind="benchmark")


def trials() -> list[Trial]:
    return read_trials(CollectionBenchmark.objects.get())


def test_page_offers_the_test_and_shows_its_figures(
    client: Client, api: Api, collection: Collection
) -> None:
    assert "Test this collection" not in api.page("/ui/quality")  # nothing to ask
    api.post("/ingest", {"file": SimpleUploadedFile("handbook.md", HANDBOOK.encode())},
             format="multipart")  # fmt: skip
    assert "Test this collection" in api.page("/ui/quality")
    before = Event.objects.count()
    job = start(client)
    assert start(client) == job  # once at a time
    assert 'hx-trigger="every 1s"' in api.page("/ui/quality")
    run_job(job)
    assert (job.status, job.total, job.done) == ("succeeded", 4, 4)
    page = api.page("/ui/quality")
    assert page.count("&nbsp;of&nbsp;2</td>") == 9
    assert "expect worse" in page
    for trial in trials():
        assert trial.question in page
        assert trial.is_asked
    assert "Test again" in page
    # Nobody asked.
    assert not Answer.objects.exists()
    assert not Question.objects.exists()
    assert not Event.objects.filter(action="ask").exists()
    assert Event.objects.count() == before


def test_statement_is_found_quoted_and_missed(handbook: str, collection: Collection) -> None:
    context = build_context()
    asked = [each.ask(collection, context=context)
             for each in make_trials(collection, context=context)]  # fmt: skip
    holiday, stranger = (
        next(e for e in asked if e.question.startswith("Annual") and bool(e.name) == is_named)
        for is_named in (False, True)
    )
    assert holiday.question == HOLIDAY
    assert holiday.statement == HANDBOOK.split("\n\n")[2]
    assert holiday.rank >= 1
    assert holiday.document_id == handbook
    assert holiday.is_right == (holiday.said != "")
    assert stranger.question == f"{HOLIDAY[:-1]} at {stranger.name}?"
    assert stranger.is_right == (stranger.said == "")
    assert stranger.rank == 0


def test_names_are_of_no_document(handbook: str, collection: Collection, api: Api) -> None:
    api.ingest(f"The mill of {NAMES[0].upper()} grinds spelt and rye.", title="Mill")
    made = make_trials(collection, context=build_context())
    assert [each.name for each in made if each.name] == list(NAMES[1:3])


def test_figures_count_what_was_asked() -> None:
    trial = Trial("Why?", "text/plain", "So.", "d", 0, 3, is_asked=True)
    named = Trial("Why at X?", "text/plain", "So.", "d", 0, 3, name="X", is_asked=True)
    asked = [
        replace(trial, rank=1, said="So.", is_right=True), replace(trial, rank=3, said="No."),
        replace(trial, rank=9), trial, replace(trial, is_asked=False, rank=1),
        replace(named, is_right=True), replace(named, said="So."),
        replace(named, said="So.", is_warned=True), replace(named, said="So.", is_warned=True),
    ]  # fmt: skip
    assert [(hits, of) for _, hits, of in measure_trials(asked)] == [
        (1, 4), (2, 4), (3, 4), (1, 4), (1, 4), (2, 4), (1, 4), (2, 4), (1, 4)
    ]  # fmt: skip


def test_deleted_document_takes_the_test_with_it(handbook: str, client: Client, api: Api) -> None:
    job = start(client)
    assert not run_job_slice(job.pk, is_slice_over=lambda: trials()[0].is_asked)
    assert len(trials()) == 4
    api.delete(f"/documents/{handbook}")
    assert not CollectionBenchmark.objects.exists()
    run_job(job)
    assert not CollectionBenchmark.objects.exists()
    assert "Test again" not in api.page("/ui/quality")


def test_stopped_test_goes_on_with_the_next_question(
    handbook: str, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = start(client)
    fail = iter([False, True])

    def answer(*arguments: Any, **options: Any) -> Any:
        if next(fail, False):
            raise BackendError("The model does not answer.")
        return answer_question(*arguments, **options)

    monkeypatch.setattr(collection_benchmark, "answer_question", answer)
    assert not run_job_slice(job.pk)
    assert [each.is_asked for each in trials()].count(True) == 1
    run_job(job)
    assert all(each.is_asked for each in trials())


def test_older_test_leaves_the_questions_of_a_newer_one(
    handbook: str, client: Client, api: Api
) -> None:
    older = start(client)
    assert not run_job_slice(older.pk, is_slice_over=lambda: True)
    cancel_job(older.pk)
    CollectionBenchmark.objects.update(questions=[])
    run_job(retry_job(older.pk))
    assert trials() == []


def test_questions_are_made_again_by_the_next_worker_if_one_stops(
    handbook: str, client: Client
) -> None:
    job = start(client)
    assert not run_job_slice(job.pk, should_stop=lambda: True)
    assert (trials(), Job.objects.get(pk=job.pk).is_listed) == ([], False)
    run_job(job)
    assert len(trials()) == 4


def test_collection_without_statements_gives_no_questions(
    client: Client, api: Api, collection: Collection
) -> None:
    api.ingest("Rye, spelt, barley, oats, and on Mondays caraway.", title="Mill")
    run_job(start(client))
    assert "give no questions" in api.page("/ui/quality")


@pytest.mark.usefixtures("login_required")
def test_readers_see_the_test_and_writers_start_it(ida: Tenant, otto: Tenant) -> None:
    client = Client()
    client.force_login(otto.user)
    body = {"collection": "secret@ida"}
    assert client.post("/ui/quality/benchmark", body).status_code == 404
    with acting_as(principal_of(otto.user)):
        assert not CollectionBenchmark.objects.exists()
    grant = Grant.objects.create(
        collection=Collection.objects.get(name="secret"), user=otto.user, role="reader"
    )
    assert client.post("/ui/quality/benchmark", body).status_code == 403
    page = client.get("/ui/quality", body).content.decode()
    assert "marigold key" in page
    assert "Test again" not in page
    with acting_as(principal_of(otto.user)):
        assert CollectionBenchmark.objects.get().questions
        assert CollectionBenchmark.objects.update(questions=[]) == 0
    grant.role = "writer"
    grant.save()
    assert client.post("/ui/quality/benchmark", body).status_code == 302
    with acting_as(principal_of(otto.user)):
        assert start_benchmark(grant.collection).made_by == otto.user


def test_command_prints_the_figures(handbook: str, tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    out, progress, code = run("benchmark", "--collection", "default", "--json", path)
    assert code == 0
    assert "Answer quotes the statement: right:" in out
    assert "expect worse" in out
    assert "questions: 4 of 4" in progress
    assert {row["document_id"] for row in json.loads(path.read_text())} == {handbook}
    assert not CollectionBenchmark.objects.exists()
    assert not Answer.objects.exists()
    problem, code = refusal("benchmark", "policyqa_test", "--collection", "default")
    assert (code, "only --lm and --json" in problem) == (2, True)
    assert refusal("benchmark", "--collection", "nothing")[1] == 2


def test_language_model_writes_the_questions_unless_it_fails(
    handbook: str, collection: Collection, settings: Any
) -> None:
    asked = "Where does one borrow a helmet?"
    reply = json.dumps({"question": asked, "answer": "from the shed"})
    with language_model(settings, says(reply)):
        written = make_trials(collection, context=build_context())
    assert {each.question for each in written if not each.name} == {asked}
    assert "from the shed" in written[0].statement
    with language_model(settings, fails(500)):
        made = make_trials(collection, context=build_context())
    assert HOLIDAY in {each.question for each in made}
