"""Judged answers: what counts, what it decides, and how it is taken back."""

from typing import Any

import pytest
from django.test import Client
from procrastinate.contrib.django import app

from corpus.models import Collection
from evaluation.judged_answers import learn, read_judgements
from qa.configuration_hash import configuration_sha256
from qa.learned_confidence import LEVELS, LearnedConfidence, Level, Refit
from qa.models import Answer, Feedback
from tests.support.documents import LIGHTHOUSE, LIGHTHOUSE_QUESTION, Ingest
from tests.support.users import Tenant, call

DIAL = "/collections/default/confidence"


def judge(client: Client, answer: Answer, **feedback: Any) -> None:
    reply = client.post(f"/answers/{answer.pk}/feedback", feedback, content_type="application/json")
    assert reply.status_code == 201


def ask(client: Client, question: str = LIGHTHOUSE_QUESTION) -> Answer:
    return Answer.objects.get(pk=client.get("/answer", {"q": question}).json()["id"])


def learned_of(collection: Collection, **values: Any) -> LearnedConfidence:
    return LearnedConfidence(
        configuration_sha256=configuration_sha256(collection.embedding_model),
        learned_at="2026-11-26T03:23:00+00:00",
        **{"asked": 100, "answered": 60, "judged": 90, "wrong": 3, "levels": (), **values},
    )


def test_a_liked_answer_is_right_and_the_last_word_counts(
    client: Client, ingest: Ingest, collection: Collection
) -> None:
    stored = ingest(LIGHTHOUSE)
    answer = ask(client)
    assert answer.estimate == pytest.approx(answer.confidence)
    judge(client, answer, rating="down")
    judge(client, ask(client), rating="up")
    judgement = (answer.estimate, True, stored.document_id)
    assert read_judgements(collection) == [judgement]
    learned = learn(collection)
    assert (learned.asked, learned.judged, learned.wrong) == (2, 1, 0)
    assert learned.refit is None


def test_a_withheld_quote_is_right_if_it_is_marked(
    client: Client, ingest: Ingest, collection: Collection, settings: Any
) -> None:
    settings.PKB_ANSWER_FROM = 0.99
    ingest(LIGHTHOUSE)
    answer = ask(client)
    assert answer.kind == Answer.Kind.UNSURE
    judge(client, answer, rating="up")
    assert read_judgements(collection) == []
    close = answer.closest[0]
    passage = {name: close[name] for name in ("document_id", "start_char", "end_char")}
    judge(client, answer, rating="up", passage=passage)
    assert [each.is_right for each in read_judgements(collection)] == [True]
    judge(client, answer, rating="down")
    assert [each.is_right for each in read_judgements(collection)] == [False]


def test_dismissed_feedback_and_other_settings_do_not_count(
    client: Client, ingest: Ingest, collection: Collection, settings: Any
) -> None:
    ingest(LIGHTHOUSE)
    judge(client, ask(client), rating="up")
    settings.PKB_RERANK_WEIGHT = 0.123
    assert read_judgements(collection) == []
    assert LearnedConfidence.of(collection) is None
    judge(client, ask(client), rating="down")
    assert len(read_judgements(collection)) == 1
    learn(collection)
    collection.refresh_from_db()
    assert LearnedConfidence.of(collection) is not None
    Feedback.objects.filter(rating="down").update(review="dismissed", reviewed_at="2026-01-01T00Z")
    assert read_judgements(collection) == []


def test_a_proved_promise_decides_what_is_answered(
    client: Client, ingest: Ingest, collection: Collection, settings: Any
) -> None:
    settings.PKB_ANSWER_FROM = 0.99
    ingest(LIGHTHOUSE)
    levels = tuple(Level(at, 50, 40, 20 if at < 0.5 else 0) for at in LEVELS)
    learned_of(collection, levels=levels).store(collection)
    assert ask(client).kind == Answer.Kind.UNSURE
    reply = client.patch(DIAL, {"max_wrong_percent": 20}, content_type="application/json").json()
    assert (reply["is_promised"], reply["answer_from"], reply["coverage"]) == (True, 0.5, 0.5)
    assert ask(client).kind == Answer.Kind.ANSWER
    page = client.get("/ui/quality").content.decode()
    assert "The judged answers prove that at most 20 %" in page
    client.post("/ui/quality/confidence", {"collection": "default", "learns_confidence": "on"})
    assert ask(client).kind == Answer.Kind.UNSURE


def test_without_judgements_the_page_says_how_many_are_needed(
    client: Client, ingest: Ingest, collection: Collection
) -> None:
    ingest(LIGHTHOUSE)
    before = ask(client)
    reply = client.patch(DIAL, {"max_wrong_percent": 20}, content_type="application/json").json()
    assert (reply["is_promised"], reply["judgements_needed"]) == (False, 22)
    assert "about 22 more judgements" in client.get("/ui/quality").content.decode()
    assert (ask(client).kind, ask(client).confidence) == (before.kind, before.confidence)


def test_a_better_refit_is_in_force_until_it_is_taken_back(
    client: Client, ingest: Ingest, collection: Collection
) -> None:
    ingest(LIGHTHOUSE)
    before = ask(client)
    refit = Refit(1.0, 1.0, 0.4, 0.6, 0.01, is_better=True)
    learned_of(collection, refit=refit).store(collection)
    refitted = ask(client)
    assert refitted.confidence > before.confidence
    assert refitted.estimate == before.estimate
    client.patch(DIAL, {"learns_confidence": False}, content_type="application/json")
    assert client.get(DIAL).json()["refit"]["is_better"]
    assert ask(client).confidence == before.confidence


@pytest.mark.usefixtures("login_required")
def test_only_owners_change_the_promise(ida: Tenant, otto: Tenant) -> None:
    call(ida.key, "post", "/collections/secret/access", user="otto", role="writer")
    path = "/collections/secret@ida/confidence"
    assert call(otto.key, "get", path).status_code == 200
    assert call(otto.key, "patch", path, max_wrong_percent=20).status_code == 403
    assert call(ida.key, "patch", path, max_wrong_percent=51).status_code == 400
    assert call(ida.key, "patch", path, max_wrong_percent=20).json()["max_wrong_percent"] == 20


@pytest.mark.usefixtures("login_required")
def test_workers_count_what_users_judged_every_night(ida: Tenant) -> None:
    task = app.tasks["evaluation.learn"]
    assert task in {each.task for each in app.periodic_registry.periodic_tasks.values()}
    task(timestamp=0)
    collection = Collection.objects.get(name="secret")
    assert collection.learned_confidence["judged"] == 1
