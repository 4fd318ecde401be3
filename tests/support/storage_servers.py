"""Servers of storage, in processes of their own: S3 (moto), WebDAV (wsgidav), SFTP (asyncssh).

Their packages are in ``.venv-clients``.
"""

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fsspec

from tests.support.ports import free_port
from tests.support.waiting import wait_until

USER = "ida"
SECRET = "harbour-lights"
SFTP_SERVER = Path(__file__).parent / "sftp_server.py"


@dataclass
class Server:
    """A running server, and a client that changes its files.

    Attributes:
        settings: Those of a source that mirrors its folder ``notes``.
        files: The client's file system.
        root: The folder's path there.
    """

    settings: dict[str, Any]
    files: Any = field(repr=False)
    root: str

    def put(self, **texts: str) -> None:
        for name, text in texts.items():
            self.files.pipe_file(f"{self.root}/{name}.md", text.encode())

    def remove(self, name: str) -> None:
        self.files.rm_file(f"{self.root}/{name}.md")


@contextmanager
def s3_server(programs: Path, _: Path) -> Iterator[Server]:
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    with _running(programs / "moto_server", "-H", "127.0.0.1", "-p", str(port)):
        options = {"endpoint_url": address, "key": USER}
        files = fsspec.filesystem("s3", secret=SECRET, use_listings_cache=False, **options)
        wait_until(_accepts(lambda: files.mkdir("papers")))
        settings = {"url": "s3://papers/notes", "options": options, "secret_option": "secret"}
        yield Server(settings, files, "papers/notes")


@contextmanager
def webdav_server(programs: Path, folder: Path) -> Iterator[Server]:
    port = free_port()
    config = {
        "provider_mapping": {"/": str(folder)},
        "simple_dc": {"user_mapping": {"*": {USER: {"password": SECRET}}}},
    }
    (folder.parent / "wsgidav.json").write_text(json.dumps(config))
    at = ["--host", "127.0.0.1", "--port", str(port), "--config", f"{folder.parent}/wsgidav.json"]
    with _running(programs / "wsgidav", *at):
        address = f"http://127.0.0.1:{port}"
        files = fsspec.filesystem("webdav", base_url=address, auth=(USER, SECRET))
        wait_until(_accepts(lambda: files.mkdir("notes")))
        options = {"base_url": address, "username": USER}
        settings = {"url": "webdav://notes", "options": options, "secret_option": "auth"}
        with closing(files.client.http):
            yield Server(settings, files, "notes")


@contextmanager
def sftp_server(programs: Path, folder: Path) -> Iterator[Server]:
    port = free_port()
    with _running(programs / "python", str(SFTP_SERVER), str(port), str(folder), USER, SECRET):
        to = {"host": "127.0.0.1", "port": port, "username": USER}
        wait_until(_accepts(lambda: fsspec.filesystem("sftp", password=SECRET, **to)))
        files = fsspec.filesystem("sftp", password=SECRET, **to)
        files.mkdir("/notes")
        settings = {"url": "sftp://127.0.0.1/notes", "options": {"port": port, "username": USER}}
        with files.client:
            yield Server(settings, files, "/notes")


@contextmanager
def _running(program: Path, *arguments: str) -> Iterator[None]:
    process = subprocess.Popen(
        [str(program), *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield
    finally:
        process.kill()
        process.wait()


def _accepts(call: Callable[[], object]) -> Callable[[], bool]:
    """Return a function that tells whether the server did it, or is not there yet."""

    def accepts() -> bool:
        try:
            call()
        except Exception:  # noqa: BLE001  (each driver raises its own)
            return False
        return True

    return accepts
