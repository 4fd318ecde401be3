"""Attack a service in the ways that one client can, and tell what was tried and what held.

    scripts/attack                                   a service of its own, with nothing to lose
    scripts/attack --only halves chunks --seconds 20
    scripts/attack --url http://127.0.0.1:8000       one that runs; it is filled with rubbish

Memory, threads and open files are those of the process that listens there, where it is one of
this machine.
"""

import argparse
import asyncio
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.attacks.content import damage_requests, poison, send_hostile_texts
from tests.attacks.deletion import read_deleted
from tests.attacks.documented import draw_requests
from tests.attacks.overload import (
    QUESTION,
    TEXT,
    ask_64,
    ask_500,
    leave_answers_unread,
    leave_streams,
    send_chunks,
    send_halves,
    send_one_key,
)
from tests.attacks.reach import read_elsewhere, write_from_elsewhere
from tests.attacks.target import Outcome, Target, find_process

ATTACKS: dict[str, Callable[[Target], Awaitable[Outcome]]] = {
    "halves": send_halves,
    "chunks": send_chunks,
    "clients-64": ask_64,
    "clients-500": ask_500,
    "key": send_one_key,
    "streams": leave_streams,
    "unread": leave_answers_unread,
    "texts": send_hostile_texts,
    "values": poison,
    "damage": damage_requests,
    "sites": write_from_elsewhere,
    "files": read_elsewhere,
    "deletion": read_deleted,
    "schema": draw_requests,
}
ROOT = Path(__file__).parents[2]
READY_WITHIN_S = 180
SHOWN_FAILURES = 5


@contextmanager
def own_service() -> Iterator[Target]:
    """Serve from a data folder of its own; it is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="pkb-attack-") as folder:
        root = Path(folder, "inbox")
        root.mkdir()
        with socket.socket() as chosen:
            chosen.bind(("127.0.0.1", 0))
            port = chosen.getsockname()[1]
        environment = {
            **os.environ,
            "APP_PORT": str(port),
            "PKB_DATA_DIR": str(Path(folder, "data")),
            # One question again and again is to cost what others cost.
            "PKB_ANSWER_CACHE": "0",
            "PKB_INGEST_ROOTS": str(root),
            "PKB_MODEL_DIR": os.environ.get("PKB_MODEL_DIR", str(ROOT / "var" / "models")),
        }
        manage = [sys.executable, "manage.py"]
        subprocess.run([*manage, "migrate", "--verbosity", "0"], env=environment, check=True)
        with Path(folder, "server.log").open("w") as log:
            server = subprocess.Popen([*manage, "serve"], env=environment, stdout=log, stderr=log)
            try:
                wait_until_ready(f"http://127.0.0.1:{port}")
                yield Target(f"http://127.0.0.1:{port}", 0, Path("/proc", str(server.pid)), root)
            finally:
                server.send_signal(signal.SIGTERM)
                server.wait(60)


def wait_until_ready(base_url: str) -> None:
    deadline = time.monotonic() + READY_WITHIN_S
    while time.monotonic() < deadline:
        try:
            if httpx.get(f"{base_url}/ready").status_code == httpx.codes.OK:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.2)
    raise SystemExit(f"{base_url} is not ready after {READY_WITHIN_S} s")


async def attack(target: Target, names: list[str]) -> bool:
    """Run the attacks and print a line of each; tells whether all of them held."""
    async with target.client() as client:
        await client.post("/ingest", json={"text": TEXT, "source_uri": "note:attack"})
        await client.get("/answer", params={"q": QUESTION})
    print(f"{'':12} {'tried':>6} {'held':>6}")
    held = True
    for name in names:
        outcome = await ATTACKS[name](target)
        print(f"{name:12} {outcome.tried:6} {outcome.held:6}  {outcome.seen}", flush=True)
        for failure in list(dict.fromkeys(outcome.failures))[:SHOWN_FAILURES]:
            print(f"{'':12} FAILED  {failure}", flush=True)
        held = held and not outcome.failures
    return held


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--url", help="of a running service; without it one is started")
    parser.add_argument("--only", nargs="+", choices=ATTACKS, default=list(ATTACKS))
    parser.add_argument("--seconds", type=float, default=60, help="for attacks that go on")
    chosen = parser.parse_args()
    if chosen.url:
        target = Target(chosen.url, chosen.seconds)
        target.process = find_process(target.port)
        return not asyncio.run(attack(target, chosen.only))
    with own_service() as target:
        target.seconds = chosen.seconds
        target.process = find_process(target.port)
        return not asyncio.run(attack(target, chosen.only))


if __name__ == "__main__":
    sys.exit(main())
