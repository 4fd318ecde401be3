"""Who did what is recorded, cannot be changed, and is told to admins."""

from datetime import UTC, datetime, timedelta
from inspect import unwrap
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import InternalError, ProgrammingError, connection, transaction
from django.test import Client
from django.utils import timezone

from accounts.audit import purge_events
from accounts.keys import create_key, revoke_key
from accounts.models import ApiKey, Event
from corpus.access.principal import Principal, acting_as
from corpus.models import Document
from qa.api.mcp.tools import ingest
from tests.support.client import Api
from tests.support.commands import run
from tests.support.documents import BAKERY, LIGHTHOUSE, LIGHTHOUSE_QUESTION

pytestmark = pytest.mark.usefixtures("cheap_model", "login_required")


@pytest.fixture
def ida(db: None) -> Any:
    return get_user_model().objects.create_superuser("ida", password="a green book of weather")


@pytest.fixture
def key(ida: Any) -> str:
    return create_key(ida, name="all", scopes=["read", "ingest", "admin"])[1]


@pytest.fixture
def caller(key: str) -> Api:
    return Api(Authorization=f"Bearer {key}")


def recorded(*fields: str) -> list[Any]:
    return list(Event.objects.order_by("pk").exclude(action="make_key").values_list(*fields))


def test_what_changes_what_is_known_is_recorded(caller: Api, ida: Any) -> None:
    body = {"text": LIGHTHOUSE, "title": "secret title"}
    document_id = caller.post("/ingest", body).json()["document_id"]
    caller.post("/ingest", body)
    caller.get(f"/documents/{document_id}")
    caller.post("/collections", {"name": "notes"})
    caller.delete(f"/documents/{document_id}")
    key_id = ApiKey.objects.get().pk
    assert {(user, key) for user, key in recorded("user_id", "key_id")} == {(ida.pk, key_id)}
    assert recorded("action", "subject", "status") == [
        ("ingest", document_id, 201),
        ("ingest", "/ingest", 409),
        ("create_collection", "notes", 201),
        ("delete_document", f"/documents/{document_id}", 204),
    ]
    assert "secret" not in str(list(Event.objects.values()))


@pytest.mark.parametrize("with_text", [False, True])
def test_of_a_question_the_text_is_recorded_only_if_set(
    caller: Api, ida: Any, settings: Any, with_text: bool
) -> None:
    settings.PKB_AUDIT_QUESTIONS = with_text
    reply = caller.get("/answer", {"q": LIGHTHOUSE_QUESTION}).json()
    ((action, user_id, subject, text),) = recorded("action", "user_id", "subject", "text")
    assert (action, user_id, subject) == ("ask", ida.pk, reply["id"])
    assert text == (LIGHTHOUSE_QUESTION if with_text else "")


def test_logins_and_keys_are_recorded_without_what_opens_them(ida: Any, key: str) -> None:
    client = Client(REMOTE_ADDR="192.0.2.7")
    wrong = {"username": "ida", "password": "a guess at it"}
    client.post("/ui/login", wrong)
    client.post("/ui/login", {**wrong, "password": "a green book of weather"})
    revoke_key(ApiKey.objects.get())
    client.post("/ui/logout")
    assert recorded("action", "user_id", "subject", "address") == [
        ("log_in_failed", None, "ida", "192.0.2.7"),
        ("log_in", ida.pk, "", "192.0.2.7"),
        ("revoke_key", None, f"all ({key[:15]}…)", ""),
        ("log_out", ida.pk, "", "192.0.2.7"),
    ]
    everything = str(list(Event.objects.values()))
    assert not any(secret in everything for secret in (key, "a guess", "green book"))


def test_what_agents_take_in_is_recorded(ida: Any) -> None:
    with acting_as(Principal(user_id=ida.pk)):
        stored = unwrap(ingest)(BAKERY)
    assert recorded("action", "user_id", "subject") == [("ingest", ida.pk, stored["document_id"])]


def test_where_nobody_logs_in_nobody_is_recorded(api: Api, settings: Any) -> None:
    settings.PKB_AUTH_REQUIRED = False
    assert api.post("/ingest", {"text": LIGHTHOUSE}).status_code == 201
    api.get("/answer", {"q": LIGHTHOUSE_QUESTION})
    assert (Event.objects.count(), Document.objects.count()) == (0, 1)


def test_what_was_recorded_is_neither_changed_nor_deleted(caller: Api) -> None:
    caller.delete("/tags/none")
    for statement in (
        "UPDATE accounts_event SET user_id = 7",
        "DELETE FROM accounts_event",
    ):
        with (
            pytest.raises((ProgrammingError, InternalError), match="not changed"),
            transaction.atomic(),
            connection.cursor() as cursor,
        ):
            cursor.execute(statement)
    assert recorded("action", "status") == [("delete_tag", 404)]


def test_the_record_is_kept_for_its_days(key: str, settings: Any) -> None:
    settings.PKB_AUDIT_DAYS = 30
    for days in (29, 31):
        Event.objects.create(action=str(days), created_at=timezone.now() - timedelta(days=days))
    assert (purge_events(dry_run=True), purge_events(), purge_events()) == (1, 1, 0)
    assert recorded("action") == [("29",)]


def test_admins_read_the_record(caller: Api, ida: Any, client: Client) -> None:
    caller.delete("/tags/none")
    old = datetime(2026, 1, 1, 9, tzinfo=UTC)
    Event.objects.create(action="ask", created_at=old, user_id=1234567, text="a\tb\n c")
    shown = caller.get("/audit", {"username": "ida", "action": "delete_tag"}).json()["results"]
    assert [(each["username"], each["subject"]) for each in shown] == [("ida", "/tags/none")]
    listed = caller.get("/audit?limit=1").json()
    assert len(caller.get(listed["next"]).json()["results"]) == 1
    assert len(caller.get("/audit", {"since": "2026-01-02T00:00:00Z"}).json()["results"]) == 2
    assert caller.get("/audit", {"since": "2026-01-02"}).status_code == 400

    out, _, _ = run("audit", "--since", "2026-01-01")
    assert out.splitlines()[0] == "2026-01-01T09:00:00+00:00\t1234567\t\task\t\t\t\ta b c"
    assert [line.split("\t")[3] for line in out.splitlines()] == ["ask", "make_key", "delete_tag"]
    assert run("audit", "--user", "ida")[0].count("\n") == 1

    client.force_login(ida)
    listed_page = client.get("/admin/accounts/event/").content.decode()
    assert "delete_tag" in listed_page
    page = client.get(f"/admin/accounts/event/{Event.objects.first().pk}/change/")  # type: ignore[union-attr]
    assert page.status_code == 200
    assert client.post("/admin/accounts/event/add/").status_code == 403


def test_staff_revoke_keys_in_the_admin(client: Client, ida: Any, key: str) -> None:
    client.force_login(ida)
    chosen = {"action": "revoke", "_selected_action": ApiKey.objects.get().pk}
    listed = client.post("/admin/accounts/apikey/", chosen, follow=True).content.decode()
    assert "1 keys revoked." in listed
    assert ApiKey.objects.get().state == "revoked"
    assert ApiKey.objects.get().digest not in listed
