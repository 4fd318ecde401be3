"""manage.py ask: what it prints, and who answers."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from qa.configuration_hash import installation_sha256
from qa.management.running_server import save_server_url
from qa.notices import NOTHING_NEAR, UNSURE
from qa.types import Answer
from tests.support.commands import refusal, run
from tests.support.documents import (
    DATED_ANSWER,
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


@pytest.mark.bare_models
def test_ask_prints_an_extract_once_and_where_it_is_from(ingest: Ingest) -> None:
    ingest(LIGHTHOUSE, title="Bavoke")
    out, _, _ = run("ask", LIGHTHOUSE_QUESTION)
    assert out.count("The lighthouse at Bavoke was built in 1874") == 1
    assert "[1] Bavoke\n" in out
    assert "supported" not in out
    assert "confidence 0." in out


def test_ask_prints_the_quotes_behind_what_a_model_wrote(monkeypatch: pytest.MonkeyPatch) -> None:
    out = told(monkeypatch, replace(SHORT_ANSWER, text="Orsolya Quill built it.", short=None))
    assert f'    "{FIRST_SENTENCE}"\n' in out
    assert ", supported)" in out


def test_ask_says_so_when_there_is_no_answer(ingest: Ingest) -> None:
    ingest(LIGHTHOUSE)
    out, _, _ = run("ask", "What is the boiling point of tungsten hexafluoride?")
    assert out == f"{NOTHING_NEAR}\n"
    assert "confidence" not in out


def told(monkeypatch: pytest.MonkeyPatch, answer: Answer) -> str:
    """What ask prints of this answer."""
    place = "qa.management.commands.ask.answer_question"
    monkeypatch.setattr(place, lambda *_, **__: answered(answer))
    return run("ask", answer.question)[0]


def test_ask_prints_the_few_words_that_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    out = told(monkeypatch, SHORT_ANSWER)
    assert out.splitlines()[:2] == [FIRST_SENTENCE, "In short: Orsolya Quill"]
    assert "In short" not in told(monkeypatch, replace(SHORT_ANSWER, short=None))


def test_ask_prints_the_most_relevant_passages_where_it_is_unsure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, last = UNSURE_ANSWER.closest
    unit = f"{FIRST_SENTENCE}\nIts lamp burns."
    around = replace(first, unit_start=first.start_char, unit_text=unit)
    out = told(monkeypatch, replace(UNSURE_ANSWER, closest=(around, last)))
    assert out.startswith(f"{UNSURE}\n")
    place = "[1] Coast > Towers (coast.example/bavoke, page 3)"
    assert f"{place}\n    {FIRST_SENTENCE}\n    Its lamp burns.\n" in out
    assert f"    {LAST_SENTENCE}\n" in out


def test_ask_prints_what_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    out = told(monkeypatch, OTHERWISE_ANSWER)
    assert "\nYour documents disagree:\n\n[2] Coast > Towers (" in out
    assert f'    "{LAST_SENTENCE}"\n' in out
    assert "disagree" not in told(monkeypatch, SHORT_ANSWER)
    dated = told(monkeypatch, DATED_ANSWER)
    assert "\nYour documents disagree (the answer is of 2024-05-01):\n\n[2] Coast" in dated
    assert ", 2019)\n" in dated


def test_ask_prints_that_another_subject_is_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    out = told(monkeypatch, replace(SHORT_ANSWER, not_about=("Torvik",)))
    assert "\nNot about Torvik: this is from “Coast”.\n" in out
    assert "Not about" not in told(monkeypatch, SHORT_ANSWER)


def test_ask_says_why_another_answerer_stood_in(monkeypatch: pytest.MonkeyPatch) -> None:
    reason = "m failed, extractive answered: no reply in 60 s"
    assert reason in told(monkeypatch, replace(SHORT_ANSWER, fallback=reason))
    assert "answerer" not in told(monkeypatch, SHORT_ANSWER)


def test_ask_prints_the_answer_object(ingest: Ingest) -> None:
    ingest(LIGHTHOUSE)
    answer = json.loads(run("ask", LIGHTHOUSE_QUESTION, "--json")[0])
    assert answer["citations"][0]["quote"] in LIGHTHOUSE


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
def test_ask_finds_the_server_that_was_started_last(
    ingest: Ingest, server: str, monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Path
) -> None:
    ingest(LIGHTHOUSE)
    settings.PKB_SERVED_AT = tmp_path / "served-at"
    save_server_url(settings.PKB_HOST, settings.PKB_PORT)
    settings.PKB_PORT = 1  # where nobody listens
    monkeypatch.setattr("qa.management.commands.ask.answer_question", answer_only_elsewhere)
    assert "Orsolya Quill" in run("ask", LIGHTHOUSE_QUESTION)[0]


@pytest.mark.parametrize("noted", ["", "a b c", "here 99999999"])
def test_ask_answers_itself_where_no_address_is_noted(
    ingest: Ingest, settings: Any, tmp_path: Path, noted: str
) -> None:
    ingest(LIGHTHOUSE)
    settings.PKB_PORT = 1
    settings.PKB_SERVED_AT = tmp_path / "served-at"
    settings.PKB_SERVED_AT.write_text(noted)
    assert "Orsolya Quill" in run("ask", LIGHTHOUSE_QUESTION)[0]


@pytest.mark.django_db(transaction=True)
def test_ask_leaves_a_server_of_another_installation_alone(
    ingest: Ingest, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest(LIGHTHOUSE)
    whose = "qa.management.running_server.installation_sha256"
    monkeypatch.setattr(whose, lambda: "another")
    monkeypatch.setattr("qa.api.answer_views.answer_question", answer_only_elsewhere)
    assert "Orsolya Quill" in run("ask", LIGHTHOUSE_QUESTION)[0]


@pytest.mark.django_db(transaction=True)
def test_what_the_server_refuses_is_told_by_ask_itself(server: str) -> None:
    reason, _ = refusal("ask", LIGHTHOUSE_QUESTION, "--collection", "absent")
    assert "no collection 'absent'" in reason


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
