"""A process on 127.0.0.1 that speaks the protocols of docling-serve and Tika, as they check it.

What it does is told by the first line of the file that it converts: ``status 503``, ``sleep 5``,
``bytes 100000``, ``raw ...`` or the pages of a text, with form feeds between them.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes
from email.policy import HTTP
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

KEY = "a-key-that-must-not-be-seen"


class Converter(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        kind = self.headers["Content-Type"]
        form = message_from_bytes(f"Content-Type: {kind}\r\n\r\n".encode() + body, policy=HTTP)
        parts = {
            part.get_param("name", header="content-disposition"): part for part in form.iter_parts()
        }
        values: dict[Any, Any] = {n: part.get_payload(decode=True) for n, part in parts.items()}
        if self.path != "/v1/convert/file" or self.headers["X-Api-Key"] not in {None, KEY}:
            self.send(401 if self.path.startswith("/v1") else 404, b"")
        elif "files" not in values or values.get("to_formats") != b"md":
            self.send(422, b'{"detail": "Field required"}')
        else:
            mark = values["md_page_break_placeholder"].decode()
            self.answer(
                values["files"].decode(),
                lambda pages: self.docling(pages, mark, parts["files"].get_filename()),
            )

    def docling(self, pages: list[str], mark: str, name: str | None) -> bytes:
        text = f"\n\n{mark}\n\n".join(
            page.replace("_", r"\_").replace("&", "&amp;") for page in pages
        )
        status = "failure" if text == "broken" else "success"
        document = {"filename": name, "md_content": text}
        return json.dumps({"document": document, "status": status, "errors": []}).encode()

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if self.path != "/tika" or self.headers["Accept"] != "text/html":
            self.send(404 if self.path != "/tika" else 406, b"")
            return
        name = unquote(self.headers["Content-Disposition"].rpartition("''")[2])
        self.answer(body, lambda pages: self.tika(pages, name))

    def tika(self, pages: list[str], name: str) -> bytes:
        head = f'<html xmlns="http://www.w3.org/1999/xhtml"><head><title>Of {name}</title></head>'
        divs = (f'<div class="page"><p>{escape(page)}</p></div>' for page in pages)
        return f"{head}<body>{''.join(divs)}</body></html>".encode()

    def answer(self, content: str, convert) -> None:  # type: ignore[no-untyped-def]
        order, _, value = content.partition(" ")
        if order == "status":
            self.send(int(value), b"no")
        elif order == "bytes":
            self.send(200, b" " * int(value))
        elif order == "raw":
            self.send(200, value.encode())
        elif order == "sleep":
            time.sleep(float(value))
            self.send(200, convert(["late"]))
        elif order == "drip":
            self.send_response(200)
            self.end_headers()
            for _ in range(100):
                self.wfile.write(b" ")
                self.wfile.flush()
                time.sleep(0.1)
        else:
            self.send(200, convert(content.split("\f")))

    def send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if status // 100 == 3:
            self.send_header("Location", "/elsewhere")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Stay silent."""


@contextmanager
def converting() -> Iterator[str]:
    """Run a converter; yields its address."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.support.converter_server"], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.kill()


if __name__ == "__main__":
    with ThreadingHTTPServer(("127.0.0.1", 0), Converter) as server:
        print(server.server_port, flush=True)  # noqa: T201 - for who started it
        server.serve_forever()
