"""Disks that fill up, or cannot be written to."""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path

import httpx2

from pkb.postgres.server import SUPERUSER
from tests.campaign.installation import Installation, installed, own_folder
from tests.campaign.ledger import new_text
from tests.campaign.load import status_of, writing
from tests.campaign.rounds import Family, Round

MIB = 2**20
UPLOADS_MIB, ROOMY_MIB, WAL_MIB = 2, 512, 64
# Beside what Postgres has when the clients begin.
DATA_ROOM_MIB = 6
# Of the tmpfs for the WAL so much is taken already, or half of what Postgres left: the clients fill
# the rest.
BALLAST_MIB = 24
# Segments are 16 MiB; each checkpoint drops some of those kept for what the clients wrote.
MAX_CHECKPOINTS = 60
FULL_FOR_S = 12.0
LONG = (2_000, 20_000)
NO_ROOM = 507
SENT = 40
COMMANDS = (("worker",), ("verify",), ("ingest", "/dev/null"), ("migrate",))


def fill_uploads(played: Round) -> None:
    """Send files until no room is left for them, then make room."""
    uploads = played.installation.data / "uploads"
    remount(uploads, UPLOADS_MIB)
    statuses = []
    with played.installation.client() as http:
        for _ in range(SENT):
            status = _send_file(played, http)
            statuses.append(status)
        full = statuses.count(NO_ROOM)
        played.check(full > 0, "the disk was never full")
        odd = {each for each in statuses if each not in {200, 201, NO_ROOM}}
        played.check(not odd, f"a full disk is told as {odd}")
        text, mark = new_text(played.chance, words=60)
        played.ledger.ask("note:full", mark)
        status = status_of(http, "POST", "/ingest", json={"text": text, "source_uri": "note:full"})
        played.ledger.settle("note:full", mark, status)
        played.check(status in {200, 201}, f"a text needs no room there: {status}")
        remount(uploads, ROOMY_MIB)
        played.check(_send_file(played, http) in {200, 201}, "with room a file is refused")
    played.fault, played.faults = f"{full} of {SENT} files without room", full
    played.recover()
    _check_none_left(played, uploads)
    with played.installation.client() as http:
        for address in [each for each in played.ledger.possible if each.startswith("file:")]:
            _delete(played, http, address)


def _send_file(played: Round, http: httpx2.Client) -> int | None:
    text, mark = new_text(played.chance, words=played.chance.randint(*LONG))
    address = f"file:{mark}"
    page = f"<html><body><p>{text}</p></body></html>".encode()
    played.ledger.ask(address, mark)
    files = {"file": (f"{mark}.html", page)}
    status = status_of(http, "POST", "/ingest", files=files, data={"source_uri": address})
    played.ledger.settle(address, mark, status)
    return status


def _delete(played: Round, http: httpx2.Client, address: str) -> None:
    query = f"SELECT id FROM corpus_document WHERE source_uri = '{address}'"  # noqa: S608
    for (key,) in played.installation.read(query):
        played.ledger.ask(address, "")
        played.ledger.settle(address, "", status_of(http, "DELETE", f"/documents/{key}"))


def _check_none_left(played: Round, uploads: Path) -> None:
    kept = "SELECT kept_file FROM corpus_document WHERE kept_file <> ''"
    owned = {str(name).partition("/")[0] for (name,) in played.installation.read(kept)}
    # "host" is the folder of the mark that says whose files these are.
    left = {each.name for each in uploads.iterdir()} - owned - {"host"}
    played.check(not left, f"{len(left)} files are left of those that were refused")


def fill_data(played: Round) -> None:
    """Write until Postgres has no room for its data, then make room."""
    place = played.installation.data / "postgres"
    remount(place, _used_mib(place) + DATA_ROOM_MIB)
    _write_while_full(played, "data")
    remount(place, ROOMY_MIB)
    played.recover()


def fill_wal(played: Round) -> None:
    """Write until Postgres has no room for its log of changes, then make room."""
    place = played.installation.folder / "wal"
    ballast = place / "ballast"
    ballast.write_bytes(bytes(min(BALLAST_MIB * MIB, _free_bytes(place) // 2)))
    _write_while_full(played, "log of changes")
    ballast.unlink()
    remount(place, ROOMY_MIB)
    played.recover()
    _drop_segments(played.installation, place)
    # The next round begins with 64 MB again, or with what Postgres does not give back.
    remount(place, max(WAL_MIB, _used_mib(place) + 1))


def _drop_segments(installation: Installation, place: Path) -> None:
    """Have Postgres keep as little of its log as it may."""
    with closing(installation.connect(user=SUPERUSER)) as superuser:
        superuser.execute(b"ALTER SYSTEM SET min_wal_size = '32MB'")
        superuser.execute(b"SELECT pg_reload_conf()")
        for _ in range(MAX_CHECKPOINTS):
            if _used_mib(place) + BALLAST_MIB < WAL_MIB:
                return
            superuser.execute(b"SELECT pg_switch_wal()")
            superuser.execute(b"CHECKPOINT")


def _write_while_full(played: Round, what: str) -> None:
    doubted = played.ledger.in_doubt
    until = time.monotonic() + FULL_FOR_S * 5
    writes = writing(
        played.installation, played.ledger, chance=played.chance, operation="replace", words=LONG
    )
    with writes:
        while time.monotonic() < until and played.ledger.in_doubt - doubted < 5:
            time.sleep(0.2)
        time.sleep(played.chance.uniform(0, FULL_FOR_S))
    played.faults = 1
    refused = played.ledger.in_doubt - doubted
    played.fault = f"no room for Postgres' {what}: {refused} requests refused or unanswered"
    played.check(refused > 0, "the disk was never full")


def _free_bytes(place: Path) -> int:
    status = os.statvfs(place)
    return status.f_bavail * status.f_frsize


def _used_mib(place: Path) -> int:
    status = os.statvfs(place)
    return (status.f_blocks - status.f_bfree) * status.f_frsize // MIB


def make_read_only(played: Round) -> None:
    """Start everything on a data folder that cannot be written to, then on one that can."""
    installation = played.installation
    with installation.client() as http:
        for _ in range(3):
            _send_file(played, http)
    installation.stop_service()
    subprocess.run(["mount", "-o", "remount,ro", installation.data], check=True)
    try:
        for command in COMMANDS:
            done = installation.command(*command)
            told = (done.stdout + done.stderr).strip()
            played.faults += 1
            played.check(done.returncode != 0, f"{command} succeeds on a read-only folder")
            played.check("Traceback" not in told, f"{command}: {told[-600:]}")
    finally:
        subprocess.run(["mount", "-o", "remount,rw", installation.data], check=True)
    played.fault = f"{len(COMMANDS)} commands on a read-only folder"
    played.recover()


@contextmanager
def mounted(folder: Path, mib: int) -> Iterator[None]:
    """Have a tmpfs of so much room in place of a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    options = f"size={mib}m,mode=755"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "pkb-campaign", folder], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def remount(folder: Path, mib: int) -> None:
    subprocess.run(["mount", "-o", f"remount,size={mib}m", folder], check=True)


@cache
def why_no_mounts() -> str:
    """Return why nothing can be mounted here; empty where it can."""
    with own_folder() as folder:
        try:
            with mounted(folder / "tried", 1):
                return ""
        except (OSError, subprocess.CalledProcessError) as error:
            return f"mounts are not allowed ({error})"


@contextmanager
def with_mounted(place: str) -> Iterator[Installation]:
    """Serve with a tmpfs in place of a folder of the installation's, there from its first start."""
    with (
        own_folder() as folder,
        mounted(folder / place, ROOMY_MIB),
        installed(folder=folder) as installation,
    ):
        yield installation


@contextmanager
def with_small_wal() -> Iterator[Installation]:
    with installed() as installation:
        place = installation.folder / "wal"
        with mounted(place, WAL_MIB):
            installation.stop_service()
            wal = installation.data / "postgres" / "data" / "pg_wal"
            owner = wal.stat()
            subprocess.run(["cp", "-a", wal, place / "pg_wal"], check=True)
            subprocess.run(["rm", "-r", wal], check=True)
            wal.symlink_to(place / "pg_wal")
            os.chown(place, owner.st_uid, owner.st_gid)
            installation.revive()
            yield installation
            installation.stop_service()


UPLOADS = Family(
    lambda: with_mounted("data/uploads"), fill_uploads, share=0.04, why_not=why_no_mounts
)
DATA = Family(lambda: with_mounted("data/postgres"), fill_data, share=0.05, why_not=why_no_mounts)
WAL = Family(with_small_wal, fill_wal, share=0.05, why_not=why_no_mounts)
READ_ONLY = Family(lambda: with_mounted("data"), make_read_only, share=0.03, why_not=why_no_mounts)
