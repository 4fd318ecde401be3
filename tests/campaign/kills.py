"""Kill -9 of any process at a random moment of any operation."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random

import psutil  # type: ignore[import-untyped]

from tests.campaign.installation import Installation, installed, kill_session
from tests.campaign.ledger import find_mark, new_text
from tests.campaign.load import OPERATIONS, writing
from tests.campaign.rounds import Family, Round, pause_of

# What a moment is drawn from: a request takes some .1 s, a command up to five seconds.
REQUESTS_S, SYNC_S, REEMBED_S, MIGRATE_S, RESTORE_S = 1.5, 3.0, 5.0, 9.0, 6.0
# A recovery and a check take longer than three kills.
KILLS_OF_REQUESTS = 3
# A parser lives for milliseconds: it is looked for so often.
LOOK_EVERY_S = 0.002
LOOKED_FOR_S = 4.0
FILES = 30
MODELS = ("hashing-64", "hashing-96")
# A migration back to it and forward again rewrites tables of documents.
EARLIER = "0001_tables"
FILLED, TRIED = "campaign_filled", "campaign_tried"
_MIRRORED = """
SELECT d.file_path, t.text FROM corpus_document d
  JOIN corpus_documentcontent t ON t.document_id = d.id
  JOIN corpus_collection c ON c.id = d.collection_id
 WHERE c.name = 'mirror' AND d.status = 'completed'
"""


def play(played: Round) -> None:
    """Kill processes at moments of one operation."""
    operation = played.chance.choice((*OPERATIONS, *SCENES))
    SCENES.get(operation, _kill_requests)(played)
    played.fault = f"{operation}: {played.fault}"


def _kill_requests(played: Round) -> None:
    """Kill one process after the other while clients write."""
    operation = played.chance.choice(OPERATIONS)
    with writing(played.installation, played.ledger, chance=played.chance, operation=operation):
        for _ in range(KILLS_OF_REQUESTS):
            _kill(played, played.chance.choice((*OF_SERVICE, "parser")), within_s=REQUESTS_S)
            played.installation.revive()
    played.recover()


def _kill_sync(played: Round) -> None:
    """Kill while a folder is mirrored that has changed."""
    folder = played.installation.inbox / "mirror"
    change_files(folder, played.chance)
    sync_folder(played.installation, folder)
    _kill(played, played.chance.choice(OF_SERVICE), within_s=SYNC_S)
    played.recover()
    check_mirror(played, folder)


def sync_folder(installation: Installation, folder: Path) -> None:
    """Have a job bring a folder into the collection ``mirror``."""
    with installation.client() as http:
        http.post("/collections", json={"name": "mirror"})
        body = {"directory_path": str(folder), "index_name": "mirror"}
        started = http.post("/encode_batch", json=body)
        assert started.status_code == 202, started.text


def check_mirror(played: Round, folder: Path) -> None:
    wanted = {str(path): find_mark(path.read_text()) for path in folder.iterdir()}
    stored = {path: find_mark(text) for path, text in played.installation.read(_MIRRORED)}
    wrong = [path for path in wanted.keys() | stored.keys() if wanted.get(path) != stored.get(path)]
    played.lost += len(wrong)
    played.check(not wrong, f"{len(wrong)} files are not mirrored: {sorted(wrong)[:3]}")


def change_files(folder: Path, chance: Random) -> None:
    """Change, remove and add files, a third of them."""
    folder.mkdir(exist_ok=True)
    for number in range(FILES):
        path = folder / f"{number:02}.txt"
        if path.exists() and chance.random() > 1 / 3:
            continue
        if path.exists() and chance.random() < 1 / 3:
            path.unlink()
            continue
        path.write_text(new_text(chance, words=chance.randint(30, 2_000))[0])


def _kill_reembed(played: Round) -> None:
    """Kill while a collection gets another model, and others write to it."""
    [(now,)] = played.installation.read(
        "SELECT embedding_model FROM corpus_collection WHERE name = 'default'"
    )
    model = next(each for each in MODELS if each != now)
    arguments = ("reembed", "--model", model, "--switch")
    with writing(played.installation, played.ledger, chance=played.chance, operation="replace"):
        command = played.installation.start(*arguments)
        _kill(played, _draw(played), within_s=REEMBED_S, command=command)
        _end(command)
    played.installation.revive()
    again = played.installation.command(*arguments)
    played.check(again.returncode == 0, f"reembed again: {again.stderr.strip()[-300:]}")
    played.recover()


def _kill_migrate(played: Round) -> None:
    """Kill a migration back and the one forward again, of a database with documents."""
    installation = played.installation
    with _created(installation, FILLED) as url:
        for target in (("corpus", EARLIER), ()):
            with _migrating(installation, url):
                command = installation.start("migrate", "--verbosity", "0", *target)
            _kill(played, _draw(played), within_s=MIGRATE_S, command=command)
            _end(command)
        installation.revive()
        again = installation.command("migrate", "--verbosity", "0", DATABASE_URL=url)
        played.check(again.returncode == 0, f"migrate again: {again.stderr.strip()[-300:]}")
        played.verify(DATABASE_URL=url)
        _compare_filled(played, "after the migration")
    played.recover()


@contextmanager
def _migrating(installation: Installation, url: str) -> Iterator[None]:
    installation.environment["DATABASE_URL"] = url
    yield
    del installation.environment["DATABASE_URL"]


def _kill_restore(played: Round) -> None:
    """Kill a restore of a backup; what is left is nothing, or all of it."""
    installation = played.installation
    [backup] = (installation.folder / "backup").iterdir()
    with _created(installation) as url:
        with _migrating(installation, url):
            command = installation.start("restore", "--trusted", str(backup))
        _kill(played, _draw(played), within_s=RESTORE_S, command=command)
        _end(command)
        installation.revive()
        if not _is_restored(installation):
            again = installation.command("restore", "--trusted", str(backup), DATABASE_URL=url)
            played.check(again.returncode == 0, f"restore again: {again.stderr.strip()[-300:]}")
        played.verify(DATABASE_URL=url)
        _compare_filled(played, "restored")
    played.recover()


def _is_restored(installation: Installation) -> bool:
    [(is_migrated,)] = installation.read("SELECT to_regclass('corpus_document')", TRIED)
    if not is_migrated:
        return False
    return installation.read("SELECT count(*) FROM corpus_document", TRIED) != [(0,)]


def _compare_filled(played: Round, when: str) -> None:
    hashes = "SELECT id, content_sha256, title FROM corpus_document ORDER BY id"
    same = played.installation.read(hashes, TRIED) == played.installation.read(hashes, FILLED)
    played.lost += not same
    played.check(same, f"other documents {when}")


@contextmanager
def _created(installation: Installation, template: str = "template1") -> Iterator[str]:
    with installation.connect("postgres") as admin:
        admin.execute(f"DROP DATABASE IF EXISTS {TRIED} WITH (FORCE)".encode())
        admin.execute(f"CREATE DATABASE {TRIED} TEMPLATE {template}".encode())
    yield installation.database_url(TRIED)


def _kill(
    played: Round,
    victim: str,
    *,
    within_s: float,
    command: "subprocess.Popen[bytes] | None" = None,
) -> None:
    """Kill at a random moment within so long."""
    at_s = pause_of(played.chance, within_s)
    played.fault += f"{', ' if played.fault else ''}{victim} killed after {at_s:.2f} s"
    if victim == "command":
        assert command is not None
        is_killed = command.poll() is None
        kill_session(command)
    else:
        is_killed = VICTIMS[victim](played.installation)
    played.faults += is_killed


def _draw(played: Round) -> str:
    """Draw whom to kill beside a command: that itself half of the time."""
    return "command" if played.chance.random() < 1 / 2 else played.chance.choice(OF_SERVICE)


def _end(command: "subprocess.Popen[bytes]") -> None:
    """Wait for a command that was not killed, or failed with what was."""
    try:
        command.wait(120)
    except subprocess.TimeoutExpired:
        kill_session(command)


def _kill_named(name: str, installation: Installation) -> bool:
    is_alive = installation.is_alive(name)
    if is_alive:
        installation.kill(name)
    return is_alive


def _kill_parser(installation: Installation) -> bool:
    """Kill a process that reads a file, as soon as there is one."""
    deadline = time.monotonic() + LOOKED_FOR_S
    while time.monotonic() < deadline:
        for pid in (*installation.pids("server"), *installation.pids("worker")):
            if _is_parser(pid):
                return _kill_pid(pid)
        time.sleep(LOOK_EVERY_S)
    return False


def _is_parser(pid: int) -> bool:
    try:
        return "corpus.loaders.sandbox_worker" in " ".join(psutil.Process(pid).cmdline())
    except psutil.NoSuchProcess:
        return False


def _kill_respawned(installation: Installation) -> bool:
    """Kill the process that answers; the server's first one starts another."""
    answering = [pid for pid in installation.pids("server") if not _is_parser(pid)]
    return any(_kill_pid(pid) for pid in answering)


def _kill_postmaster(installation: Installation) -> bool:
    pid = installation.postgres.pid
    return pid is not None and _kill_pid(pid)


def _kill_backend(installation: Installation) -> bool:
    """Kill one of Postgres' own processes: it restarts all of them, and recovers."""
    pid = installation.postgres.pid
    try:
        children = psutil.Process(pid).children() if pid else []
        backends = [each.pid for each in children if "[local]" in " ".join(each.cmdline())]
    except psutil.NoSuchProcess:
        return False
    return any(_kill_pid(each) for each in backends[:1])


def _kill_pid(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


VICTIMS: dict[str, Callable[[Installation], bool]] = {
    "server": partial(_kill_named, "server"),
    "answering process": _kill_respawned,
    "worker": partial(_kill_named, "worker"),
    "Postgres": _kill_postmaster,
    "backend": _kill_backend,
    "parser": _kill_parser,
}
OF_SERVICE = tuple(VICTIMS)[:-1]
SCENES: dict[str, Callable[[Round], None]] = {
    "sync": _kill_sync,
    "reembed": _kill_reembed,
    "migrate": _kill_migrate,
    "restore": _kill_restore,
}


@contextmanager
def opened() -> Iterator[Installation]:
    """Serve, with a database of documents and a backup of it beside."""
    with installed() as installation:
        fill(installation)
        yield installation


def fill(installation: Installation) -> None:
    folder = installation.folder / "filled"
    folder.mkdir()
    chance = Random(0)  # noqa: S311
    for number in range(FILES):
        (folder / f"{number:02}.txt").write_text(new_text(chance, words=1_500)[0])
    with installation.connect("postgres") as admin:
        admin.execute(f"CREATE DATABASE {FILLED}".encode())
    there = {"DATABASE_URL": installation.database_url(FILLED)}
    installation.succeed("migrate", "--verbosity", "0", **there)
    installation.succeed("ingest", str(folder), **there)
    installation.succeed("backup", str(installation.folder / "backup"), **there)


KILLS = Family(opened, play, share=0.5)
