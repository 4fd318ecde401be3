"""The shipped nginx and Caddy files: streams come piece by piece, large and slow bodies whole."""

import re
import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

import httpx2
import pytest

from pkb.env import Env
from tests.support.certificates import write_certificate
from tests.support.ports import free_port
from tests.support.waiting import wait_until

DEPLOY = Path(__file__).parents[2] / "deploy"
NGINX = (DEPLOY / "nginx" / "pkb.conf").read_text()
CADDY = (DEPLOY / "caddy" / "Caddyfile").read_text()
UPLOAD_BYTES = 20 * 2**20
PATIENCE_S = 30


class Upstream(BaseHTTPRequestHandler):
    """Stands for pkb: tells what it was sent; streams a second event once the first was read."""

    protocol_version = "HTTP/1.1"
    is_read = Event()
    asked: list[str] = []

    def do_GET(self) -> None:
        self._answer("text/event-stream", ("Transfer-Encoding", "chunked"))
        self.wfile.write(b"9\r\ndata: 1\n\n\r\n")
        told = b"yes" if self.is_read.wait(PATIENCE_S) else b"no "
        self.wfile.write(b"b\r\ndata: " + told + b"\n\n\r\n0\r\n\r\n")

    def do_POST(self) -> None:
        self.asked.append(self.path)
        length = len(self.rfile.read(int(self.headers["Content-Length"])))
        names = ("X-Forwarded-For", "X-Forwarded-Proto", "X-Real-IP", "Forwarded")
        told = f"{length} {[self.headers.get(name, '') for name in names]}".encode()
        self._answer("text/plain", ("Content-Length", str(len(told))))
        self.wfile.write(told)

    def _answer(self, kind: str, length: tuple[str, str]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header(*length)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def replaced(text: str, **here: str) -> str:
    for shipped, wanted in here.items():
        assert shipped in text
        text = text.replace(shipped, wanted)
    return text


def nginx_command(folder: Path, upstream: int, port: int) -> list[str]:
    """Write the site with the ports and folders of a test, and around it what Debian has."""
    named = {
        "listen 443": f"listen 127.0.0.1:{port}",
        "listen 80;": f"listen 127.0.0.1:{free_port()};",
        "127.0.0.1:8000": f"127.0.0.1:{upstream}",
        "/etc/ssl/pkb/fullchain.pem": f"{folder}/certificate.pem",
        "/etc/ssl/pkb/privkey.pem": f"{folder}/certificate.pem",
        "/var/log/nginx/": f"{folder}/",
        "kb.example.org": "localhost",
    }
    site = replaced(re.sub(r"(?m)^\s*listen \[::\].*\n", "", NGINX), **named)
    parts = ("client_body", "proxy", "fastcgi", "scgi", "uwsgi")
    kept = "".join(f"{part}_temp_path {folder}/{part};" for part in parts)
    around = f"user root; daemon off; pid {folder}/pid; error_log {folder}/errors; events {{}}"
    (folder / "nginx.conf").write_text(f"{around} http {{ {kept}\n{site} }}")
    return ["nginx", "-c", f"{folder}/nginx.conf"]


def caddy_command(folder: Path, upstream: int, port: int) -> list[str]:
    """Write the file with the ports of a test and a certificate that is there."""
    certificate = f"{folder}/certificate.pem"
    named = {
        "127.0.0.1:8000": f"127.0.0.1:{upstream}",
        "kb.example.org {": f"https://localhost:{port} {{\n\ttls {certificate} {certificate}",
        "{\n\tservers": "{\n\tadmin off\n\tauto_https disable_redirects\n\tservers",
    }
    (folder / "Caddyfile").write_text(replaced(CADDY, **named))
    return ["caddy", "run", "--adapter", "caddyfile", "--config", f"{folder}/Caddyfile"]


COMMANDS = {"nginx": nginx_command, "caddy": caddy_command}


@dataclass
class Proxy:
    name: str
    port: int
    certificate: Path

    @property
    def tls(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.certificate))

    def client(self) -> httpx2.Client:
        address = f"https://localhost:{self.port}"
        return httpx2.Client(base_url=address, verify=self.tls, timeout=PATIENCE_S)


@contextmanager
def running(name: str, folder: Path) -> Iterator[Proxy]:
    proxy = Proxy(name, free_port(), folder / "certificate.pem")
    write_certificate(proxy.certificate)
    with ThreadingHTTPServer(("127.0.0.1", 0), Upstream) as upstream:
        Thread(target=upstream.serve_forever, daemon=True).start()
        command = COMMANDS[name](folder, upstream.server_port, proxy.port)
        with (folder / "said").open("w") as said:
            process = subprocess.Popen(command, stdout=said, stderr=said)
        try:
            wait_until(lambda: listens(proxy.port) or process.poll() is not None)
            assert process.poll() is None, (folder / "said").read_text()
            yield proxy
        finally:
            process.terminate()
            process.wait(PATIENCE_S)
            upstream.shutdown()


def listens(port: int) -> bool:
    with socket.socket() as asking:
        return asking.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module", params=sorted(COMMANDS))
def proxy(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Proxy]:
    if shutil.which(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    with running(request.param, tmp_path_factory.mktemp(request.param)) as started:
        yield started


@pytest.mark.campaign
def test_a_stream_is_sent_on_as_it_comes(proxy: Proxy) -> None:
    Upstream.is_read.clear()
    with proxy.client() as client, client.stream("GET", "/chat/1") as reply:
        pieces = reply.iter_raw()
        assert next(pieces) == b"data: 1\n\n"
        Upstream.is_read.set()
        assert b"".join(pieces) == b"data: yes\n\n"


@pytest.mark.campaign
def test_an_upload_comes_whole_and_one_that_is_too_large_not_at_all(proxy: Proxy) -> None:
    with proxy.client() as client:
        sent = client.post("/ingest", content=b" " * UPLOAD_BYTES)
        assert sent.text.startswith(f"{UPLOAD_BYTES} ")
        # Caddy counts while it sends on: it ends with the upstream's word, or its own.
        refused = client.post("/ingest", content=b" " * (54 * 2**20))
    assert refused.status_code in ({413} if proxy.name == "nginx" else {413, 502})


@pytest.mark.campaign
def test_what_a_client_says_of_itself_is_not_sent_on(proxy: Proxy) -> None:
    said = {
        "X-Forwarded-For": "9.9.9.9",
        "X-Forwarded-Proto": "http",
        "X-Real-IP": "9.9.9.9",
        "Forwarded": "for=9.9.9.9",
    }
    with proxy.client() as client:
        assert client.post("/ask", content=b"1", headers=said).text == (
            "1 ['127.0.0.1', 'https', '', '']"
        )


@pytest.mark.campaign
def test_nginx_bothers_nobody_with_a_body_that_has_not_come(proxy: Proxy) -> None:
    if proxy.name != "nginx":
        pytest.skip("Caddy sends a body on as it comes: pkb's own bounds hold then")
    plain = socket.create_connection(("127.0.0.1", proxy.port))
    with proxy.tls.wrap_socket(plain, server_hostname="localhost") as slow:
        slow.sendall(b"POST /slow HTTP/1.1\r\nHost: localhost\r\nContent-Length: 8\r\n\r\nhalf")
        with proxy.client() as client:
            client.post("/quick", content=b"1")
        assert "/slow" not in Upstream.asked
        slow.sendall(b"rest")
        assert slow.recv(12) == b"HTTP/1.1 200"
    assert "/slow" in Upstream.asked


def test_the_proxies_let_the_largest_file_through() -> None:
    mib = 2**20
    largest = Env.model_fields["MAX_FILE_BYTES"].default
    bounds = [re.search(pattern, text) for pattern, text in (
        (r"client_max_body_size (\d+)m;", NGINX), (r"max_size (\d+)MiB", CADDY),
    )]  # fmt: skip
    assert [int(bound[1]) * mib for bound in bounds if bound] == [largest + mib] * 2


def test_a_silent_stream_outlives_the_patience_of_nginx() -> None:
    found = re.search(r"proxy_read_timeout (\d+)s;", NGINX)
    assert found is not None
    assert int(found[1]) > 2 * Env.model_fields["PKB_CHAT_HEARTBEAT_S"].default
