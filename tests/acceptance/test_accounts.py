"""Where a login is required: who is let in to what, by a key or a session."""

import asyncio
import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone

from accounts.keys import create_key, revoke_key
from accounts.models import ApiKey
from corpus.access.principal import SYSTEM, Principal, Scope, current_principal
from corpus.errors import NotAllowed, NotLoggedIn
from corpus.models import Collection, Job
from qa.api.mcp.mcp_server import build_server
from qa.api.mcp.transport import admit_agent, serve_mcp
from tests.support.client import Api
from tests.support.commands import refusal
from tests.support.operations import list_operations

pytestmark = pytest.mark.usefixtures("login_required")

ID = "6a50f511-3018-4a63-8095-956467a384db"
OPEN = {"GET /health", "GET /ready"}
ADMIN = {
    "GET /metrics", "GET /audit", "GET /status", "GET /rules", "POST /rules", "GET /rules/{}",
    "PATCH /rules/{}", "DELETE /rules/{}", "POST /rules/try",
}  # fmt: skip
INGEST = {
    "POST /ingest", "DELETE /documents/{}", "DELETE /tags/{}", "POST /collections",
    "PATCH /collections/{}", "PATCH /collections/{}/confidence", "DELETE /collections/{}",
    "POST /jobs/{}/retry", "POST /jobs/{}/cancel", "POST /create", "POST /encode_doc",
    "POST /encode_batch", "POST /sources/{}/sync", "POST /collections/{}/access",
    "PATCH /collections/{}/access", "DELETE /collections/{}/access/{}",
    "POST /sites", "DELETE /sites/{}", "POST /sites/{}/refresh",
    "POST /grids", "PATCH /grids/{}", "DELETE /grids/{}",
    "POST /webhooks", "PATCH /webhooks/{}", "DELETE /webhooks/{}",
    "POST /webhooks/{}/deliveries/{}/send",
}  # fmt: skip
# Of another machine than ours, which may collect metrics.
ELSEWHERE: dict[str, Any] = {"REMOTE_ADDR": "192.0.2.7"}
MakeKey = Callable[..., str]
# One for all: each would load the middleware anew.
CALLER = Api()


@pytest.fixture
def ida(db: None) -> Any:
    return get_user_model().objects.create_superuser("ida")


@pytest.fixture
def otto(db: None) -> Any:
    return get_user_model().objects.create_user("otto")


@pytest.fixture
def key(ida: Any) -> MakeKey:
    def make(*scopes: str, user: Any = ida, **bounds: Any) -> str:
        return create_key(user, name="test", scopes=scopes, **bounds)[1]

    return make


def scope_of(operation: str) -> Scope:
    if operation in ADMIN:
        return Scope.ADMIN
    return Scope.INGEST if operation in INGEST else Scope.READ


def send(operation: str, *keys: str) -> Any:
    method, path = operation.replace("{}", ID).split()
    headers = {"Authorization": f"Bearer {keys[0]}"} if keys else {}
    return CALLER.generic(
        method, path, "{}", content_type="application/json", headers=headers, **ELSEWHERE
    )


def code_of(reply: Any, operation: str) -> str:
    """The error's code; checks that a refusal has the shape of its door."""
    assert reply["WWW-Authenticate"].startswith('Bearer realm="pkb"')
    if " /v1/" in operation:
        assert set(reply.json()["error"]) == {"message", "type", "param", "code"}
        return str(reply.json()["error"]["code"])
    assert reply["Content-Type"] == "application/problem+json"
    assert reply.json()["status"] == reply.status_code
    return str(reply.json()["error"])


def test_each_operation_takes_keys_of_its_scope_and_no_others(key: MakeKey) -> None:
    with_one = {scope: key(scope) for scope in Scope}
    for operation in sorted(set(list_operations()) - OPEN):
        for scope, one in with_one.items():
            reply = send(operation, one)
            if scope == scope_of(operation):
                assert reply.status_code not in {401, 403, 500}, (operation, reply.content)
            else:
                assert reply.status_code == 403, (operation, scope)
                assert code_of(reply, operation) == "forbidden"


def test_no_operation_takes_a_key_that_opens_nothing(key: MakeKey, ida: Any, otto: Any) -> None:
    wrong = {"revoked": key(*Scope), "expired": key(*Scope, days=1)}
    others = {
        "elsewhere": key(*Scope, networks=["198.51.100.0/24"]),
        "of somebody who left": key("read", "ingest", user=otto),
        "never made": f"pkb_{'0' * 64}",
        "not of this world": "schlüssel",
    }
    revoke_key(ApiKey.objects.get(token_key=wrong["revoked"][:15]))
    ApiKey.objects.exclude(expiry=None).update(expiry=timezone.now() - timedelta(seconds=1))
    get_user_model().objects.filter(pk=otto.pk).update(is_active=False)
    for operation in sorted(set(list_operations()) - OPEN):
        # The reason is not the operation's: each of its shapes will do for most.
        tried = wrong | others if operation in {"POST /search", "POST /v1/rerank"} else wrong
        for why, each in tried.items():
            reply = send(operation, each)
            assert reply.status_code == 401, (operation, why)
            assert code_of(reply, operation) == "unauthorized"
        reply = send(operation)
        assert (reply.status_code, code_of(reply, operation)) == (401, "unauthorized")


def test_a_key_may_come_from_its_network(key: MakeKey) -> None:
    assert send("GET /documents", key("read", networks=["192.0.2.0/24"])).status_code == 200


def test_a_key_does_no_more_than_its_user_may(key: MakeKey, ida: Any) -> None:
    all_scopes = key(*Scope)
    assert send("GET /metrics", all_scopes).status_code == 200
    get_user_model().objects.filter(pk=ida.pk).update(is_staff=False)
    assert send("GET /metrics", all_scopes).status_code == 403
    assert send("GET /documents", all_scopes).status_code == 200


def test_a_key_is_taken_in_either_header_and_no_other_way(key: MakeKey) -> None:
    one = key("read")
    client = Api()
    assert client.get("/documents", headers={"X-API-Key": one}).status_code == 200
    for wrong in (f"Basic {one}", "Bearer", one, f"Bearer {one} {one}", f"Bearer {one[:-1]}"):
        reply = client.get("/documents", headers={"Authorization": wrong})
        assert reply.status_code == 401
        assert one not in reply.content.decode()
    assert client.get(f"/documents?api_key={one}").status_code == 401


def test_what_a_user_is_told_is_kept_by_no_cache(key: MakeKey, ida: Any, client: Client) -> None:
    sent = {"X-API-Key": key("read")}
    assert CALLER.get("/documents", headers=sent)["Cache-Control"] == "no-store"
    assert CALLER.get(f"/documents/{ID}", headers=sent)["Cache-Control"] == "no-store"
    client.force_login(ida)
    assert client.get("/tags")["Cache-Control"] == "no-store"
    assert client.get("/ui/library")["Cache-Control"] == "private"
    assert "Cache-Control" not in CALLER.get("/health")


def test_of_a_key_only_its_hash_and_its_beginning_are_kept(key: MakeKey) -> None:
    one = key("read")
    (kept,) = ApiKey.objects.values()
    assert not [value for value in kept.values() if one in str(value)]
    assert one.startswith(kept["token_key"])
    assert len(one) - len(kept["token_key"]) >= 50


def paths(patterns: Any, before: str = "/") -> Iterator[str]:
    """Every address that something answers at, with something in each place."""
    for each in patterns:
        route = str(each.pattern)
        if isinstance(each, URLResolver):
            yield from paths(each.url_patterns, before + route)
        elif isinstance(each, URLPattern):
            route = re.sub(r"<(?:uuid|name|str|path):[^>]*>|\(\?P<\w+>[^)]*\)", ID, before + route)
            yield re.sub(r"<int:[^>]*>", "1", route).replace("^", "").replace("$", "")


EVERYWHERE = sorted(set(paths(get_resolver().url_patterns)))
ADMIN_PAGES = [path for path in EVERYWHERE if path.startswith("/admin")]
ENTRANCES = {
    "/health", "/ready", "/ui/login", "/ui/login/openid", "/ui/login/openid/callback", "/ui/setup",
    "/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp",
    "/favicon.ico",
}  # fmt: skip


def test_nothing_that_answers_lets_a_stranger_in() -> None:
    assert len(EVERYWHERE) > 150
    strangers = Client(raise_request_exception=False)
    for path in set(EVERYWHERE) - ENTRANCES:
        is_page = re.match(r"/$|/(ui|admin|docs)", path)
        shown = strangers.get(path, **ELSEWHERE)
        assert shown.status_code == (302 if is_page else 401), path
        assert not is_page or shown["Location"].startswith("/ui/login?next="), path
        assert strangers.post(path, {}, **ELSEWHERE).status_code == 401, path


def test_only_staff_see_the_admin(client: Client, otto: Any, ida: Any) -> None:
    assert len(ADMIN_PAGES) > 80
    client.force_login(otto)
    assert {client.get(path).status_code for path in ADMIN_PAGES} == {403}
    client.force_login(ida)
    assert client.get("/admin/corpus/document/").status_code == 200


def test_a_key_opens_no_page(client: Client, key: MakeKey) -> None:
    headers = {"Authorization": f"Bearer {key(*Scope)}"}
    for path in ("/ui/library", "/ui/keys", "/admin/"):
        assert client.get(path, headers=headers).status_code == 302
        assert client.post(path, headers=headers).status_code == 401


def test_a_session_reads_and_writes_the_api_with_the_token_of_its_pages(otto: Any) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(otto)
    body = {"name": "notes"}
    assert client.get("/documents").status_code == 200
    refused = client.post("/collections", body, content_type="application/json")
    assert (refused.status_code, Collection.objects.count()) == (403, 1)
    token = re.findall(r'X-CSRFToken": "(\w+)"', client.get("/ui/library").content.decode())[0]
    sent = {"X-CSRFToken": token}
    made = client.post("/collections", body, content_type="application/json", headers=sent)
    assert made.status_code == 201
    assert client.get("/metrics", **ELSEWHERE).status_code == 403


def test_strangers_hear_that_it_lives_and_no_more(api: Api, key: MakeKey) -> None:
    assert set(api.get("/health").json()) == {"status"}
    assert "X-Pkb-Installation" not in api.get("/ready")
    wrong = {"Authorization": "Bearer wrong"}
    assert set(api.get("/health", headers=wrong).json()) == {"status"}
    known = {"Authorization": f"Bearer {key('read')}"}
    assert len(api.get("/health", headers=known).json()) == 8


def test_metrics_are_collected_from_this_machine_itself(api: Api) -> None:
    assert api.get("/metrics").status_code == 200
    assert api.get("/metrics", headers={"X-Forwarded-For": "192.0.2.7"}).status_code == 401
    assert api.get("/metrics", **ELSEWHERE).status_code == 401


def test_a_job_remembers_who_made_it(
    api: Api, key: MakeKey, ida: Any, settings: Any, tmp_path: Path
) -> None:
    settings.PKB_INGEST_ROOTS = [tmp_path]
    body = {"directory_path": str(tmp_path), "index_name": "default"}
    api.credentials(HTTP_AUTHORIZATION=f"Bearer {key('ingest')}")
    assert api.post("/encode_batch", body).status_code == 202
    assert Job.objects.get().made_by == ida


def test_who_acts_is_known_within_a_request_and_not_after(
    api: Api, key: MakeKey, ida: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Principal] = []
    monkeypatch.setattr("pkb.health.count_stored", lambda: seen.append(current_principal()))
    made = ApiKey.objects.get(token_key=(one := key("read", "admin"))[:15])
    api.get("/health", headers={"Authorization": f"Bearer {one}"})
    scopes = frozenset({Scope.READ, Scope.ADMIN})
    expected = Principal(ida.pk, scopes, made.pk, is_superuser=True)
    assert (seen, current_principal()) == ([expected], SYSTEM)


def test_agents_need_a_key_and_get_the_tools_of_its_scopes(key: MakeKey) -> None:
    def tools(*scopes: str) -> set[str]:
        bearer = {"authorization": f"Bearer {key(*scopes)}"}
        principal = admit_agent(bearer, peer="127.0.0.1")
        listed = asyncio.run(build_server(scopes=principal.scopes).list_tools())
        return {tool.name for tool in listed}

    reading = {"list_collections", "search", "count", "fetch", "answer"}
    assert (tools("read"), tools("ingest")) == (reading, {"ingest"})
    assert tools("read", "ingest", "admin") == {*reading, "ingest"}
    with pytest.raises(NotAllowed):
        tools("admin")
    for wrong in ({}, {"authorization": "Bearer wrong"}, {"x-api-key": "wrong"}):
        with pytest.raises(NotLoggedIn):
            admit_agent(wrong, peer="127.0.0.1")


@pytest.mark.parametrize("sent", [{}, {"Authorization": "Bearer wrong"}])
def test_an_agent_without_a_key_is_told_how_to_come_back(sent: dict[str, str]) -> None:
    async def call() -> httpx2.Response:
        door = httpx2.ASGITransport(serve_mcp)
        async with httpx2.AsyncClient(transport=door, base_url="http://testserver") as client:
            return await client.post("/mcp", json={}, headers=sent)

    reply = asyncio.run(call())
    assert (reply.status_code, reply.json()["error"]) == (401, "unauthorized")
    assert reply.headers["WWW-Authenticate"] == 'Bearer realm="pkb"'
    assert reply.headers["Content-Type"] == "application/problem+json"


def test_over_stdin_an_agent_needs_the_key_of_its_environment(settings: Any) -> None:
    for settings.PKB_API_KEY in ("", "wrong"):
        assert "PKB_API_KEY: " in refusal("mcp")[0]
