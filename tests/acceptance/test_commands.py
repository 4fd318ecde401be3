"""The commands as people type them."""

import json
from collections.abc import Iterator
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import BaseCommand, CommandError, call_command
from django.db import connection

from corpus.errors import BackendUnavailable, EmptyDocument
from corpus.ingestion.outcomes import ItemResult, Outcome
from corpus.management.commands._report import Report
from corpus.models import Chunk, Collection, Document, Job, JobItem
from qa.configuration import installation_sha256
from qa.types import Answer
from tests.commands import run
from tests.factories import (
    FIRST_SENTENCE,
    LAST_SENTENCE,
    LIGHTHOUSE,
    LIGHTHOUSE_QUESTION,
    OTHERWISE_ANSWER,
    SHORT_ANSWER,
    UNSURE_ANSWER,
    Ingest,
    answered,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.md").write_text(f"# Bavoke\n\n{LIGHTHOUSE}\n")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "b.txt").write_text("The bakery opens at five in the morning.")
    (tmp_path / ".hidden.md").write_text("Hidden text that nobody asked to be taken in.")
    return tmp_path


def test_a_folder_is_taken_in(folder: Path) -> None:
    out, _, code = run("ingest", folder, "--tag", "Coast")
    assert code == 0
    assert out == "2 files: 2 added, 0 replaced, 0 unchanged, 0 failed\n"
    assert {document.file_path for document in Document.objects.all()} == {
        str(folder / "a.md"),
        str(folder / "deep" / "b.txt"),
    }
    assert Document.objects.filter(tags__name="coast").count() == 2


def test_a_second_run_finds_nothing_new(folder: Path) -> None:
    run("ingest", folder)
    (folder / "a.md").write_text("# Bavoke\n\nIt is another text now, and a longer one.\n")
    out, _, code = run("ingest", folder)
    assert code == 0
    assert out == "2 files: 0 added, 1 replaced, 1 unchanged, 0 failed\n"
    assert Document.objects.count() == 2


def test_a_failed_file_is_named_and_stops_no_other(folder: Path) -> None:
    (folder / "bad.pdf").write_bytes(b"%PDF-1.7\nthis is no pdf at all")
    out, err, code = run("ingest", folder)
    assert code == 1
    assert "2 added" in out
    assert "1 refused, 0 failed" in out
    assert "refused: " in err
    assert "bad.pdf" in err


def test_refused_files_may_be_allowed(folder: Path) -> None:
    (folder / "bad.pdf").write_bytes(b"%PDF-1.7\nthis is no pdf at all")
    assert run("ingest", folder, "--allow-refused")[2] == 0


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (EmptyDocument("The file is empty."), Outcome.REFUSED),
        (BackendUnavailable("The model is gone."), Outcome.FAILED),
        (PermissionError(13, "Permission denied"), Outcome.FAILED),
    ],
)
def test_only_what_is_at_fault_itself_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, outcome: Outcome
) -> None:
    def refuse(*args: object, **options: object) -> None:
        raise error

    monkeypatch.setattr("corpus.jobs.kinds.sync.sync_file", refuse)
    out, _, code = run("ingest", folder / "a.md", "--allow-refused", "--json")
    assert json.loads(out)["outcome"] == outcome
    assert code == (outcome == Outcome.FAILED)


@pytest.fixture
def pictures(folder: Path) -> Path:
    (folder / "node_modules").mkdir()
    (folder / "node_modules" / "readme.md").write_text("A readme of something installed.")
    for name in ("1.png", "2.PNG", "logo.svg", "Makefile"):
        (folder / name).write_text("<svg xmlns='http://www.w3.org/2000/svg'></svg>")
    return folder


SKIPPED = {"png": 2, "svg": 1, "Makefile": 1, "node_modules/": 1}


def test_skipped_files_are_told_by_kind(pictures: Path) -> None:
    out, _, code = run("ingest", pictures)
    assert (code, Document.objects.count()) == (0, 2)
    line, told = out.strip().split("; ")
    assert line == "2 files: 2 added, 0 replaced, 0 unchanged, 0 failed"
    assert told.startswith("5 skipped (png 2, ")
    assert all(f"{kind} {count}" in told for kind, count in SKIPPED.items())
    assert Job.objects.get().skipped == SKIPPED
    out, err, _ = run("ingest", pictures, "--dry-run")
    assert (len(out.splitlines()), err.startswith("5 skipped")) == (2, True)


def test_json_tells_what_was_skipped(pictures: Path) -> None:
    last = json.loads(run("ingest", pictures, "--json")[0].splitlines()[-1])
    assert last == {"path": None, "outcome": "skipped", "kinds": SKIPPED}


def test_patterns_choose_the_files(pictures: Path) -> None:
    out, _, _ = run("ingest", pictures, "--dry-run", "--include", "*.txt", "--include", "*.svg")
    assert out.splitlines() == [str(pictures / "logo.svg"), str(pictures / "deep" / "b.txt")]
    run("ingest", pictures, "--exclude", "deep")
    assert [document.file_path for document in Document.objects.all()] == [str(pictures / "a.md")]


def test_a_sync_is_foretold_file_by_file(folder: Path) -> None:
    run("ingest", folder, "--sync")
    (folder / "a.md").rename(folder / "c.md")
    (folder / "deep" / "b.txt").unlink()
    out, _, code = run("ingest", folder, "--sync", "--dry-run")
    assert code == 0
    assert out.splitlines() == [
        f"renamed   {folder / 'c.md'}",
        f"removed   {folder / 'deep' / 'b.txt'}",
        "2 files would be: 1 removed, 1 renamed",
    ]
    lines = run("ingest", folder, "--sync", "--dry-run", "--json")[0].splitlines()
    assert [json.loads(line)["outcome"] for line in lines] == ["renamed", "removed"]
    assert {document.file_path for document in Document.objects.all()} == {
        str(folder / "a.md"),
        str(folder / "deep" / "b.txt"),
    }


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_the_bar_names_the_file_at_work_and_moves_by_bytes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "tiny.txt").write_text("A text of one line, which is soon done.")
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    monkeypatch.setenv("TERM", "xterm")
    report = Report(BaseCommand(stdout=StringIO()), as_json=False, is_sync=False)
    paths = [str(folder / "a.md"), str(folder / "tiny.txt")]
    report.expect(paths, file_count=3)
    report.at_work(JobItem(path=paths[1]))
    report.add(paths[1], ItemResult(Outcome.ADDED))
    report.close()
    shown = terminal.getvalue()
    assert "tiny.txt" in shown
    assert "1 of 3 files" in shown
    share = 100 * (folder / "tiny.txt").stat().st_size / sum(Path(p).stat().st_size for p in paths)
    assert f" {share:.0f}%" in shown


def test_processes_name_the_file_at_work(collection: Collection) -> None:
    job = Job.objects.create(kind=Job.Kind.SYNC, collection=collection, total=2)
    for name in ("/waiting", "/begun"):
        JobItem.of_file(name, job=job).save()
    job.items.filter(path="/begun").update(stage=JobItem.Stage.PARSING)
    assert [item.path for item in job.items.at_work()] == ["/begun"]


def test_json_is_one_line_a_file(folder: Path) -> None:
    out, _, _ = run("ingest", folder, "--json")
    lines = [json.loads(line) for line in out.splitlines()]
    assert [line["outcome"] for line in lines] == ["added", "added"]
    assert all(line["document_id"] for line in lines)


def test_a_dry_run_stores_nothing(folder: Path) -> None:
    out, _, code = run("ingest", folder, "--dry-run")
    assert code == 0
    assert out.splitlines() == [str(folder / "a.md"), str(folder / "deep" / "b.txt")]
    assert not Document.objects.exists()


def test_sync_mirrors_a_folder(folder: Path) -> None:
    run("ingest", folder, "--sync")
    (folder / "a.md").rename(folder / "c.md")
    (folder / "deep" / "b.txt").unlink()
    out, _, code = run("ingest", folder, "--sync")
    assert code == 0
    counts = "0 added, 0 replaced, 0 unchanged, 1 renamed, 1 removed, 0 failed"
    assert out == f"2 files: {counts}; 0 chunks encoded\n"


def test_json_names_what_was_removed(folder: Path) -> None:
    run("ingest", folder, "--sync")
    (folder / "a.md").unlink()
    lines = [json.loads(line) for line in run("ingest", folder, "--sync", "--json")[0].splitlines()]
    outcomes = {Path(line["path"]).name: line["outcome"] for line in lines}
    assert outcomes == {"a.md": "removed", "b.txt": "unchanged"}


@pytest.mark.parametrize(
    "arguments",
    [
        ["absent.txt"],
        [".", "--collection", "absent"],
        [".", "tests", "--sync"],
        ["manage.py", "--sync"],
        ["-", "--sync"],
        [".", "--workers", "0"],
    ],
)
def test_wrong_usage_exits_2(arguments: list[str], db: None) -> None:
    with pytest.raises(CommandError) as caught:
        call_command("ingest", *arguments)
    assert caught.value.returncode == 2


def test_standard_input_is_taken_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", StringIO(LIGHTHOUSE))
    assert run("ingest", "-")[2] == 0
    assert Document.objects.get().raw_text == LIGHTHOUSE


@pytest.mark.bare_models
def test_ask_prints_the_quotes(ingest: Ingest) -> None:
    ingest(LIGHTHOUSE, title="Bavoke")
    out, _, _ = run("ask", LIGHTHOUSE_QUESTION)
    assert "Orsolya Quill" in out
    assert '"The lighthouse at Bavoke was built in 1874' in out
    assert "confidence 0." in out


def test_ask_says_so_when_there_is_no_answer(ingest: Ingest) -> None:
    ingest(LIGHTHOUSE)
    out, _, _ = run("ask", "What is the boiling point of tungsten hexafluoride?")
    assert "do not hold an answer" in out


def told(monkeypatch: pytest.MonkeyPatch, answer: Answer) -> str:
    """What ask prints of this answer."""
    place = "qa.management.commands.ask.answer_question"
    monkeypatch.setattr(place, lambda *_, **__: answered(answer))
    return run("ask", answer.question)[0]


def test_ask_prints_the_few_words_that_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    out = told(monkeypatch, SHORT_ANSWER)
    assert out.splitlines()[:2] == [FIRST_SENTENCE, "In short: Orsolya Quill"]
    assert "In short" not in told(monkeypatch, replace(SHORT_ANSWER, short=None))


def test_ask_prints_the_closest_passages_where_it_is_unsure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = told(monkeypatch, UNSURE_ANSWER)
    assert out.startswith("I am not sure. The closest passages:\n")
    assert f'[1] Coast > Towers (100-{100 + len(FIRST_SENTENCE)})\n    "{FIRST_SENTENCE}"\n' in out
    assert f'    "{LAST_SENTENCE}"\n' in out


def test_ask_prints_what_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    out = told(monkeypatch, OTHERWISE_ANSWER)
    assert "\nYour documents disagree:\n\n[2] Coast > Towers (" in out
    assert f'    "{LAST_SENTENCE}"\n' in out
    assert "disagree" not in told(monkeypatch, SHORT_ANSWER)


def test_ask_says_why_another_answerer_stood_in(monkeypatch: pytest.MonkeyPatch) -> None:
    reason = "m failed, extractive answered: no reply in 60 s"
    assert reason in told(monkeypatch, replace(SHORT_ANSWER, fallback=reason))
    assert "answerer" not in told(monkeypatch, SHORT_ANSWER)


def test_ask_prints_the_answer_object(ingest: Ingest) -> None:
    ingest(LIGHTHOUSE)
    answer = json.loads(run("ask", LIGHTHOUSE_QUESTION, "--json")[0])
    assert answer["citations"][0]["quote"] in LIGHTHOUSE


def test_verify_finds_what_was_altered(ingest: Ingest) -> None:
    ingest(LIGHTHOUSE)
    assert run("verify") == ("0 violations\n", "", 0)
    Chunk.objects.update(text="Altered.")
    out, _, code = run("verify")
    assert code == 1
    assert "a chunk is not the span it names" in out


@pytest.fixture
def server(live_server: Any, settings: Any) -> Iterator[str]:
    """A server of this installation, of which ``ask`` knows where it listens."""
    host, _, port = live_server.url.removeprefix("http://").partition(":")
    settings.PKB_HOST, settings.PKB_PORT = host, int(port)
    are_ready = "pkb.health.are_models_loaded"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(are_ready, lambda: True)
        yield live_server.url


def answer_only_elsewhere(*args: Any, **options: Any) -> None:
    raise AssertionError("it was answered in this process")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "question", [LIGHTHOUSE_QUESTION, "What is the boiling point of tungsten hexafluoride?"]
)
def test_ask_has_the_running_server_answer_in_the_same_words(
    ingest: Ingest, server: str, monkeypatch: pytest.MonkeyPatch, question: str
) -> None:
    ingest(LIGHTHOUSE)
    with monkeypatch.context() as patch:
        patch.setattr("qa.management.commands.ask.ask_server", lambda asked: None)
        here, said_here = run("ask", question), run("ask", question, "--json")
    monkeypatch.setattr("qa.management.commands.ask.answer_question", answer_only_elsewhere)
    assert run("ask", question) == here
    both = [json.loads(said) for said in (run("ask", question, "--json")[0], said_here[0])]
    assert both[0].keys() == both[1].keys()
    first, second = ({**shown, "id": "", "debug": {}} for shown in both)
    assert first == second


@pytest.mark.django_db(transaction=True)
def test_ask_tags_and_collection_go_to_the_server(
    ingest: Ingest, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest(LIGHTHOUSE, tags=("coast",))
    monkeypatch.setattr("qa.management.commands.ask.answer_question", answer_only_elsewhere)
    found = run("ask", LIGHTHOUSE_QUESTION, "--tag", "shops", "--tag", "coast")[0]
    assert "Orsolya Quill" in found
    assert "Orsolya Quill" not in run("ask", LIGHTHOUSE_QUESTION, "--tag", "shops")[0]


@pytest.mark.django_db(transaction=True)
def test_ask_leaves_a_server_of_another_installation_alone(
    ingest: Ingest, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest(LIGHTHOUSE)
    whose = "qa.management.commands._running_server.installation_sha256"
    monkeypatch.setattr(whose, lambda: "another")
    monkeypatch.setattr("qa.api.answers.answer_question", answer_only_elsewhere)
    assert "Orsolya Quill" in run("ask", LIGHTHOUSE_QUESTION)[0]


@pytest.mark.django_db(transaction=True)
def test_what_the_server_refuses_is_told_by_ask_itself(server: str) -> None:
    with pytest.raises(CommandError, match="no collection 'absent'"):
        run("ask", LIGHTHOUSE_QUESTION, "--collection", "absent")


def test_an_installation_is_told_by_database_and_configuration(settings: Any) -> None:
    before = installation_sha256()
    assert installation_sha256() == before
    settings.PKB_ANSWER_FROM += 0.01
    other_settings = installation_sha256()
    settings.SECRET_KEY += "x"
    assert len({before, other_settings, installation_sha256()}) == 3


def test_the_embedded_server_is_the_same_before_and_after_it_is_connected(
    settings: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    settings.PKB_POSTGRES_DIR = tmp_path
    before = installation_sha256()
    monkeypatch.setitem(connection.settings_dict, "HOST", "/somewhere")
    assert installation_sha256() == before
    settings.PKB_POSTGRES_DIR = None
    elsewhere = installation_sha256()
    monkeypatch.setitem(connection.settings_dict, "HOST", "/elsewhere")
    assert len({before, elsewhere, installation_sha256()}) == 3


def test_the_first_run_says_what_it_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[tuple[str, ...]] = []
    place = "pkb.management.commands.first_run.call_command"
    monkeypatch.setattr(place, lambda *arguments, **_: begun.append(arguments))
    out, _, _ = run("first_run", "--question", LIGHTHOUSE_QUESTION)
    assert out.strip() == f"Question: {LIGHTHOUSE_QUESTION}"
    assert begun[-1] == ("ask", LIGHTHOUSE_QUESTION)


def test_serve_says_what_to_open(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    settings.PKB_WORKER = "off"
    monkeypatch.setattr("os.execv", lambda *arguments: None)
    assert "Open http://127.0.0.1:8123 (" in run("serve", "--port", "8123")[0]
