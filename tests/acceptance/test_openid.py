"""Logging in at an OpenID provider, which runs in a process of its own."""

import logging
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import httpx2
import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.test import Client

from accounts.models import Event, Identity
from accounts.openid.issuer import find_issuer
from tests.support.openid_provider import CLIENT_ID, CLIENT_SECRET, Provider, provider_process
from tests.support.processes import wait_for_environment

# Slow: its package is not installed for a quick run.
pytestmark = pytest.mark.slow
USERS = get_user_model().objects
IDA = {"email": "ida@example.org", "email_verified": True, "preferred_username": "ida"}
BEGIN = "/ui/login/openid"


@pytest.fixture(scope="module")
def provider_of_module() -> Iterator[Provider]:
    with provider_process(wait_for_environment("clients") / "bin" / "python") as provider:
        yield provider


@pytest.fixture
def provider(provider_of_module: Provider, settings: Any) -> Provider:
    """The provider as the settings name it, well-behaved."""
    settings.PKB_AUTH_REQUIRED = True
    settings.PKB_OIDC_ISSUER = provider_of_module.issuer
    settings.PKB_OIDC_NAME = "the harbour office"
    settings.PKB_OIDC_CLIENT_ID = CLIENT_ID
    settings.PKB_OIDC_CLIENT_SECRET = CLIENT_SECRET
    provider_of_module.knows("s-1", **IDA)
    provider_of_module.misbehaves()
    return provider_of_module


@pytest.fixture
def ida(db: None) -> Any:
    return USERS.create_user("ida.k", email="Ida@example.org")


def begin(client: Client, wanted: str = "") -> str:
    """Return where the provider is asked to log somebody in."""
    return str(client.get(BEGIN, {"next": wanted})["Location"])


def come_back(client: Client, address: str, **changed: str) -> Any:
    asked = dict(parse_qsl(urlsplit(address).query)) | changed
    return client.get(f"{urlsplit(address).path}?{urlencode(asked)}")


def log_in(client: Client, provider: Provider, *, subject: str = "s-1", wanted: str = "") -> Any:
    return come_back(client, provider.log_in(begin(client, wanted), subject))


def assert_refused(client: Client, reply: Any, why: str) -> None:
    """Nobody was let in, the page says why, and the record as well."""
    assert (reply.status_code, why in reply.content.decode()) == (403, True), reply.content
    assert client.get("/documents").status_code == 401
    failed = Event.objects.latest("created_at", "pk")
    assert (failed.action, why in failed.subject) == ("log_in_failed", True)
    assert failed.address == "127.0.0.1"


def test_who_logs_in_at_the_provider_is_let_in(
    client: Client, provider: Provider, ida: Any
) -> None:
    page = client.get("/ui/login?next=/ui/jobs").content.decode()
    assert f'href="{BEGIN}?next=%2Fui%2Fjobs">Log in with the harbour office</a>' in page
    assert 'name="password"' in page
    reply = log_in(client, provider, wanted="/ui/jobs")
    assert (reply.status_code, reply["Location"]) == (302, "/ui/jobs")
    assert client.get("/documents").status_code == 200
    identity = Identity.objects.get()
    assert (identity.user, identity.issuer, identity.subject) == (ida, provider.issuer, "s-1")
    linked, event = Event.objects.order_by("created_at", "pk")
    assert (linked.action, linked.subject) == ("link_login", f"s-1 at {provider.issuer}")
    assert (event.action, event.user_id, event.address) == ("log_in", ida.pk, "127.0.0.1")
    assert client.post("/ui/logout")["Location"] == "/ui/login"
    assert client.get("/documents").status_code == 401


def test_the_provider_is_asked_for_a_code_bound_to_this_browser(
    client: Client, provider: Provider
) -> None:
    first, second = (parse_qs(urlsplit(begin(client)).query) for _ in range(2))
    assert first["response_type"] == ["code"]
    assert first["code_challenge_method"] == ["S256"]
    assert first["redirect_uri"] == [f"http://testserver{BEGIN}/callback"]
    for name in ("state", "nonce", "code_challenge"):
        assert first[name] != second[name]
        assert len(first[name][0]) >= 43
    cookie = client.cookies["pkb_openid"]
    assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "Lax", BEGIN)


def test_where_no_provider_is_configured_there_is_no_such_login(
    client: Client, settings: Any
) -> None:
    settings.PKB_AUTH_REQUIRED = True
    assert {client.get(path).status_code for path in (BEGIN, f"{BEGIN}/callback")} == {404}
    assert "Log in with" not in client.get("/ui/login").content.decode()


@pytest.mark.parametrize(
    "wanted", ["https://evil.example/", "//evil.example/", "javascript:a()", f"/ui/{'a' * 5_000}"]
)
def test_a_login_leads_to_our_own_pages_only(
    client: Client, provider: Provider, ida: Any, wanted: str
) -> None:
    assert log_in(client, provider, wanted=wanted)["Location"] == "/ui/ask"


def test_another_state_than_that_of_the_browser_is_refused(
    client: Client, provider: Provider, ida: Any
) -> None:
    back = provider.log_in(begin(client), "s-1")
    assert_refused(client, come_back(client, back, state="another"), "another login since")
    # What somebody else began and leads our browser to.
    foreign = provider.log_in(begin(Client()), "s-1")
    assert_refused(client, come_back(client, foreign), "another login since")
    assert_refused(Client(), come_back(Client(), back), "started in another browser")
    client.cookies["pkb_openid"] = client.cookies["pkb_openid"].value.swapcase()
    assert_refused(client, come_back(client, back), "started in another browser")


def test_what_anybody_can_send_does_not_fill_the_record(
    client: Client, provider: Provider, ida: Any
) -> None:
    back = provider.log_in(begin(client), "s-1")
    assert {come_back(Client(), back).status_code for _ in range(8)} == {403}
    assert Event.objects.filter(action="log_in_failed").count() == 5
    assert come_back(client, back).status_code == 302


def test_a_code_of_another_login_is_refused(client: Client, provider: Provider, ida: Any) -> None:
    theirs = parse_qs(urlsplit(provider.log_in(begin(Client()), "s-1")).query)["code"][0]
    ours = provider.log_in(begin(client), "s-1")
    # By PKCE: the verifier is of another challenge.
    assert_refused(client, come_back(client, ours, code=theirs), "returned 400: invalid_grant")
    assert_refused(client, come_back(client, ours, code="none"), "returned 400")
    assert come_back(client, ours).status_code == 302
    assert_refused(Client(), come_back(Client(), ours), "started in another")


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ({"claims": {"nonce": "another"}}, "of another login"),
        ({"claims": {"exp": 1_700_000_000, "iat": 1_600_000_000}}, "ExpiredSignatureError"),
        ({"claims": {"aud": "another"}}, "InvalidAudienceError"),
        ({"claims": {"aud": [CLIENT_ID, "another"]}}, "for another client"),
        ({"claims": {"azp": "another"}}, "for another client"),
        ({"claims": {"iss": "https://evil.example"}}, "InvalidIssuerError"),
        ({"claims": {"sub": "s-2"}}, "profile is of another user"),
        ({"foreign_key": True}, "InvalidSignatureError"),
        ({"silent": True}, "DecodeError"),
    ],
)
def test_a_token_that_is_not_right_is_refused(
    client: Client, provider: Provider, ida: Any, how: dict[str, Any], why: str
) -> None:
    provider.misbehaves(**how)
    assert_refused(client, log_in(client, provider), why)
    assert not Identity.objects.exists()


def test_what_the_provider_refuses_is_told_in_no_words_of_others(
    client: Client, provider: Provider
) -> None:
    asked = parse_qs(urlsplit(begin(client)).query)
    back = f"{BEGIN}/callback?state={asked['state'][0]}"
    denied = client.get(f"{back}&error=access_denied")
    assert_refused(client, denied, "rejected the login: access_denied")
    said = client.get(f"{back}&error=Call+0800+1234&error_description=Call+0800+1234")
    assert "0800" not in said.content.decode()
    assert_refused(client, said, "rejected the login: an error")
    evil = come_back(client, back, iss="https://evil.example", code="a")
    assert_refused(client, evil, "from another provider")


def test_an_unverified_address_links_to_no_account(
    client: Client, provider: Provider, ida: Any, settings: Any
) -> None:
    settings.PKB_OIDC_CREATE_USERS = True
    for unverified in ({}, {"email_verified": False}, {"email_verified": "false"}):
        provider.knows("s-1", **{**IDA, "email_verified": None, **unverified})
        assert_refused(client, log_in(client, provider), "has not verified")
    assert (USERS.count(), Identity.objects.count()) == (1, 0)


def test_a_user_is_made_at_the_first_login_where_that_is_wanted(
    client: Client, provider: Provider, settings: Any
) -> None:
    assert_refused(client, log_in(client, provider), "no account here")
    assert "s-1" in Event.objects.latest("created_at", "pk").subject
    settings.PKB_OIDC_CREATE_USERS = True
    USERS.create_user("Ida")  # of no address: who that is, nobody knows
    for _ in range(2):
        assert log_in(client, provider).status_code == 302
    made = USERS.get(username="ida-2")
    assert (made.email, made.is_staff, made.is_superuser) == ("ida@example.org", False, False)
    assert not made.has_usable_password()
    assert USERS.count() == 2
    # A name or address that changes there is the same person here.
    provider.knows("s-1", **{**IDA, "email": "ida@new.example", "preferred_username": "ik"})
    assert log_in(client, provider).status_code == 302
    assert (USERS.count(), "Change password" in page(client, "/ui/keys")) == (2, False)


def page(client: Client, path: str) -> str:
    return client.get(path).content.decode()


def test_account_made_for_an_unverified_address_is_not_given_to_its_owner(
    client: Client, provider: Provider, settings: Any
) -> None:
    settings.PKB_OIDC_CREATE_USERS = True
    provider.knows("eve", email="ida@example.org", preferred_username="eve")
    assert log_in(Client(), provider, subject="eve").status_code == 302
    assert USERS.get().email == ""
    assert log_in(client, provider).status_code == 302
    assert USERS.count() == 2


def test_an_address_that_was_given_to_somebody_new_opens_no_old_account(
    client: Client, provider: Provider, ida: Any
) -> None:
    log_in(client, provider)
    provider.knows("s-9", **IDA)
    assert_refused(Client(), log_in(Client(), provider, subject="s-9"), "to another identity")
    USERS.create_user("otto", email="otto@example.org")
    USERS.create_user("otto2", email="OTTO@example.org")
    provider.knows("s-8", email="otto@example.org", email_verified=True)
    assert_refused(Client(), log_in(Client(), provider, subject="s-8"), "Several accounts")


def test_a_closed_account_stays_closed(client: Client, provider: Provider, ida: Any) -> None:
    USERS.update(is_active=False)
    assert_refused(client, log_in(client, provider), "The account is not active")
    Identity.objects.create(user=ida, issuer=provider.issuer, subject="s-1")
    assert_refused(client, log_in(client, provider), "The account is not active")


def test_groups_are_those_that_the_provider_tells_at_each_login(
    client: Client, provider: Provider, ida: Any, settings: Any
) -> None:
    ida.groups.add(Group.objects.create(name="here"))

    def groups(told: Any) -> tuple[list[str], bool, bool]:
        provider.knows("s-1", **IDA, teams=told)
        assert log_in(client, provider).status_code == 302
        ida.refresh_from_db()
        names = ida.groups.order_by("name").values_list("name", flat=True)
        return [*names], ida.is_staff, ida.is_superuser

    assert groups(["harbour"]) == (["here"], False, False)
    settings.PKB_OIDC_GROUPS_CLAIM = "teams"
    assert groups(["harbour", "tide", "tide"]) == (["harbour", "tide"], False, False)
    assert groups("harbour") == (["harbour"], False, False)
    settings.PKB_OIDC_ADMIN_GROUP = "keepers"
    assert groups(["keepers", 7, "", "a" * 151, "a\0"]) == (["keepers"], True, True)
    assert client.get("/admin/").status_code == 200
    assert groups(None) == ([], False, False)
    assert client.get("/admin/").status_code == 403
    changed = Event.objects.filter(action__endswith="_staff", user_id=ida.pk)
    assert {event.action for event in changed} == {"make_staff", "dismiss_staff"}


def test_a_provider_that_is_away_keeps_nobody_from_a_password(
    client: Client, provider: Provider, ida: Any, settings: Any
) -> None:
    ida.set_password("a green book of weather")
    ida.save()
    back = provider.log_in(begin(client), "s-1")
    settings.PKB_OIDC_ISSUER = "http://127.0.0.1:9"
    for reply in (client.get(BEGIN), come_back(client, back), client.get(BEGIN)):
        assert reply.status_code == 503
        assert int(reply["Retry-After"]) > 0
        assert "login provider does not answer" in reply.content.decode()
    assert client.get("/health").status_code == 200
    given = {"username": "ida.k", "password": "a green book of weather"}
    assert client.post("/ui/login", given).status_code == 302


Answer = Callable[[httpx2.Request], httpx2.Response]


@pytest.mark.parametrize(
    ("answered", "why"),
    [
        ({"status_code": 500}, "The provider returned 500"),
        (
            {"status_code": 302, "headers": {"Location": "http://127.0.0.1/"}},
            "The provider returned 302",
        ),
        ({"text": "<html>"}, "not a JSON object"),
        ({"json": []}, "not a JSON object"),
        ({"content": b" " * (2**20 + 1)}, "too large or too slow"),
        ({"json": {"issuer": "https://evil.example"}}, "issuer differs"),
        ({"json": {"issuer": "https://id.example.org/"}}, "lacks endpoints"),
        (
            {
                "json": {
                    "issuer": "https://id.example.org",
                    "authorization_endpoint": "http://id.example.org/a",
                    "token_endpoint": "https://id.example.org/t",
                    "jwks_uri": "https://id.example.org/k",
                }
            },
            "lacks endpoints",
        ),
    ],
)
def test_a_provider_that_tells_nonsense_of_itself_is_not_gone_to(
    client: Client,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    answered: dict[str, Any],
    why: str,
) -> None:
    settings.PKB_OIDC_ISSUER = "https://id.example.org"
    told = httpx2.MockTransport(lambda request: httpx2.Response(**{"status_code": 200, **answered}))
    monkeypatch.setattr(find_issuer(), "_client", httpx2.Client(transport=told))
    reply = client.get(BEGIN)
    assert (reply.status_code, why in reply.content.decode()) == (503, True), reply.content


def test_the_secret_is_told_to_the_provider_and_nobody_else(
    client: Client, provider: Provider, ida: Any, caplog: pytest.LogCaptureFixture, settings: Any
) -> None:
    caplog.set_level(logging.DEBUG)
    settings.PKB_OIDC_CLIENT_SECRET = "wrong-but-a-secret"
    refused = log_in(client, provider)
    assert_refused(client, refused, "returned 400: invalid_grant")
    settings.PKB_OIDC_CLIENT_SECRET = CLIENT_SECRET
    assert log_in(client, provider).status_code == 302
    told = [refused.content.decode(), client.get("/health").content.decode(), caplog.text]
    told += [str(vars(event)) for event in Event.objects.all()]
    told.append(repr(find_issuer()))
    assert not [text for text in told if "wrong-but-a-secret" in text or CLIENT_SECRET in text]
