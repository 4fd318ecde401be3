"""Grids: questions to each document, kept in step with the documents."""

import csv
from io import StringIO
from typing import Any
from unittest.mock import patch

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from accounts.authentication import principal_of
from accounts.keys import create_key
from corpus.access.principal import acting_as
from corpus.catalogue import create_collection
from corpus.errors import BackendError
from corpus.jobs.run import run_job_slice
from corpus.models import Collection, Grant, Job
from qa import answer_question, grids
from qa.grids import fill_changed_grids
from qa.models import Answer, Grid
from qa.retention import purge
from tests.support.client import Api
from tests.support.database import execute
from tests.support.documents import BAKERY, LIGHTHOUSE, LIGHTHOUSE_QUESTION
from tests.support.jobs import run_job
from tests.support.users import Tenant, call
from tests.unit.loaders.sample_files import loaded

BAKERY_QUESTION = "When does the bakery in Lindow open?"
QUESTIONS = [LIGHTHOUSE_QUESTION, BAKERY_QUESTION]


@pytest.fixture
def documents(api: Api) -> dict[str, str]:
    texts = {"Bakery": BAKERY, "Lighthouse": LIGHTHOUSE}
    return {
        title: api.ingest(
            text, title=title, tags=(title.lower(),), source_uri=f"https://bavoke.example/{title}"
        ).document_id
        for title, text in texts.items()
    }


def create(api: Api, **body: Any) -> str:
    reply = api.post("/grids", {"name": "Coast", "questions": QUESTIONS, **body})
    assert reply.status_code == 201, reply.content
    return str(reply.json()["id"])


def fill() -> None:
    """Run the unfinished jobs of grids, as a worker does."""
    for job in Job.objects.unfinished().filter(kind=Job.Kind.GRID):
        assert run_job(job).status == Job.Status.SUCCEEDED


def change(api: Api, text: str, **attributes: Any) -> None:
    """Store a text as in a transaction of its own: triggers tell of one change in each."""
    execute("SELECT set_config('pkb.changed_collections', '', true)")
    api.ingest(text, **attributes)


def rows(api: Api, grid: str, **page: int) -> dict[str, list[Any]]:
    shown = api.get(f"/grids/{grid}", page).json()
    return {row["document_name"]: row["cells"] for row in shown["rows"]}


def asked(api: Api, grid: str) -> list[str]:
    """Ids of the cells' answers, row by row."""
    return [cell["answer_id"] for cells in rows(api, grid).values() for cell in cells]


def test_cell_is_a_cited_answer_or_blank(api: Api, documents: dict[str, str]) -> None:
    grid = create(api)
    assert rows(api, grid) == {"Bakery": [None, None], "Lighthouse": [None, None]}
    fill()
    found = rows(api, grid)
    (no_builder, opening), (builder, no_opening) = found["Bakery"], found["Lighthouse"]
    assert "Orsolya Quill" in builder["short"]
    assert "five in the morning" in opening["short"]
    assert (no_builder["short"], no_opening["short"]) == ("", "")
    assert no_builder["kind"] in {"unsure", "abstained"}
    assert all(each["is_current"] and not each["disagrees"] for each in (builder, opening))
    answer = api.get(f"/answers/{builder['answer_id']}").json()
    assert {each["document_id"] for each in answer["citations"]} == {documents["Lighthouse"]}
    assert answer["question"] == LIGHTHOUSE_QUESTION
    assert rows(api, grid, offset=1, limit=1) == {"Lighthouse": found["Lighthouse"]}
    shown = api.get(f"/grids/{grid}").json()
    assert (shown["total_rows"], shown["job_id"], shown["questions"]) == (2, None, QUESTIONS)
    assert [each["id"] for each in api.get("/grids").json()["results"]] == [grid]


def test_only_the_row_of_a_changed_document_is_asked_again(
    api: Api, documents: dict[str, str]
) -> None:
    grid = create(api)
    fill()
    before = rows(api, grid)
    fill_changed_grids()
    assert not Job.objects.unfinished().exists()
    changed = LIGHTHOUSE.replace("Orsolya Quill", "Maren Holt")
    change(api, changed, title="Lighthouse", source_uri="https://bavoke.example/Lighthouse")
    stale = rows(api, grid)["Lighthouse"]
    assert [cell["is_current"] for cell in stale] == [False, False]
    fill_changed_grids()
    fill_changed_grids()
    assert Job.objects.unfinished().filter(kind="grid").count() == 1
    with patch.object(grids, "answer_question", wraps=answer_question.answer_question) as asking:
        fill()
    assert [str(each.kwargs["document_id"]) for each in asking.call_args_list] == [
        documents["Lighthouse"]
    ] * 2
    after = rows(api, grid)
    assert after["Bakery"] == before["Bakery"]
    assert "Maren Holt" in after["Lighthouse"][0]["short"]
    assert Answer.objects.filter(grid__pk=grid).count() == 4


def test_new_and_deleted_documents_come_and_go(api: Api, documents: dict[str, str]) -> None:
    grid = create(api)
    fill()
    builder = rows(api, grid)["Lighthouse"][0]["answer_id"]
    api.delete(f"/documents/{documents['Lighthouse']}")
    assert list(rows(api, grid)) == ["Bakery"]
    assert api.get(f"/answers/{builder}").status_code == 404
    change(api, "The mill at Ruhn grinds spelt and rye since 1702.", title="Mill")
    fill_changed_grids()
    fill()
    assert {name: len(list(filter(None, cells))) for name, cells in rows(api, grid).items()} == {
        "Bakery": 2,
        "Mill": 2,
    }


def test_change_during_the_job_is_asked_by_the_same_job(
    api: Api, documents: dict[str, str]
) -> None:
    grid = create(api)
    job = Job.objects.unfinished().get(kind="grid")

    def ask(*arguments: Any, **options: Any) -> Any:
        answered = answer_question.answer_question(*arguments, **options)
        if api.get("/documents").json()["results"][-1]["title"] != "Mill":
            change(api, "The mill at Ruhn grinds spelt and rye since 1702.", title="Mill")
            fill_changed_grids()
        return answered

    with patch.object(grids, "answer_question", ask):
        assert not run_job_slice(job.pk)
    run_job(job)
    assert (job.status, job.total, job.done) == ("succeeded", 3, 3)
    assert all(all(cells) for cells in rows(api, grid).values())
    assert Job.objects.filter(kind="grid").count() == 1


def test_stopped_job_goes_on_with_the_next_cell(api: Api, documents: dict[str, str]) -> None:
    grid = create(api)
    job = Job.objects.unfinished().get(kind="grid")
    fails = iter([False, True])

    def ask(*arguments: Any, **options: Any) -> Any:
        if next(fails, False):
            raise BackendError("The model does not answer.")
        return answer_question.answer_question(*arguments, **options)

    with patch.object(grids, "answer_question", ask):
        assert not run_job_slice(job.pk)
    first = [cell["answer_id"] for cell in rows(api, grid)["Bakery"] if cell]
    assert len(first) == 1
    run_job(job)
    assert set(first) < set(asked(api, grid))
    assert Answer.objects.filter(grid__pk=grid).count() == 4


def test_questions_are_added_and_removed(api: Api, documents: dict[str, str]) -> None:
    grid = create(api)
    fill()
    kept = [cells[0] for cells in rows(api, grid).values()]
    questions = ["How tall is the tower?", LIGHTHOUSE_QUESTION]
    reply = api.patch(f"/grids/{grid}", {"name": "Towers", "questions": questions})
    assert (reply.json()["name"], reply.json()["questions"]) == ("Towers", questions)
    fill()
    assert [cells[1] for cells in rows(api, grid).values()] == kept
    assert "thirty-one metres" in rows(api, grid)["Lighthouse"][0]["short"]
    assert not Answer.objects.filter(grid__pk=grid, question=BAKERY_QUESTION).exists()


@pytest.mark.parametrize(
    "scope",
    [
        {"tags": ["bakery"]},
        {"folder": "https://bavoke.example/Bakery".rpartition("/")[0], "tags": ["bakery"]},
        {"filters": {"type": "eq", "key": "title", "value": "Bakery"}},
    ],
)
def test_scope_chooses_the_rows(api: Api, documents: dict[str, str], scope: Any) -> None:
    api.ingest("The mill at Ruhn grinds spelt, and rye on Mondays.", title="Mill", tags=("bakery",))
    if "folder" not in scope and "filters" not in scope:
        assert list(rows(api, create(api, **scope))) == ["Bakery", "Mill"]
    else:
        grid = create(api, **scope)
        assert list(rows(api, grid)) == ["Bakery"]
        assert api.get(f"/grids/{grid}").json()["filters"] == scope.get("filters")


def test_grid_that_is_too_large_is_refused(api: Api, documents: dict[str, str]) -> None:
    with patch.object(grids, "MAX_GRID_DOCUMENTS", 1):
        reply = api.post("/grids", {"name": "Coast", "questions": QUESTIONS})
        assert reply.status_code == 400
        assert "2 documents; at most 1 are possible" in reply.json()["detail"]
        assert not Grid.objects.exists()
        assert create(api, tags=["bakery"])
        change(
            api,
            "The mill at Ruhn grinds spelt, and rye on Mondays.",
            title="Mill",
            tags=("bakery",),
        )
        fill_changed_grids()
    fill()
    assert Answer.objects.filter(grid__isnull=False).count() == 4


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": ""}, "name"), ({"questions": []}, "questions"),
        ({"questions": list("abcdefghijklmnopqrstu")}, "questions"),
        ({"questions": ["a" * 501]}, "questions"),
        ({"filters": {"type": "x"}}, "filters.type"), ({"folder": "a" * 2_049}, "folder"),
    ],
)  # fmt: skip
def test_bad_input_names_its_field(api: Api, body: Any, field: str) -> None:
    reply = api.post("/grids", {"name": "Coast", "questions": QUESTIONS, **body})
    assert reply.status_code == 400
    assert [each["field"].removesuffix(".0") for each in reply.json()["errors"]] == [field]


def test_export_has_answers_and_quotes(api: Api, documents: dict[str, str]) -> None:
    api.ingest(f"=1+1 is not a sum. {LIGHTHOUSE}", title="=SUM(A1)")
    grid = create(api, name="Coast, 2026", questions=["=Who?", *QUESTIONS])
    fill()
    reply = api.get(f"/grids/{grid}/export?format=csv")
    assert reply["Content-Disposition"] == 'attachment; filename="coast-2026.csv"'
    table = list(csv.DictReader(StringIO(reply.content.decode())))
    assert {row["document"] for row in table} == {"'=SUM(A1)", "Bakery", "Lighthouse"}
    assert {row["question"] for row in table} == {"'=Who?", *QUESTIONS}
    (builder,) = [
        row
        for row in table
        if (row["document"], row["question"]) == ("Lighthouse", LIGHTHOUSE_QUESTION)
    ]
    assert builder["quote"] in LIGHTHOUSE
    assert "Orsolya Quill" in builder["answer"]
    assert 0.5 <= float(builder["confidence"]) <= 1
    assert builder["document_id"] == documents["Lighthouse"]
    reply = api.get(f"/grids/{grid}/export?format=xlsx")
    assert reply["Content-Type"].endswith("spreadsheetml.sheet")
    text = "\n".join(block.text for block in loaded(reply.content, "a.xlsx").blocks)
    for word in ("Answers", "Quotes", "Orsolya Quill", builder["quote"][:40], "=SUM(A1)"):
        assert word in text
    assert api.get(f"/grids/{grid}/export?format=pdf").status_code == 400


def test_deleted_grid_takes_its_cells_and_its_job(api: Api, documents: dict[str, str]) -> None:
    grid = create(api)
    fill()
    api.patch(f"/grids/{grid}", {"questions": [*QUESTIONS, "How tall is it?"]})
    assert api.delete(f"/grids/{grid}").status_code == 204
    assert api.get(f"/grids/{grid}").status_code == 404
    assert not Answer.objects.exists()
    assert [job.status for job in Job.objects.filter(kind="grid")] == ["cancelled", "succeeded"]


def test_cells_stay_apart_from_what_people_ask(api: Api, documents: dict[str, str]) -> None:
    create(api)
    fill()
    assert not Answer.objects.unanswered().exists()
    assert purge(days=0)["answers"] == 0
    assert LIGHTHOUSE_QUESTION not in api.page("/ui/quality")


@pytest.mark.usefixtures("login_required")
def test_readers_read_and_strangers_see_nothing(ida: Tenant, otto: Tenant) -> None:
    made = call(ida.key, "post", "/grids", name="G", questions=QUESTIONS, collection="secret")
    path = f"/grids/{made.json()['id']}"
    job = Job.objects.unfinished().get(kind="grid")
    assert job.made_by == ida.user
    with acting_as(principal_of(ida.user)):
        run_job(job)
    (row,) = call(ida.key, "get", path).json()["rows"]
    answer = f"/answers/{row['cells'][0]['answer_id']}"
    body = {"name": "H", "questions": QUESTIONS, "collection": "secret@ida"}
    for method, at in (("get", path), ("patch", path), ("delete", path), ("get", answer)):
        assert call(otto.key, method, at).status_code == 404
    assert call(otto.key, "get", f"{path}/export").status_code == 404
    assert call(otto.key, "post", "/grids", **body).status_code == 404
    assert call(otto.key, "get", "/grids").json()["results"] == []
    secret = Collection.objects.get(name="secret")
    grant = Grant.objects.create(collection=secret, user=otto.user, role="reader")
    assert call(otto.key, "get", path).json()["rows"] == [row]
    assert call(otto.key, "get", answer).json()["short"] == row["cells"][0]["short"]
    assert call(otto.key, "get", f"{path}/export").status_code == 200
    assert call(otto.key, "post", f"{answer}/feedback", rating="up").status_code == 201
    for method, at in (("patch", path), ("delete", path)):
        assert call(otto.key, method, at).status_code == 403
    assert call(otto.key, "post", "/grids", **body).status_code == 403
    with acting_as(principal_of(otto.user)):
        assert Grid.objects.update(name="mine") == 0
        assert Answer.objects.filter(grid__isnull=False)._raw_delete("default") == 0
    grant.role = "writer"
    grant.save()
    assert call(otto.key, "patch", path, name="ours").json()["name"] == "ours"
    with acting_as(principal_of(otto.user)):
        create_collection("other")
        bound = create_key(otto.user, name="bound", scopes=["read"], collections=["other"])[1]
    assert call(bound, "get", path).status_code == 404
    assert call(otto.key, "delete", path).status_code == 204
    assert get_user_model().objects.filter(pk=ida.user.pk).exists()


def test_page_says_what_is_wrong_with_the_questions(api: Api, documents: dict[str, str]) -> None:
    for questions in ("\n".join(map(str, range(21))), "a" * 501):
        reply = Client().post("/ui/grids", {"name": "Coast", "questions": questions})
        assert reply.status_code == 400
        assert (
            "at most 20 questions, one on a line, each with at most 500" in reply.content.decode()
        )
