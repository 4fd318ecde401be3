"""How people log in, come by keys, and become the first."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from accounts.models import ApiKey, SetupAddress
from tests.support.client import Api
from tests.support.commands import refusal, run

pytestmark = pytest.mark.usefixtures("login_required")
PASSWORD = "a green book of weather"
SERVED = "http://127.0.0.1:8000"


@pytest.fixture
def ida(db: None) -> Any:
    return get_user_model().objects.create_user("ida", password=PASSWORD)


def log_in(client: Client, password: str = PASSWORD, **fields: str) -> Any:
    return client.post("/ui/login", {"username": "ida", "password": password, **fields})


def page(client: Client, path: str) -> str:
    return client.get(path).content.decode()


@pytest.mark.parametrize(
    ("wanted", "led_to"),
    [
        ("/ui/library?q=a", "/ui/library?q=a"),
        ("", "/ui/ask"),
        ("https://evil.example/", "/ui/ask"),
        ("//evil.example/", "/ui/ask"),
        ("javascript:alert(1)", "/ui/ask"),
    ],
)
def test_a_login_leads_to_our_own_pages_only(
    client: Client, ida: Any, wanted: str, led_to: str
) -> None:
    assert client.get("/ui/library")["Location"] == "/ui/login?next=%2Fui%2Flibrary"
    reply = log_in(client, next=wanted)
    assert (reply.status_code, reply["Location"]) == (302, led_to)
    cookie = reply.cookies["sessionid"]
    assert (cookie["httponly"], cookie["samesite"]) == (True, "Lax")
    assert "Log out" in page(client, "/ui/library")


def test_after_logging_out_nothing_is_shown(client: Client, ida: Any) -> None:
    log_in(client)
    assert client.get("/ui/logout").status_code == 405
    assert client.post("/ui/logout")["Location"] == "/ui/login"
    assert client.get("/ui/library").status_code == 302
    assert client.get("/documents").status_code == 401


def test_a_part_of_a_page_leads_to_the_login(client: Client) -> None:
    sent = {"HX-Request": "true", "HX-Current-URL": "http://testserver/ui/jobs"}
    reply = client.get("/ui/jobs", headers=sent)
    assert reply.status_code == 401
    assert reply["HX-Redirect"].startswith("/ui/login?next=")


def test_five_wrong_passwords_lock_out_who_sent_them(client: Client, ida: Any) -> None:
    assert "correct username and password" in log_in(client, "wrong").content.decode()
    for _ in range(4):
        last = log_in(client, "wrong")
    assert (last.status_code, b"15 minutes" in last.content) == (429, True)
    assert log_in(client).status_code == 429
    # It is the pair that is locked out: nobody can keep somebody else from their account.
    elsewhere = Client(REMOTE_ADDR="192.0.2.7")
    assert log_in(elsewhere).status_code == 302


def test_a_changed_password_ends_other_sessions(client: Client, ida: Any) -> None:
    other = Client()
    log_in(client)
    log_in(other)
    weak = {"old_password": PASSWORD, "new_password1": "short", "new_password2": "short"}
    assert "at least 12 characters" in client.post("/ui/password", weak).content.decode()
    new = "a blue book of harbours"
    given = {"old_password": PASSWORD, "new_password1": new, "new_password2": new}
    assert client.post("/ui/password", given)["Location"] == "/ui/keys"
    assert client.get("/ui/keys").status_code == 200
    assert other.get("/ui/keys").status_code == 302
    assert log_in(Client(), new).status_code == 302


def test_a_key_is_shown_once_and_revoked_by_its_owner(client: Client, ida: Any) -> None:
    log_in(client)
    wanted = {"name": "nightly", "scope": ["read", "ingest"], "days": "30"}
    made = client.post("/ui/keys", {**wanted, "networks": "127.0.0.0/8"})
    assert "no-store" in made["Cache-Control"]
    (key,) = re.findall(r"pkb_[0-9a-f]{64}", made.content.decode())
    assert key not in page(client, "/ui/keys")
    kept = ApiKey.objects.get()
    assert (kept.user, kept.scopes, kept.networks) == (ida, ["ingest", "read"], ["127.0.0.0/8"])
    sent = {"Authorization": f"Bearer {key}"}
    assert Api().get("/documents", headers=sent).status_code == 200

    otto = Client()
    otto.force_login(get_user_model().objects.create_user("otto"))
    assert "nightly" not in page(otto, "/ui/keys")
    assert otto.post(f"/ui/keys/{kept.pk}/revoke").status_code == 404
    assert client.post(f"/ui/keys/{kept.pk}/revoke")["Location"] == "/ui/keys"
    assert Api().get("/documents", headers=sent).status_code == 401
    assert "revoked" in page(client, "/ui/keys")


@pytest.mark.parametrize(
    "wrong",
    [
        {"scope": ["admin"]},
        {"scope": []},
        {"networks": "a/33"},
        {"days": "9"},
        {"name": ""},
    ],
)
def test_nobody_makes_a_key_of_more_than_they_may(
    client: Client, ida: Any, wrong: dict[str, Any]
) -> None:
    log_in(client)
    wanted = {"name": "agent", "scope": ["read"], "days": "", "networks": "", **wrong}
    assert client.post("/ui/keys", wanted).status_code == 400
    assert not ApiKey.objects.exists()


def test_without_a_login_there_are_no_keys(client: Client, ida: Any, settings: Any) -> None:
    settings.PKB_AUTH_REQUIRED = False
    assert client.get("/ui/keys").status_code == 404
    assert client.get("/ui/library").status_code == 200
    assert "Log out" not in page(client, "/ui/library")


def test_a_command_makes_lists_and_revokes_keys(ida: Any) -> None:
    given = ["--user", "ida", "--name", "nightly", "--scopes", "read,ingest", "--days", "7"]
    out, err, _ = run("apikey", "create", *given, "--from", "127.0.0.1")
    assert (re.fullmatch(r"pkb_[0-9a-f]{64}\n", out) is not None, err) == (True, "")
    sent = {"Authorization": f"Bearer {out.strip()}"}
    assert Api().get("/documents", headers=sent).status_code == 200
    kept = ApiKey.objects.get()
    assert kept.expiry is not None
    assert timedelta(days=6) < kept.expiry - timezone.now() < timedelta(days=7, seconds=1)
    listed, _, _ = run("apikey", "list", "--user", "ida")
    assert listed.split("\t")[:5] == [str(kept.pk), "ida", "nightly", "ingest,read", "active"]
    assert "never" not in listed
    run("apikey", "revoke", kept.pk)
    assert Api().get("/documents", headers=sent).status_code == 401
    assert "\trevoked\t" in run("apikey", "list")[0]


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (["--user", "otto"], "There is no user 'otto'"),
        (["--scopes", "read,write"], "scopes: use any of ingest, read"),
        (["--scopes", "admin"], "scopes: use any of ingest, read"),
        (["--days", "0"], "--days: 1 to 3650"),
        (["--from", "here"], "'here' does not appear to be an IPv4 or IPv6 network"),
    ],
)
def test_a_command_says_why_it_makes_no_key(ida: Any, wrong: list[str], reason: str) -> None:
    assert reason in refusal("apikey", "create", "--user", "ida", "--name", "x", *wrong)[0]
    assert "There is no key 1234567" in refusal("apikey", "revoke", 1234567)[0]


@pytest.fixture
def serve(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.PKB_WORKER = "off"
    settings.PKB_SERVED_AT = tmp_path / "served-at"
    monkeypatch.setattr("os.execve", lambda *command: None)


def invited(*arguments: str) -> list[str]:
    """The addresses at which `serve` says that the first user is made."""
    out, _, _ = run("serve", *arguments)
    return re.findall(r"http\S+/ui/setup\S+", out)


@pytest.mark.usefixtures("serve")
def test_the_first_user_is_made_once_at_the_address_that_is_printed(client: Client) -> None:
    (old,), (address,) = invited(), invited()
    assert address.startswith(f"{SERVED}/ui/setup?token=")
    token = address.partition("token=")[2]
    assert token not in str(list(SetupAddress.objects.values()))
    assert client.get(old.removeprefix(SERVED)).status_code == 404
    assert client.get("/ui/setup").status_code == 404

    chosen = {"username": "ida", "password1": "short", "password2": "short", "token": token}
    assert "at least 12 characters" in client.post("/ui/setup", chosen).content.decode()
    chosen |= {"password1": PASSWORD, "password2": PASSWORD}
    assert client.post("/ui/setup", chosen)["Location"] == "/ui/library"
    assert client.get("/admin/").status_code == 200
    assert Client().post("/ui/setup", {**chosen, "username": "eve"}).status_code == 404
    assert get_user_model().objects.get().is_superuser
    assert invited() == []


@pytest.mark.usefixtures("serve")
def test_the_address_of_the_first_user_expires(client: Client) -> None:
    (address,) = invited()
    SetupAddress.objects.update(expires_at=timezone.now())
    assert client.get(address.removeprefix(SERVED)).status_code == 404


@pytest.mark.usefixtures("serve")
def test_serve_checks_the_exposure_of_its_host_option(settings: Any) -> None:
    settings.PKB_AUTH, settings.PKB_AUTH_REQUIRED = "auto", False
    _, told, _ = run("serve", "--host", "127.0.0.1")
    assert ("pkb.W001" in told, invited("--host", "127.0.0.1")) == (False, [])
    anywhere = ["--host", "0.0.0.0"]  # noqa: S104
    _, told, _ = run("serve", *anywhere)
    assert "(pkb.W001) APP_HOST: 0.0.0.0 is not a loopback" in told
    (address,) = invited(*anywhere)
    assert address.startswith("http://localhost:8000/ui/setup?token=")
    settings.PKB_AUTH = "off"
    with pytest.raises(CommandError, match=r"pkb\.E001"):
        call_command("serve", host="0.0.0.0")  # noqa: S104
