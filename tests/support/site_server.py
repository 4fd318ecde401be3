"""A site that tests serve and change, and that keeps what it was asked for."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from time import monotonic
from typing import Any

Handler = BaseHTTPRequestHandler


class Site(ThreadingHTTPServer):
    """Answers by ``pages``; keeps what it was asked for, and by which host and conditions."""

    daemon_threads = True

    def __init__(self) -> None:
        self.pages: dict[str, Callable[[Handler], None]] = {}
        self.asked: list[str] = []
        self.times: list[float] = []
        self.headers: list[Any] = []
        self.bodies: list[bytes] = []
        self.sent_bytes = 0
        site = self

        class Answering(Handler):
            def do_GET(self) -> None:  # noqa: N802
                site.asked.append(self.path)
                site.times.append(monotonic())
                site.headers.append(self.headers)
                site.pages.get(self.path, _not_found)(self)

            def do_POST(self) -> None:  # noqa: N802
                site.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
                self.do_GET()

            def log_message(self, *args: Any) -> None:
                return

        super().__init__(("127.0.0.1", 0), Answering)

    def handle_error(self, *args: Any) -> None:
        """A client that had enough is no failure."""

    @property
    def url(self) -> str:
        return f"http://localhost:{self.server_port}"

    def says(self, path: str, body: bytes, status: int = 200, **headers: str) -> None:
        def answer(handler: Handler) -> None:
            _send(handler, body, status, **headers)
            self.sent_bytes += len(body)

        self.pages[path] = answer

    def has(self, path: str, html: str) -> None:
        """Let a page be there that is sent only where it has changed."""
        etag = f'"{sha256(html.encode()).hexdigest()[:8]}"'

        def answer(handler: Handler) -> None:
            is_known = handler.headers["If-None-Match"] == etag
            body = b"" if is_known else html.encode()
            _send(handler, body, 304 if is_known else 200, Content_Type="text/html", ETag=etag)
            self.sent_bytes += len(body)

        self.pages[path] = answer

    def leads(self, path: str, to: str, status: int = 301) -> None:
        self.says(path, b"", status, Location=to)

    def forget(self) -> None:
        """Begin to keep anew what it is asked for."""
        self.sent_bytes = 0
        for kept in (self.asked, self.times, self.headers, self.bodies):
            kept.clear()


def page(title: str, text: str, *links: str, head: str = "") -> str:
    """A page with a text and a menu."""
    menu = " ".join(f'<a href="{link}">{link}</a>' for link in links)
    return (
        f"<html><head><title>{title}</title>{head}</head><body><nav>{menu}</nav>"
        f"<main><h1>{title}</h1><p>{text}</p></main></body></html>"
    )


def _send(handler: Handler, body: bytes, status: int, **headers: str) -> None:
    handler.send_response(status)
    for name, value in {"Content_Length": str(len(body)), **headers}.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(body)


def _not_found(handler: Handler) -> None:
    _send(handler, b"", 404)


@contextmanager
def serving() -> Iterator[Site]:
    with Site() as site:
        Thread(target=site.serve_forever, args=[0.01], daemon=True).start()
        yield site
        site.shutdown()
