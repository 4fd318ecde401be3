"""A server on 127.0.0.1 with the part of the Hugging Face hub's protocol that fetches a model."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@contextmanager
def hub_of(folder: Path, *, repository: str, revision: str) -> Iterator[tuple[str, list[str]]]:
    """Serve a folder as a revision of a repository; yield the address and the files asked for."""
    asked: list[str] = []
    files = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }

    class Hub(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            path = urlsplit(self.path).path
            resolved = [f"/{repository}/resolve/{each}/" for each in (revision, COMMIT)]
            if path == f"/api/models/{repository}/revision/{revision}":
                siblings = [{"rfilename": name} for name in files]
                self.send(json.dumps({"id": repository, "sha": COMMIT, "siblings": siblings}))
            elif path.startswith(f"/api/models/{repository}/tree/"):
                entries = [
                    {"type": "file", "path": name, "size": len(content), "oid": _etag(content)}
                    for name, content in files.items()
                ]
                self.send(json.dumps(entries))
            elif name := next(
                (path[len(each) :] for each in resolved if path.startswith(each)), ""
            ):
                if self.command == "GET":
                    asked.append(name)
                self.send(files[name])
            else:
                self.send_error(404)

        def send(self, content: str | bytes) -> None:
            raw = content.encode() if isinstance(content, str) else content
            self.send_response(200)
            self.send_header("Content-Length", str(len(raw)))
            self.send_header("ETag", f'"{_etag(raw)}"')
            self.send_header("X-Repo-Commit", COMMIT)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(raw)

        def log_message(self, format: str, *args: object) -> None:
            """Stay silent."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Hub) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join()


def _etag(content: bytes) -> str:
    return sha256(content).hexdigest()[:40]
