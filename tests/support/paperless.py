"""A paperless-ngx for tests: its REST API as its documentation describes it, over real HTTP."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

TOKEN = "f00d1c0ffee"
_TABLES = ("documents", "tags", "correspondents", "document_types")
_DOWNLOAD = re.compile(r"/api/documents/(\d+)/download/")
_DETAIL = re.compile(r"/api/documents/(\d+)/")


@dataclass
class Paperless:
    """What it holds, and what was asked of it.

    Attributes:
        broken: Paths that are answered with a status instead, ``slow`` or ``cut``.
        page_size: It gives no longer pages, whatever is asked for.
    """

    documents: dict[int, dict[str, Any]] = field(default_factory=dict)
    files: dict[int, bytes] = field(default_factory=dict)
    tags: dict[int, str] = field(default_factory=lambda: {1: "Coast", 2: "To do"})
    correspondents: dict[int, str] = field(default_factory=lambda: {7: "Harbour Office"})
    document_types: dict[int, str] = field(default_factory=lambda: {4: "Invoice"})
    broken: dict[str, int | str] = field(default_factory=dict)
    page_size: int = 2
    asked: list[str] = field(default_factory=list)
    tokens: set[str] = field(default_factory=set)
    url: str = ""
    ended: Event = field(default_factory=Event)

    def put(self, number: int, text: str, **stated: Any) -> None:
        """Add a document, or change one."""
        before = self.documents.get(number, {})
        record = {
            "id": number, "correspondent": 7, "document_type": 4, "storage_path": None,
            "title": f"Letter {number}", "content": text, "tags": [1], "created": "2026-11-02",
            "created_date": "2026-11-02", "modified": "2026-11-03T10:00:00.123456+01:00",
            "added": "2026-11-02T09:12:33.482711+01:00", "deleted_at": None,
            "archive_serial_number": None, "original_file_name": f"scan_{number:04}.txt",
            "archived_file_name": None, "owner": 3, "user_can_change": True,
            "is_shared_by_requester": False, "notes": [], "custom_fields": [], "page_count": 1,
            "mime_type": "text/plain",
        }  # fmt: skip
        self.documents[number] = {**record, **before, "content": text, **stated}
        self.files[number] = text.encode()

    def asked_for(self, pattern: str) -> list[str]:
        return [path for path in self.asked if re.search(pattern, path)]

    def answer(self, path: str, query: dict[str, str]) -> tuple[int, bytes]:
        if download := _DOWNLOAD.fullmatch(path):
            number = int(download[1])
            return (200, self.files[number]) if number in self.files else (404, b"{}")
        if detail := _DETAIL.fullmatch(path):
            found = self.documents.get(int(detail[1]))
            return (200, json.dumps(found).encode()) if found else (404, b"{}")
        table = path.removeprefix("/api/").rstrip("/")
        if table not in _TABLES:
            return 404, b"{}"
        return self._page(table, query)

    def _page(self, table: str, query: dict[str, str]) -> tuple[int, bytes]:
        rows = [self.documents[key] for key in sorted(self.documents)]
        if table != "documents":
            named = getattr(self, table)
            rows = [{"id": key, "slug": named[key].lower(), "name": named[key]} for key in named]
        page, size = int(query.get("page", 1)), min(int(query["page_size"]), self.page_size)
        if page > 1 and (page - 1) * size >= len(rows):
            return 404, b'{"detail":"Invalid page."}'
        wanted = query.get("fields", "").split(",")
        shown = rows[(page - 1) * size : page * size]
        if wanted != [""]:
            shown = [{name: row[name] for name in wanted} for row in shown]
        # Behind a proxy it tells a name that only it knows.
        following = f"http://paperless-web-1:8000/api/{table}/?page={page + 1}"
        body = {
            "count": len(rows),
            "next": following if page * size < len(rows) else None,
            "previous": None,
            "all": [row["id"] for row in rows],
            "results": shown,
        }
        return 200, json.dumps(body).encode()


class _Handler(BaseHTTPRequestHandler):
    server: "_Server"

    def do_GET(self) -> None:
        paperless, parts = self.server.paperless, urlsplit(self.path)
        paperless.asked.append(self.path)
        token = self.headers.get("Authorization", "")
        paperless.tokens.add(token)
        status, body = paperless.answer(
            parts.path, {name: each[0] for name, each in parse_qs(parts.query).items()}
        )
        failure = next((v for k, v in paperless.broken.items() if k in parts.path), None)
        if token != f"Token {TOKEN}":
            status, body = 401, b'{"detail":"Invalid token."}'
        elif isinstance(failure, int):
            status, body = failure, b'{"detail":"Token ' + TOKEN.encode() + b'"}'
        self.send_response(status)
        if status in {301, 302}:
            self.send_header("Location", f"{paperless.url}/api/tags/")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body) + (failure == "cut")))
        self.end_headers()
        if failure == "slow":
            paperless.ended.wait(30)
        self.wfile.write(body)
        self.close_connection = failure == "cut"

    def log_message(self, *args: Any) -> None:
        return


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    paperless: Paperless

    def handle_error(self, *args: Any) -> None:
        """A client that had enough is no failure."""


@contextmanager
def serve_paperless() -> Iterator[Paperless]:
    """Serve one on a port of its own, until the block ends."""
    with _Server(("127.0.0.1", 0), _Handler) as server:
        server.paperless = Paperless(url=f"http://127.0.0.1:{server.server_port}")
        Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
        try:
            yield server.paperless
        finally:
            server.paperless.ended.set()
            server.shutdown()
