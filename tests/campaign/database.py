"""The database restarted, cut off and deadlocked while clients write."""

import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any

import psycopg

from pkb.postgres import APPLICATION, OWNER
from pkb.postgres.server import SUPERUSER
from tests.campaign.installation import Installation, installed
from tests.campaign.load import OPERATIONS, writing
from tests.campaign.rounds import Family, Round, pause_of

RESTARTS_OF_A_ROUND = 4
BETWEEN_RESTARTS_S = 3.0
CUT_EVERY_S = 0.5
CUT_FOR_S = 8.0
DEADLOCKS_OF_A_ROUND = 3
HELD_S = 0.3
PIECE_BYTES = 2**16
# The row that a writer has already, while it waits for the one that somebody else has.
_HOLD = "SELECT 1 FROM corpus_document WHERE status = 'completed' FOR UPDATE"
_WANT = "SELECT 1 FROM corpus_collection FOR UPDATE"


def restart(played: Round) -> None:
    """Stop Postgres in each of the ways there are; whoever needs it next starts it."""
    installation = played.installation
    operation = played.chance.choice(OPERATIONS)
    with writing(installation, played.ledger, chance=played.chance, operation=operation):
        for _ in range(RESTARTS_OF_A_ROUND):
            pause_of(played.chance, BETWEEN_RESTARTS_S)
            way = played.chance.choice((signal.SIGINT, signal.SIGQUIT, signal.SIGKILL))
            played.fault += f"{way.name} "
            played.faults += 1
            installation.postgres._signal_and_wait(way)
    played.recover()


def cut(played: Round) -> None:
    """Cut every connection twice a second."""
    proxy = PROXIES[played.installation.folder]
    operation = played.chance.choice(OPERATIONS)
    with writing(played.installation, played.ledger, chance=played.chance, operation=operation):
        ends = time.monotonic() + CUT_FOR_S
        while time.monotonic() < ends:
            time.sleep(CUT_EVERY_S)
            played.faults += proxy.cut()
            played.installation.revive_processes()
    played.fault = f"{played.faults} connections cut, of clients that {operation} mostly"
    played.recover()


def deadlock(played: Round) -> None:
    """Hold documents that writers want, and want what they hold."""
    operation = played.chance.choice(("replace", "delete", "upload"))
    with writing(played.installation, played.ledger, chance=played.chance, operation=operation):
        for _ in range(DEADLOCKS_OF_A_ROUND):
            pause_of(played.chance, 1.0)
            with played.installation.connect(user=SUPERUSER) as one:
                played.faults += 1
                lost = _lock_against(one, is_us=played.chance.random() < 1 / 3)
                played.fault += "ended us, " if lost else "ended them if anybody, "
    played.recover()


def _lock_against(one: "psycopg.Connection[Any]", *, is_us: bool) -> bool:
    """Lock in the other order; tells whether it was us whom Postgres ended."""
    try:
        with one.transaction():
            # Whose time is up first looks for a deadlock, and is ended; the others' is 1 s.
            one.execute(f"SET LOCAL deadlock_timeout = '{'100ms' if is_us else '5s'}'".encode())
            one.execute(_HOLD.encode())
            time.sleep(HELD_S)
            one.execute(_WANT.encode())
    except psycopg.errors.DeadlockDetected:
        return True
    return False


class Proxy:
    """Hands connections on to a Unix socket, and cuts them when told to."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._open: set[socket.socket] = set()
        self._lock = Lock()
        self._is_over = Event()
        self.port = self._listening.getsockname()[1]
        Thread(target=self._accept, daemon=True).start()

    def cut(self) -> int:
        """Cut all connections; returns how many there were."""
        with self._lock:
            cut, self._open = self._open, set()
        for each in cut:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        return len(cut) // 2

    def close(self) -> None:
        self._is_over.set()
        self._listening.close()
        self.cut()

    def _accept(self) -> None:
        while not self._is_over.is_set():
            try:
                near, _ = self._listening.accept()
            except OSError:
                return
            far = socket.socket(socket.AF_UNIX)
            try:
                far.connect(self._target)
            except OSError:
                near.close()
                continue
            with self._lock:
                self._open |= {near, far}
            for source, sink in ((near, far), (far, near)):
                Thread(target=self._hand_on, args=[source, sink], daemon=True).start()

    def _hand_on(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while piece := source.recv(PIECE_BYTES):
                sink.sendall(piece)
        for each in (source, sink):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        with self._lock:
            self._open.discard(source)
        source.close()


PROXIES: dict[Path, Proxy] = {}


@contextmanager
def behind_a_proxy() -> Iterator[Installation]:
    """Serve on the embedded server as if it were one of somebody's own, through a proxy."""
    with installed() as installation:
        at = installation.postgres.address
        proxy = Proxy(f"{at['HOST']}/.s.PGSQL.{at['PORT']}")
        installation.environment["DATABASE_URL"] = (
            f"postgresql://{APPLICATION}:none@127.0.0.1:{proxy.port}/pkb?sslmode=disable"
        )
        installation.environment |= {"POSTGRES_OWNER": OWNER, "POSTGRES_OWNER_PASSWORD": "none"}
        PROXIES[installation.folder] = proxy
        installation.kill("server")
        installation.kill("worker")
        try:
            installation.revive()
            yield installation
        finally:
            proxy.close()


RESTARTS = Family(installed, restart, share=0.1)
CUTS = Family(behind_a_proxy, cut, share=0.1)
DEADLOCKS = Family(installed, deadlock, share=0.05)
