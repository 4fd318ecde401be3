"""What is kept, and for how long."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.sessions.models import Session as LoginSession
from django.utils import timezone
from procrastinate.contrib.django import app

from corpus.models import Collection, Tombstone
from qa.models import Answer, ChatStream, Feedback, Message, Session
from qa.retention import purge
from tests.support.commands import refusal, run


def days_ago(days: float) -> Any:
    return timezone.now() - timedelta(days=days)


@pytest.fixture
def kept(collection: Collection, settings: Any) -> dict[str, Any]:
    """An old answer with all that hangs on it, a new one, and sessions of both ages."""
    settings.PKB_RETENTION_DAYS = None
    old, new = (
        Answer.objects.create(
            collection=collection, question="Who?", confidence=0, created_at=days_ago(age)
        )
        for age in (40, 1)
    )
    expired = Session.objects.create(last_used_at=days_ago(1))
    live = Session.objects.create()
    Message.objects.create(session=live, answer=old, searched="Who?")
    Feedback.objects.create(answer=old, rating="up")
    ChatStream.objects.create(session=live, finished_at=days_ago(1))
    ChatStream.objects.create(session=live)
    for age in (1, -1):
        LoginSession.objects.create(session_key=f"login{age}", expire_date=days_ago(age))
    return {"old": old, "new": new, "expired": expired, "live": live}


def test_without_a_retention_only_what_has_expired_goes(kept: dict[str, Any]) -> None:
    assert purge() == {
        "answers": 0, "sessions": 1, "streams": 1, "tombstones": 0, "cookies": 1,
        "logins": 0, "events": 0, "deliveries": 0, "files": 0,
    }  # fmt: skip
    assert [each.session_key for each in LoginSession.objects.all()] == ["login-1"]
    assert set(Answer.objects.all()) == {kept["old"], kept["new"]}
    assert set(Session.objects.all()) == {kept["live"]}


def test_old_answers_go_with_their_feedback_and_messages(kept: dict[str, Any]) -> None:
    assert (
        run("purge", "--days", "30")[0]
        == "1 answers, 1 sessions, 1 streams, 0 tombstones, 1 cookies, 0 logins, 0 events, "
        "0 deliveries, 0 files removed\n"
    )
    assert set(Answer.objects.all()) == {kept["new"]}
    assert not Feedback.objects.exists()
    assert not Message.objects.exists()


def test_a_dry_run_removes_nothing(kept: dict[str, Any]) -> None:
    text = run("purge", "--days", "30", "--dry-run")[0]
    assert text == (
        "1 answers, 1 sessions, 1 streams, 0 tombstones, 1 cookies, 0 logins, 0 events, "
        "0 deliveries, 0 files would be removed\n"
    )
    assert Answer.objects.count() == 2
    assert Session.objects.count() == 2


def test_the_setting_is_the_default(kept: dict[str, Any], settings: Any) -> None:
    settings.PKB_RETENTION_DAYS = 30
    assert purge()["answers"] == 1


def test_tombstones_go_after_their_days(settings: Any) -> None:
    settings.PKB_TOMBSTONE_DAYS = 30
    old, _ = (
        Tombstone.objects.create(
            content_sha256=str(age), seal=b"", width=8, erased_at=days_ago(age)
        )
        for age in (31, 29)
    )
    assert purge()["tombstones"] == 1
    assert not Tombstone.objects.filter(pk=old.pk).exists()


@pytest.mark.parametrize("days", ["-1", "many", "99999"])
def test_days_that_are_none_are_refused(days: str) -> None:
    assert "a whole number of days" in refusal("purge", "--days", days)[0]


def test_workers_purge_periodically(kept: dict[str, Any]) -> None:
    task = app.tasks["qa.purge_expired"]
    assert "qa.purge_expired" in {
        t.task.name for t in app.periodic_registry.periodic_tasks.values()
    }
    task(timestamp=0)
    assert set(Session.objects.all()) == {kept["live"]}
