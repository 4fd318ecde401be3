"""Agents at /mcp with a token that an OpenID provider issued for it (RFC 9728)."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import httpx2
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from django.contrib.auth import get_user_model
from django.test import Client
from jwt.algorithms import ECAlgorithm
from mcp.shared.auth import ProtectedResourceMetadata

from accounts.models import Identity
from accounts.openid.issuer import find_issuer
from corpus.access.principal import Scope
from corpus.errors import IssuerUnavailable, NotAllowed, NotLoggedIn
from pkb.http.admission import check_headers
from pkb.http.rejections import RequestRejected, send_rejection
from qa.api.mcp.transport import admit_agent, serve_mcp

ISSUER = "https://id.example.org/realms/team"
PAGES = "https://kb.example.org"
METADATA = "/.well-known/oauth-protected-resource"
OWN, FOREIGN = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))


def discovery() -> dict[str, Any]:
    ends = {"authorization_endpoint": "/auth", "token_endpoint": "/token", "jwks_uri": "/keys"}
    told = {name: f"{ISSUER}{path}" for name, path in ends.items()}
    return {"issuer": ISSUER, "id_token_signing_alg_values_supported": ["ES256", "HS256"], **told}


class Network:
    """What the issuer answers, and how often it is asked for its keys."""

    def __init__(self) -> None:
        self.kid = "first"
        self.asked = 0
        self.is_away = False

    def answer(self, request: httpx2.Request) -> httpx2.Response:
        if self.is_away:
            raise httpx2.ConnectError("away")
        if request.url.path.endswith("/keys"):
            self.asked += 1
            key = ECAlgorithm.to_jwk(OWN.public_key(), as_dict=True)
            return httpx2.Response(200, json={"keys": [{**key, "kid": self.kid, "use": "sig"}]})
        return httpx2.Response(200, json=discovery())


@pytest.fixture
def network(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Network:
    settings.PKB_AUTH_REQUIRED = True
    settings.PKB_PUBLIC_URL = PAGES
    settings.PKB_OIDC_ISSUER = ISSUER
    # Another for each test: nothing is known of it yet.
    settings.PKB_OIDC_CLIENT_ID = f"pkb-{time.monotonic_ns()}"
    network = Network()
    client = httpx2.Client(transport=httpx2.MockTransport(network.answer))
    monkeypatch.setattr(find_issuer(), "_client", client)
    return network


@pytest.fixture
def ida(network: Network, db: None) -> Any:
    user = get_user_model().objects.create_superuser("ida")
    Identity.objects.create(user=user, issuer=ISSUER, subject="s-1")
    return user


def token(key: Any = OWN, *, kid: str = "first", **changed: Any) -> str:
    now = int(time.time())
    claims = {
        "iss": ISSUER, "sub": "s-1", "aud": f"{PAGES}/mcp", "iat": now, "exp": now + 300,
        "scope": "openid read", **changed,
    }  # fmt: skip
    return jwt.encode(claims, key, algorithm="ES256", headers={"kid": kid})


def admit(credential: str) -> Any:
    return admit_agent({"authorization": f"Bearer {credential}"}, peer="192.0.2.7")


def call(door: Any = serve_mcp, **headers: str) -> httpx2.Response:
    async def post() -> httpx2.Response:
        transport = httpx2.ASGITransport(door)
        async with httpx2.AsyncClient(transport=transport, base_url="http://testserver") as client:
            return await client.post("/mcp", json={}, headers=headers)

    return asyncio.run(post())


async def gate(scope: Any, receive: Any, send: Any) -> None:
    """What refuses a body that nobody says whose it is, before it is read."""
    try:
        check_headers(scope)
    except RequestRejected as refused:
        await send_rejection(refused, scope=scope, send=send)


@pytest.mark.parametrize("door", [gate, serve_mcp])
def test_an_agent_is_told_where_it_gets_a_token(
    client: Client, network: Network, door: Any
) -> None:
    refused = call(door)
    expected = f'Bearer realm="pkb", resource_metadata="{PAGES}{METADATA}/mcp"'
    assert (refused.status_code, refused.headers["WWW-Authenticate"]) == (401, expected)
    for path in (f"{METADATA}/mcp", METADATA):
        told = client.get(path)
        assert told.status_code == 200
        assert told.json() == {
            "resource": f"{PAGES}/mcp",
            "authorization_servers": [ISSUER],
            "scopes_supported": ["read", "ingest"],
            "bearer_methods_supported": ["header"],
            "resource_name": "pkb",
        }
        ProtectedResourceMetadata.model_validate(told.json())  # the SDK's clients read it
    assert network.asked == 0


def test_without_a_provider_no_agent_is_sent_to_one(
    client: Client, network: Network, settings: Any
) -> None:
    settings.PKB_OIDC_ISSUER = ""
    assert call().headers["WWW-Authenticate"] == 'Bearer realm="pkb"'
    assert {client.get(f"{METADATA}{path}").status_code for path in ("", "/mcp")} == {404}
    with pytest.raises(NotLoggedIn, match="key is unknown"):
        admit(token())


@pytest.mark.parametrize(
    ("told", "scopes"),
    [
        ({}, {Scope.READ}),
        ({"scope": "read ingest admin"}, {Scope.READ, Scope.INGEST}),
        ({"scope": None, "scp": ["ingest"]}, None),
        ({"scope": ["ingest", 7]}, {Scope.INGEST}),
        ({"aud": ["another", f"{PAGES}/mcp"]}, {Scope.READ}),
        ({"scope": "openid admin"}, None),
    ],
)
def test_a_token_for_agents_does_what_its_scopes_and_its_user_may(
    ida: Any, told: dict[str, Any], scopes: set[Scope] | None
) -> None:
    if scopes is None:
        with pytest.raises(NotAllowed):
            admit(token(**told))
        return
    principal = admit(token(**told))
    assert (principal.user_id, principal.scopes, principal.key_id) == (ida.pk, scopes, None)


def refuse(credential: str, why: str) -> None:
    with pytest.raises(NotLoggedIn, match=why):
        admit(credential)


def test_a_token_for_others_or_of_others_opens_nothing(ida: Any, settings: Any) -> None:
    for aud in ("https://another.example/mcp", settings.PKB_OIDC_CLIENT_ID, PAGES):
        refuse(token(aud=aud), "InvalidAudienceError")
    refuse(token(iss="https://evil.example"), "InvalidIssuerError")
    refuse(token(exp=1_700_000_000), "ExpiredSignatureError")
    refuse(token(FOREIGN), "InvalidSignatureError")
    refuse(token(sub="s-2"), "has not logged in to the web app")
    refuse("a.b.c", "DecodeError")
    get_user_model().objects.update(is_active=False)
    refuse(token(), "has not logged in to the web app")


def test_what_anybody_can_sign_with_is_no_key(ida: Any) -> None:
    claims = jwt.decode(token(), options={"verify_signature": False})
    header = {"kid": "first"}
    for forged in (
        jwt.encode(claims, "a" * 64, algorithm="HS256", headers=header),
        jwt.encode(claims, "", algorithm="none", headers=header),
    ):
        refuse(forged, "InvalidAlgorithmError")


def test_new_keys_of_the_issuer_are_asked_for_and_not_for_each_token(
    ida: Any, network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock: Callable[[], float] = time.monotonic
    admit(token())
    network.kid = "second"
    for _ in range(3):
        refuse(token(kid="second"), "unknown key")
    assert network.asked == 1
    monkeypatch.setattr("accounts.openid.issuer.monotonic", lambda: clock() + 60)
    assert admit(token(kid="second")).user_id == ida.pk
    assert network.asked == 2


def test_while_somebody_asks_the_issuer_others_hold_no_place_for_long(
    ida: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("accounts.openid.issuer.WAIT_S", 0.01)
    with find_issuer()._fetch_lock, pytest.raises(IssuerUnavailable, match="not responded yet"):
        admit(token())
    assert admit(token()).user_id == ida.pk


def test_while_the_issuer_is_away_agents_with_keys_go_on(ida: Any, network: Network) -> None:
    network.is_away = True
    with pytest.raises(IssuerUnavailable):
        admit(token())
    assert call(Authorization=f"Bearer {token()}").status_code == 503
    refuse("pkb_0", "key is unknown")
