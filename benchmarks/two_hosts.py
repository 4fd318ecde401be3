"""Test a second host, as a network namespace that reaches only Postgres.

    PYTHONPATH=. .venv/bin/python benchmarks/two_hosts.py        # as root, on Linux; some minutes

The first host keeps the files. The second has a data folder of its own, a web process and a worker,
and one wire to the first. What was seen stands in docs/guides/hosts.md.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx

from pkb.postgres.server import EmbeddedPostgres

LIGHTHOUSE = (
    "The lighthouse at Bavoke was built in 1874 by the engineer Orsolya Quill. Its lamp burns"
    " rapeseed oil and is seen from nineteen nautical miles away."
)
QUESTION = "Who built the lighthouse at Bavoke?"
BAKERY = "The bakery opens at six, and sells what it has baked until nothing is left of it."
ROOT = Path(__file__).parents[1]
SPACE = "pkb-second"
FIRST, SECOND, WIDTH = "10.77.0.1", "10.77.0.2", 30
DATABASE_PORT = 5432
PORT = 8105
WITHIN_S = 300
# How long a job without a worker is watched.
LEFT_ALONE_S = 20
LIGHT = {"EMBEDDING_MODEL": "hashing-64", "RERANKER_MODEL": "none", "PKB_READER": "none"}
REACH = """
import socket, sys
for host, port in [("{0}", {1}), ("{0}", {2}), ("127.0.0.1", {2}), ("1.1.1.1", 443)]:
    try:
        socket.create_connection((host, port), 2).close()
        print("reaches", host, port)
    except OSError as exc:
        print("does not reach", host, port, "-", exc.strerror or exc)
"""
MAP = (
    "from corpus.jobs.kinds.map_job import start_map; from corpus.models import Collection;"
    "start_map(Collection.objects.get_named('default'))"
)


def main() -> None:
    with ExitStack() as undo:
        folder = Path(tempfile.mkdtemp(prefix="pkb-two-hosts-", dir="/tmp"))
        folder.chmod(0o755)
        undo.callback(shutil.rmtree, folder)
        undo.enter_context(second_host())
        undo.enter_context(database(folder / "postgres"))
        first, second = Host(folder / "first", ()), Host(folder / "second", IN_SECOND)
        first.manage("migrate", "--verbosity", "0")
        first.manage("createsuperuser", "--noinput", "--username", "ida", "--email", "")
        scopes = ("--scopes", "read,ingest,admin")
        key = first.manage("apikey", "create", "--user", "ida", "--name", "k", *scopes).strip()
        at_first = undo.enter_context(first.served("127.0.0.1", key))
        at_second = undo.enter_context(second.served(SECOND, key))
        print(second.run(sys.executable, "-c", REACH.format(FIRST, DATABASE_PORT, PORT)), end="")
        share_texts(at_first, at_second)
        with second.working():
            share_work(first, at_first, at_second)
        second.manage("verify")
        print("verify on both:", first.manage("verify").strip().splitlines()[-1])


def share_texts(first: httpx.Client, second: httpx.Client) -> None:
    sent = body(second.post("/ingest", json={"text": LIGHTHOUSE, "title": "Coast"}))
    told = body(first.get("/answer", params={"q": QUESTION}))
    print("sent to the second, answered by the first:", len(told["citations"]), "citations")
    first.delete(f"/documents/{sent['document_id']}")
    told = body(second.get("/answer", params={"q": QUESTION}))
    print("deleted by the first, answered by the second:", len(told["citations"]), "citations")


def share_work(host: "Host", first: httpx.Client, second: httpx.Client) -> None:
    kept = body(first.post("/ingest", files={"file": ("coast.txt", LIGHTHOUSE)}))["document_id"]
    sent = body(second.post("/ingest", files={"file": ("bread.txt", BAKERY)}))["document_id"]
    for name, key in (("first", kept), ("second", sent)):
        asked = f"/documents/{key}/original"
        codes = first.get(asked).status_code, second.get(asked).status_code
        print(f"a file sent to the {name}: its original is answered {codes} by first and second")
    refused = second.post("/ingest", json={"content_path": "inbox"})
    print("a folder, asked of the second:", refused.status_code, refused.json()["error"])
    host.manage("shell", "--no-imports", "-c", MAP)
    wait_until(lambda: state(first, "map") == "succeeded")
    print("a job that reads no file: done by the worker of the second")
    (host.inbox / "note.txt").write_text(LIGHTHOUSE.replace("Bavoke", "Orrin"))
    body(first.post("/ingest", json={"content_path": "inbox"}))
    time.sleep(LEFT_ALONE_S)
    print(f"a folder of the first, after {LEFT_ALONE_S} s of the second's worker:",
          state(first, "sync"))  # fmt: skip
    second.delete(f"/documents/{kept}")
    print("deleted by the second, its file at the first:", host.count_files())
    with host.working():
        wait_until(lambda: state(first, "sync") == "succeeded" and host.count_files() == 0)
    print("after a worker of the first:", state(first, "sync"), "and", host.count_files(), "files")


def body(reply: httpx.Response) -> dict[str, Any]:
    if reply.is_error:
        raise SystemExit(f"{reply.url}: {reply.text}")
    return dict(reply.json())


def state(client: httpx.Client, kind: str) -> str:
    return str(client.get("/jobs", params={"kind": kind}).json()["results"][0]["status"])


class Host:
    """Processes with their own data folder.

    Args:
        inside: Prefix of commands that run there.
    """

    def __init__(self, data: Path, inside: tuple[str, ...]) -> None:
        self.data, self.inside = data, inside
        self.inbox = data / "inbox"
        self.inbox.mkdir(parents=True)
        self.env = {
            **os.environ,
            **LIGHT,
            "DATABASE_URL": f"postgresql://pkb_app@{FIRST}:{DATABASE_PORT}/pkb",
            "POSTGRES_OWNER": "pkb",
            "PKB_DATA_DIR": str(data),
            "PKB_MODEL_DIR": str(ROOT / "var" / "models"),
            "PKB_INGEST_ROOTS": str(self.inbox),
            "PKB_SECRET_KEY": "of both hosts, and of nobody else " * 2,
            "PKB_AUTH": "required",
            "ALLOWED_HOSTS": f"127.0.0.1,{SECOND}",
            "DJANGO_SUPERUSER_PASSWORD": "a green book of weather",
        }

    def run(self, *command: str) -> str:
        done = subprocess.run(
            [*self.inside, *command],
            env=self.env, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True,
        )  # fmt: skip
        return done.stdout

    def manage(self, *arguments: str) -> str:
        return self.run(sys.executable, "manage.py", *arguments)

    @contextmanager
    def served(self, address: str, key: str) -> Iterator[httpx.Client]:
        url = f"http://{address}:{PORT}"
        with (
            self._kept_running("serve", "--host", address, "--port", str(PORT)),
            httpx.Client(base_url=url, headers={"X-API-Key": key}, timeout=120) as client,
        ):
            wait_until(lambda: is_ready(client))
            yield client

    @contextmanager
    def working(self) -> Iterator[None]:
        with self._kept_running("worker"):
            yield

    @contextmanager
    def _kept_running(self, *arguments: str) -> Iterator[None]:
        with (self.data / f"{arguments[0]}.log").open("w") as log:
            process = subprocess.Popen(
                [*self.inside, sys.executable, "manage.py", *arguments],
                env=self.env, cwd=ROOT, stdout=log, stderr=log,
            )  # fmt: skip
        try:
            yield
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(120)

    def count_files(self) -> int:
        """Count the uploaded files; `host` is the host's marker."""
        kept = (path for path in (self.data / "uploads").iterdir() if path.name != "host")
        return sum(path.is_dir() for path in kept)


IN_SECOND = ("ip", "netns", "exec", SPACE)


@contextmanager
def second_host() -> Iterator[None]:
    """Create a network namespace with one link to this one, and no other route."""
    try:
        for command in (
            f"netns add {SPACE}",
            f"link add pkb-first type veth peer name eth0 netns {SPACE}",
            f"address add {FIRST}/{WIDTH} dev pkb-first",
            "link set pkb-first up",
            f"-n {SPACE} address add {SECOND}/{WIDTH} dev eth0",
            f"-n {SPACE} link set eth0 up",
            f"-n {SPACE} link set lo up",
        ):
            subprocess.run(["ip", *command.split()], check=True)
        yield
    finally:
        # The link is deleted with it.
        subprocess.run(["ip", "netns", "delete", SPACE], check=False)


@contextmanager
def database(folder: Path) -> Iterator[None]:
    """Run an embedded Postgres that listens on the link."""
    server = EmbeddedPostgres(folder)
    try:
        server.start()
        server.ensure_database("pkb")
        server.stop()
        data = folder / "data"
        with (data / "postgresql.conf").open("a") as conf:
            conf.write(f"listen_addresses = '{FIRST}'\n")
        hba = data / "pg_hba.conf"
        hba.write_text(f"host pkb pkb,pkb_app {FIRST}/{WIDTH} trust\n{hba.read_text()}")
        server.start()
        yield
    finally:
        server.stop()


def is_ready(client: httpx.Client) -> bool:
    try:
        return client.get("/ready").status_code == httpx.codes.OK
    except httpx.TransportError:
        return False


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WITHIN_S
    while not is_so():
        if time.monotonic() > deadline:
            raise SystemExit("it did not come to be")
        time.sleep(0.2)


if __name__ == "__main__":
    main()
