"""When a login is asked for, and what is not let in without one."""

from typing import Any

import pytest

from accounts.client_ip import _warn_about_proxy, is_within, read_headers, resolve_client_ip
from corpus.endpoints import Cost
from pkb.http.admission import check_headers
from pkb.http.endpoint_lookup import find_endpoint
from pkb.http.exposure import Exposure, is_local_request
from pkb.http.rejections import RequestRejected

OWN = Exposure(bind="127.0.0.1", hosts=["localhost", "[::1]"], public_url="", is_behind_tls=False)
OUTSIDE = [
    {"bind": "0.0.0.0"},  # noqa: S104
    {"bind": "::"},
    {"bind": "kb.example.org"},
    {"hosts": ["localhost", "kb.example.org"]},
    {"hosts": ["*"]},
    {"hosts": [".example.org"]},
    {"public_url": "https://kb.example.org"},
    {"public_url": "kb.example.org"},
    {"is_behind_tls": True},
    {"issuer": "http://localhost:8080"},
]
INSIDE = [
    {},
    {"bind": "127.9.9.9"},
    {"bind": "localhost"},
    {"bind": "[::1]"},
    {"hosts": ["kb.localhost", ".kb.localhost"]},
    {"public_url": "http://localhost:8000"},
]


def exposed(changed: dict[str, Any]) -> Exposure:
    return Exposure(**{**{name: getattr(OWN, name) for name in OWN.__slots__}, **changed})


@pytest.mark.parametrize("changed", INSIDE)
def test_for_this_machine_alone_no_login_is_asked_for(changed: dict[str, Any]) -> None:
    assert exposed(changed).reasons() == []
    assert [exposed(changed).requires_login(mode) for mode in ("auto", "required", "off")] == [
        False,
        True,
        False,
    ]


@pytest.mark.parametrize("changed", OUTSIDE)
def test_for_others_a_login_is_required(changed: dict[str, Any]) -> None:
    assert len(exposed(changed).reasons()) == 1
    assert exposed(changed).requires_login("auto")


def request(method: str = "GET", path: str = "/documents", **headers: str) -> dict[str, Any]:
    sent = [(n.replace("_", "-").encode(), v.encode()) for n, v in headers.items()]
    return {"type": "http", "method": method, "path": path, "headers": sent}


@pytest.mark.parametrize("header", ["x_forwarded_for", "forwarded", "x_real_ip", "via"])
@pytest.mark.parametrize("path", ["/documents", "/health", "/mcp", "/ui/ask", "/static/a.css"])
def test_without_a_login_nothing_that_a_proxy_forwards_comes_in(
    settings: Any, header: str, path: str
) -> None:
    with pytest.raises(RequestRejected) as refused:
        check_headers(request(path=path, **{header: "192.0.2.7"}))
    assert refused.value.status == 403
    assert "PKB_AUTH=required" in refused.value.detail
    settings.PKB_AUTH_REQUIRED = True
    check_headers(request(path=path, **{header: "192.0.2.7"}))


def test_a_strangers_body_is_not_read(settings: Any) -> None:
    check_headers(request("POST", "/ingest"))
    settings.PKB_AUTH_REQUIRED = True
    with pytest.raises(RequestRejected) as refused:
        check_headers(request("POST", "/ingest"))
    assert refused.value.status == 401
    for known in ("authorization", "x_api_key", "cookie"):
        check_headers(request("POST", "/ingest", **{known: "anything"}))
    check_headers(request("POST", "/ui/login"))
    check_headers(request("OPTIONS", "/ingest"))


@pytest.mark.parametrize(
    ("proxies", "forwarded_for", "expected"),
    [
        (0, "192.0.2.7", "10.0.0.1"),
        (1, "192.0.2.7", "192.0.2.7"),
        (1, "6.6.6.6, 192.0.2.7", "192.0.2.7"),
        (2, "6.6.6.6, 192.0.2.7, 10.0.0.2", "192.0.2.7"),
        (2, "192.0.2.7", "10.0.0.1"),
        (1, "", "10.0.0.1"),
    ],
)
def test_what_anybody_could_have_written_tells_no_address(
    settings: Any, proxies: int, forwarded_for: str, expected: str
) -> None:
    settings.PKB_TRUSTED_PROXIES = proxies
    assert resolve_client_ip("10.0.0.1", forwarded_for) == expected


def test_an_unnamed_proxy_is_warned_of_once(
    settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    _warn_about_proxy.cache_clear()
    settings.PKB_TRUSTED_PROXIES = 0
    resolve_client_ip("10.0.0.1", "")
    assert not caplog.records
    for _ in range(2):
        resolve_client_ip("10.0.0.1", "192.0.2.7")
    (record,) = caplog.records
    assert "x_forwarded_for_ignored" in str(record.msg)
    settings.PKB_TRUSTED_PROXIES = 1
    _warn_about_proxy.cache_clear()
    resolve_client_ip("10.0.0.1", "192.0.2.7")
    assert len(caplog.records) == 1


def test_headers_of_one_name_are_one() -> None:
    sent = [(b"x-forwarded-for", b"6.6.6.6"), (b"host", b"a"), (b"x-forwarded-for", b"192.0.2.7")]
    assert read_headers(sent) == {"x-forwarded-for": "6.6.6.6,192.0.2.7", "host": "a"}


def test_an_address_is_within_a_network() -> None:
    assert is_within("192.0.2.7", ["198.51.100.0/24", "192.0.2.0/24"])
    assert not is_within("192.0.3.7", ["192.0.2.0/24"])
    assert is_within("2001:db8::1", ["2001:db8::/32"])
    assert not is_within("unknown", ["0.0.0.0/0"])


def test_what_a_proxy_of_this_machine_sends_did_not_begin_here() -> None:
    assert is_local_request("127.0.0.1", names={"host"})
    assert not is_local_request("127.0.0.1", names={"host", "x-forwarded-for"})
    assert not is_local_request("192.0.2.7", names={"host"})


@pytest.mark.parametrize("path", ["/ui/login", "/ui/setup"])
def test_a_login_costs_a_turn_of_its_own_and_its_page_does_not(path: str) -> None:
    assert find_endpoint("POST", path).cost == Cost.LOGIN
    assert find_endpoint("GET", path).cost == Cost.LIGHT
