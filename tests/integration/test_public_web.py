"""Addresses are fetched where that is allowed, from nowhere but public hosts, within bounds."""

import gzip
import ipaddress
import socket
import ssl
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from time import sleep
from typing import Any

import pytest
from django.core.management import call_command

from corpus import public_web
from corpus.errors import FetchingOff, NotFetched, Redirected, TooLarge
from corpus.ingestion import web_addresses
from corpus.invariants import find_violations
from corpus.models import Document
from corpus.public_web import MAX_REDIRECTS, fetch, is_public_ip, post
from tests.support.client import Api
from tests.support.documents import LIGHTHOUSE
from tests.support.ports import was_asked
from tests.support.site_server import Handler, Site, serving

MAX_BYTES = 10_000
PAGE = (
    f"<html><head><title>Coast</title></head><body><h1>Bavoke</h1><p>{LIGHTHOUSE}</p></body></html>"
)


@pytest.fixture
def site(settings: Any) -> Iterator[Site]:
    settings.PKB_FETCH, settings.PKB_FETCH_HOSTS = "http", {"localhost"}
    with serving() as site:
        yield site


# What may be reached


NOT_PUBLIC = (
    "0.0.0.0 10.0.0.1 100.64.0.1 127.0.0.1 169.254.169.254 172.16.0.1 192.0.0.8 192.88.99.1 "
    "192.168.1.1 198.18.0.1 203.0.113.1 224.0.0.1 240.0.0.1 255.255.255.255 :: ::1 ::127.0.0.1 "
    "::ffff:127.0.0.1 ::ffff:10.0.0.1 64:ff9b::7f00:1 64:ff9b:1::1 100::1 2001::1 2001:db8::1 "
    "2002:7f00:1:: 3fff::1 fc00::1 fd12::1 fe80::1 fec0::1 ff02::1"
).split()


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_addresses_that_are_not_public_are_known(address: str) -> None:
    assert not is_public_ip(ipaddress.ip_address(address))


@pytest.mark.parametrize("by_name", [False, True], ids=["written", "resolved"])
@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_no_webhook_is_sent_to_what_is_not_public(
    settings: Any, monkeypatch: pytest.MonkeyPatch, address: str, by_name: bool
) -> None:
    settings.PKB_FETCH, settings.PKB_WEBHOOK_HOSTS = "http", {"n8n.example"}
    settings.PKB_FETCH_HOSTS = {"coast.example", address}
    connected: list[Any] = []
    monkeypatch.setattr(socket, "create_connection", lambda *args, **_: connected.append(args))
    if by_name:
        found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 80))]
        monkeypatch.setattr(public_web, "getaddrinfo", lambda *args, **options: found)
    host = f"[{address}]" if ":" in address else address
    with pytest.raises(NotFetched, match="no public IP address"):
        send_webhook(f"http://{'coast.example' if by_name else host}/")
    assert connected == []


def send_webhook(url: str) -> int:
    return post(url, b"{}", headers={"webhook-id": "1"}, total_s=5)


def test_a_webhook_reaches_hosts_that_the_settings_name(site: Site, settings: Any) -> None:
    settings.PKB_FETCH, settings.PKB_FETCH_HOSTS = "off", set()
    with pytest.raises(FetchingOff):
        send_webhook(site.url)
    settings.PKB_WEBHOOK_HOSTS = {"localhost"}
    site.says("/", b"", 202)
    assert send_webhook(site.url) == 202
    assert (site.asked, site.bodies) == (["/"], [b"{}"])
    assert site.headers[0]["webhook-id"] == "1"


@pytest.mark.parametrize("to", ["http://127.0.0.1:{port}/", "http://localhost:{port}/"])
def test_a_webhook_follows_no_redirect(
    site: Site, settings: Any, listener: socket.socket, to: str
) -> None:
    settings.PKB_WEBHOOK_HOSTS = {"localhost"}
    site.says("/", b"", 307, Location=to.format(port=listener.getsockname()[1]))
    assert send_webhook(site.url) == 307
    assert not was_asked(listener)


@pytest.mark.parametrize("address", ["8.8.8.8", "93.184.216.34", "2606:4700::1111"])
def test_public_addresses_are_known(address: str) -> None:
    assert is_public_ip(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "2130706433", "0x7f000001", "127.1", "0", "[::ffff:127.0.0.1]",
     "LOCALHOST", "127.0.0.1.", "[::1]"],
)  # fmt: skip
def test_no_connection_is_made_to_what_is_not_public(
    settings: Any, listener: socket.socket, host: str
) -> None:
    settings.PKB_FETCH = "http"
    url = f"http://{host}:{listener.getsockname()[1]}/"
    with pytest.raises(NotFetched, match=r"no public IP address|no address"):
        fetch(url, max_bytes=MAX_BYTES)
    with pytest.raises(NotFetched, match=r"no public IP address|no address"):
        send_webhook(url)
    assert not was_asked(listener)


@pytest.mark.parametrize(
    "url",
    ["http://localhost:{port}/", "ftp://localhost:{port}/", "file:///etc/passwd", "//localhost",
     "https://user:word@localhost:{port}/", "https://localhost:99999/", "https:///a", "https://[",
     "gopher://localhost:{port}/"],
)  # fmt: skip
def test_only_https_is_fetched_unless_the_settings_say_more(
    settings: Any, listener: socket.socket, url: str
) -> None:
    settings.PKB_FETCH, settings.PKB_FETCH_HOSTS = "https", {"localhost"}
    with pytest.raises(NotFetched):
        fetch(url.format(port=listener.getsockname()[1]), max_bytes=MAX_BYTES)
    assert not was_asked(listener)


@pytest.mark.parametrize(
    "to",
    ["http://127.0.0.1:{port}/", "http://[::ffff:7f00:1]:{port}/", "file:///etc/passwd",
     "//127.1:{port}/x", "http://["],
)  # fmt: skip
def test_a_redirect_leads_to_nothing_that_is_refused(
    site: Site, listener: socket.socket, to: str
) -> None:
    to = to.format(port=listener.getsockname()[1])
    site.says("/", b"", 302, Location=to)
    with pytest.raises(NotFetched):
        fetch(site.url, max_bytes=MAX_BYTES)
    assert not was_asked(listener)


def test_a_name_is_resolved_once_and_its_address_is_the_one_that_is_asked(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that says something else the second time changes nothing."""
    site.says("/", b"text", Content_Type="text/plain")
    answers = iter(["93.184.216.34", "127.0.0.1"])
    resolved: list[str] = []
    connected: list[str] = []
    connect = socket.create_connection

    def resolve(host: str, port: int, **options: Any) -> Any:
        resolved.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (next(answers), port))]

    def to_the_site(address: tuple[str, int], *args: Any, **options: Any) -> socket.socket:
        connected.append(address[0])
        return connect(("127.0.0.1", site.server_port), *args, **options)

    monkeypatch.setattr(public_web, "getaddrinfo", resolve)
    monkeypatch.setattr(socket, "create_connection", to_the_site)
    fetch("http://coast.example/", max_bytes=MAX_BYTES)
    assert (resolved, connected) == (["coast.example"], ["93.184.216.34"])
    assert site.headers[0]["Host"] == "coast.example"


def test_a_name_with_one_address_that_is_not_public_is_refused(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.PKB_FETCH = "https"
    found = [(socket.AF_INET, 1, 6, "", (each, 443)) for each in ("93.184.216.34", "10.0.0.1")]
    monkeypatch.setattr(public_web, "getaddrinfo", lambda *args, **options: found)
    monkeypatch.setattr(socket, "create_connection", None)
    with pytest.raises(NotFetched, match="no public IP address"):
        fetch("https://coast.example/", max_bytes=MAX_BYTES)


def test_nothing_is_fetched_unless_the_settings_say_so(site: Site, settings: Any) -> None:
    settings.PKB_FETCH = "off"
    with pytest.raises(FetchingOff):
        fetch(site.url, max_bytes=MAX_BYTES)
    assert site.asked == []


# What comes


def test_redirects_are_followed_and_the_end_is_told(site: Site) -> None:
    site.says("/a", b"", 301, Location="/b%20c?d=1#e")
    site.says("/b%20c?d=1", b"text", Content_Type="text/plain", ETag='"1"')
    found = fetch(f"{site.url}/a", max_bytes=MAX_BYTES)
    assert found is not None
    assert (found.url, found.content, found.etag) == (f"{site.url}/b%20c?d=1", b"text", '"1"')


def test_redirects_without_end_are_given_up(site: Site) -> None:
    site.says("/", b"", 307, Location="/")
    with pytest.raises(NotFetched, match="redirects more than"):
        fetch(site.url, max_bytes=MAX_BYTES)
    assert len(site.asked) == MAX_REDIRECTS + 1


def test_a_redirect_that_is_not_to_be_followed_is_told(site: Site) -> None:
    site.says("/a", b"", 308, Location="b")
    with pytest.raises(Redirected) as told:
        fetch(f"{site.url}/a", max_bytes=MAX_BYTES, max_redirects=0)
    assert (told.value.target, told.value.answered) == (f"{site.url}/b", 308)
    assert site.asked == ["/a"]


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "compressed"])
def test_what_is_too_large_is_not_kept(site: Site, packed: bool) -> None:
    body = gzip.compress(b"a" * 2_000_000) if packed else b"a" * (MAX_BYTES + 1)
    site.says("/", body, Content_Encoding="gzip" if packed else "identity")
    with pytest.raises(TooLarge):
        fetch(site.url, max_bytes=MAX_BYTES)
    site.says("/", gzip.compress(b"small"), Content_Encoding="gzip")
    assert fetch(site.url, max_bytes=MAX_BYTES).content == b"small"  # type: ignore[union-attr]


@pytest.mark.parametrize("part", ["headers", "body"])
def test_a_server_that_sends_a_byte_now_and_then_is_left(
    site: Site, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    monkeypatch.setattr(public_web, "TOTAL_S", 0.3)

    def drip(handler: Handler) -> None:
        start = b"HTTP/1.1 200 OK\r\nX: " if part == "headers" else b"HTTP/1.1 200 OK\r\n\r\n"
        handler.wfile.write(start)
        for _ in range(100):
            sleep(0.05)
            handler.wfile.write(b"a")

    site.pages["/"] = drip
    with pytest.raises(NotFetched, match="ReadTimeout"):
        fetch(site.url, max_bytes=MAX_BYTES)


@pytest.mark.parametrize(
    ("status", "headers"),
    [(404, {}), (500, {}), (304, {}), (200, {"Content_Encoding": "br"}),
     (200, {"Content_Encoding": "gzip"})],
)  # fmt: skip
def test_what_cannot_be_had_is_told(site: Site, status: int, headers: dict[str, str]) -> None:
    site.says("/", b"" if status == 304 else b"text", status, **headers)
    with pytest.raises(NotFetched):
        fetch(site.url, max_bytes=MAX_BYTES)


def test_what_came_compressed_and_breaks_off_is_not_taken_for_the_whole(site: Site) -> None:
    site.says("/", gzip.compress(b"All of it is here. " * 99)[:-12], Content_Encoding="gzip")
    with pytest.raises(NotFetched, match="damaged"):
        fetch(site.url, max_bytes=MAX_BYTES)


def test_a_server_that_is_not_there_is_told(site: Site, listener: socket.socket) -> None:
    port = listener.getsockname()[1]
    listener.close()
    with pytest.raises(NotFetched, match="cannot be reached"):
        fetch(f"http://localhost:{port}/", max_bytes=MAX_BYTES)


def test_a_certificate_must_be_trusted_and_of_the_name(
    site: Site, certificate: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.PKB_FETCH_HOSTS = {"localhost", "127.0.0.1"}
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    site.socket = context.wrap_socket(site.socket, server_side=True)
    site.says("/", b"text", Content_Type="text/plain")
    url = site.url.replace("http:", "https:")
    with pytest.raises(NotFetched, match="cannot be reached"):
        fetch(url, max_bytes=MAX_BYTES)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert fetch(url, max_bytes=MAX_BYTES) is not None
    with pytest.raises(NotFetched, match="cannot be reached"):
        fetch(url.replace("localhost", "127.0.0.1"), max_bytes=MAX_BYTES)


# What becomes of it

stored = pytest.mark.django_db


@pytest.fixture
def send(api: Api, cheap_model: None) -> Callable[[str], Any]:
    return lambda url: api.post("/ingest", {"url": url, "tags": ["web"]})


@stored
def test_a_page_is_taken_in_with_its_main_content(site: Site, send: Callable[[str], Any]) -> None:
    site.says("/bavoke.php", PAGE.encode(), Content_Type="text/html; charset=utf-8", ETag='"1"')
    reply = send(f"{site.url}/bavoke.php#top")
    assert reply.status_code == 201, reply.content
    document = Document.objects.get()
    assert document.source_uri == f"{site.url}/bavoke.php"
    assert (document.title, document.media_type) == ("Coast", "text/html")
    assert "Orsolya Quill" in document.content.text
    assert [tag.name for tag in document.tags.all()] == ["web"]
    assert list(find_violations()) == []


@stored
def test_a_second_time_costs_what_has_changed(site: Site, send: Callable[[str], Any]) -> None:
    def answer(handler: Handler) -> None:
        unchanged = handler.headers["If-None-Match"] == '"1"'
        handler.send_response(304 if unchanged else 200)
        handler.send_header("ETag", '"1"')
        handler.end_headers()
        if not unchanged:
            handler.wfile.write(LIGHTHOUSE.encode())

    site.pages["/a.txt"] = answer
    first = send(f"{site.url}/a.txt")
    again = send(f"{site.url}/a.txt")
    assert (first.status_code, again.status_code) == (201, 409)
    assert again.json()["document_id"] == first.json()["document_id"]
    # What somebody says of it is not believed, and breaks nothing.
    Document.objects.update(metadata={"fetched": "never"})
    # Another server says nothing of changes: the bytes do.
    site.says("/a.txt", LIGHTHOUSE.encode())
    assert send(f"{site.url}/a.txt").status_code == 409
    site.says("/a.txt", LIGHTHOUSE.replace("1874", "1875").encode())
    changed = send(f"{site.url}/a.txt")
    assert (changed.status_code, changed.json()["document_id"]) == (
        200,
        first.json()["document_id"],
    )
    assert "1875" in Document.objects.get().content.text


@stored
def test_the_door_says_why_nothing_came(
    site: Site, send: Callable[[str], Any], settings: Any
) -> None:
    site.says("/gone", b"", 404)
    reply = send(f"{site.url}/gone")
    assert (reply.status_code, reply.json()["error"]) == (422, "not_fetched")
    settings.PKB_FETCH = "off"
    reply = send(f"{site.url}/gone")
    assert (reply.status_code, reply.json()["error"]) == (403, "fetching_off")
    assert Document.objects.count() == 0


@stored
def test_the_door_waits_for_an_address_as_long_as_it_says(
    site: Site, send: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web_addresses, "FETCH_TIMEOUT_S", 0.2)
    site.pages["/slow"] = lambda handler: sleep(1)
    reply = send(f"{site.url}/slow")
    assert (reply.status_code, "ReadTimeout" in reply.json()["detail"]) == (422, True)


@stored
@pytest.mark.usefixtures("cheap_model")
def test_the_command_takes_addresses(site: Site) -> None:
    site.says("/a.md", f"# Bavoke\n\n{LIGHTHOUSE}".encode(), Content_Type="text/plain")
    for outcome in ("1 added", "1 unchanged"):
        out = StringIO()
        call_command("ingest", f"{site.url}/a.md", stdout=out)
        assert outcome in out.getvalue()
    assert Document.objects.get().media_type == "text/markdown"
