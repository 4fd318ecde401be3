"""Upgrade a cluster of an older major version with pg_upgrade.

The old cluster is only read, and renamed at the end. Until then it stays in use:

    state_dir/upgrade        the new cluster during the upgrade, and the output of pg_upgrade
    state_dir/data-upgraded  the new cluster, after its rows were counted
    state_dir/data-17        the old cluster, when `data` is the new one
"""

import os
import re
import shlex
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
from psycopg import sql

from pkb.postgres.programs import Account, PostgresDidNotStart, Programs, first_closed_folder
from pkb.postgres.server import (
    POLL_S,
    START_TIMEOUT_S,
    STOP_TIMEOUT_S,
    SUPERUSER,
    EmbeddedPostgres,
    processes,
)
from pkb.postgres.versions import UPGRADED, cluster_version, find_old_programs, take_over

# Not the usual port, so that no client writes to either cluster.
PORT = "50432"
# Space beside the copy: the catalog and WAL of the new cluster take 60 MB.
SPARE_BYTES = 2**27
# Files that administrators edit; pkb writes its own settings at each start.
SETTINGS = ("pg_hba.conf", "pg_ident.conf", "postgresql.conf", "postgresql.auto.conf")

_DATABASES = "SELECT datname FROM pg_database WHERE datallowconn ORDER BY datname"
_TABLES = """
SELECT n.nspname, c.relname, c.relkind::text
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE c.relkind IN ('r', 'm', 'S') AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'
"""
_OUTDATED = """
SELECT e.extname FROM pg_extension e JOIN pg_available_extensions a ON a.name = e.extname
 WHERE a.installed_version <> a.default_version
"""

# A value of pg_class.relkind.
SEQUENCE = "S"
# Rows of a table or last value of a sequence, by database, kind, schema and name.
Counts = dict[tuple[str, str, str, str], int]


class UpgradeResult(NamedTuple):
    """Result of an upgrade.

    Attributes:
        old: Folder of the old cluster, which is no longer used.
    """

    table_count: int
    row_count: int
    old: Path


class OldCluster(EmbeddedPostgres):
    """A cluster of an older version than the installed one."""

    def upgrade(self, old_programs: Path | None = None) -> UpgradeResult:
        """Upgrade to the installed version; at any interruption, one cluster is complete.

        pkb must not run meanwhile. After an interruption, the next call starts again.

        Args:
            old_programs: Folder of pg_ctl and the other programs of the old version.

        Raises:
            PostgresDidNotStart: The old programs are missing, one of them failed, or the rows of
                both clusters differ. The old cluster is unchanged.
        """
        major = cluster_version(self._data)
        if major is None:
            raise PostgresDidNotStart(f"{self._data} is not a cluster of this user")
        old_data = self.state_dir / f"data-{major}"
        if old_data.exists():
            raise PostgresDidNotStart(f"{old_data} is from an earlier upgrade: move it away")
        old = old_programs or find_old_programs(self.state_dir, major)
        self.stop()
        with self._locked():
            account = self._account()
            self._prepare_directories(account)
            self._clean_up_earlier_run()
            counts = self._copy(old.resolve(), account)
            take_over(self.state_dir)
            shutil.rmtree(self._work)
        self.start()
        of_tables = [count for (_, kind, *_), count in counts.items() if kind != SEQUENCE]
        return UpgradeResult(len(of_tables), sum(of_tables), old_data)

    @property
    def _work(self) -> Path:
        return self.state_dir / "upgrade"

    def _clean_up_earlier_run(self) -> None:
        """End the processes of an interrupted upgrade, and remove its files."""
        ours = re.compile(
            rf'{re.escape(str(self._work))}/|-D "?{re.escape(str(self._data))}("? |$)'
        )
        while pids := [pid for pid, _, line in processes() if ours.search(line)]:
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(POLL_S)
        self._clean_up_after_crash()
        for remains in (self._work, self.state_dir / UPGRADED):
            shutil.rmtree(remains, ignore_errors=True)

    def _copy(self, old: Path, account: Account) -> Counts:
        """Create `data-upgraded` with the rows of `data`, and return their counts."""
        files = (path for path in self._data.rglob("*") if path.is_file())
        needed = sum(path.stat().st_size for path in files) + SPARE_BYTES
        free = shutil.disk_usage(self.state_dir).free
        if free < needed:
            raise PostgresDidNotStart(
                f"{self.state_dir} has {free >> 20} MB left, but the copy needs {needed >> 20} MB"
            )
        closed = first_closed_folder(old / "pg_ctl", account)
        if closed:
            raise PostgresDidNotStart(
                f"user {account.uid}, whom Postgres runs as, cannot use {closed}"
            )
        self._work.mkdir(mode=0o700)
        os.chown(self._work, account.uid, account.gid)
        programs = Programs(self._work, account)
        new = self._work / "new"
        # The old cluster recovers here and is stopped cleanly, as pg_upgrade requires.
        with self._run(programs, str(old / "pg_ctl"), self._data):
            before = self._count()
        # pg_upgrade requires an empty cluster with the same checksum setting; it copies encoding
        # and locale.
        control = programs.run(str(old / "pg_controldata"), str(self._data)).stdout
        has_checksums = "Data page checksum version:           0" not in control
        checksums = "--data-checksums" if has_checksums else "--no-data-checksums"
        login = (f"--username={SUPERUSER}", "--auth-local=trust", "--auth-host=reject")
        programs.check("initdb", "-D", str(new), checksums, *login)
        (new / "pkb.conf").touch()
        folders = ("--old-datadir", str(self._data), "--new-datadir", str(new))
        access = ("--username", SUPERUSER, "--socketdir", str(self._socket_dir))
        programs.check("pg_upgrade", "--old-bindir", str(old), *folders, *access)
        for name in SETTINGS:
            shutil.copy2(self._data / name, new / name)
        with self._run(programs, "pg_ctl", new):
            self._update_extensions(programs)
            after = self._count()
        if before != after:
            changed = sorted(" ".join(key) for key, _ in before.items() ^ after.items())
            raise PostgresDidNotStart(f"the rows of the clusters differ: {', '.join(changed)}")
        new.rename(self.state_dir / UPGRADED)
        return after

    @contextmanager
    def _run(self, programs: Programs, pg_ctl: str, data: Path) -> Iterator[None]:
        options = (
            f"-p {PORT} -c listen_addresses=''"
            f" -c unix_socket_directories={shlex.quote(str(self._socket_dir))}"
        )
        where = ("-D", str(data), "-w")
        log = ("-l", str(self._log), "-t", str(START_TIMEOUT_S))
        started = programs.run(pg_ctl, "start", *where, *log, "-o", options)
        if started.returncode:
            raise PostgresDidNotStart(self._describe(started.stdout))
        try:
            yield
        finally:
            programs.check(pg_ctl, "stop", *where, "-m", "fast", "-t", str(STOP_TIMEOUT_S))

    def _connect(self, database: str) -> psycopg.Connection[Any]:
        host = str(self._socket_dir)
        conninfo = psycopg.conninfo.make_conninfo(
            host=host, port=PORT, user=SUPERUSER, dbname=database
        )
        return psycopg.connect(conninfo, autocommit=True)

    def _databases(self) -> list[str]:
        with self._connect("postgres") as connection:
            return [name for (name,) in connection.execute(_DATABASES)]

    def _count(self) -> Counts:
        counts: Counts = {}
        for database in self._databases():
            with self._connect(database) as connection:
                for schema, name, kind in connection.execute(_TABLES).fetchall():
                    value = sql.SQL("last_value" if kind == SEQUENCE else "count(*)")
                    query = sql.SQL("SELECT {} FROM {}").format(value, sql.Identifier(schema, name))
                    (count,) = connection.execute(query).fetchone() or (0,)
                    counts[database, kind, schema, name] = count
        return counts

    def _update_extensions(self, programs: Programs) -> None:
        """Update extensions to the new version, and compute missing statistics."""
        for database in self._databases():
            with self._connect(database) as connection:
                for (name,) in connection.execute(_OUTDATED).fetchall():
                    update = sql.SQL("ALTER EXTENSION {} UPDATE").format(sql.Identifier(name))
                    connection.execute(update)
        address = ("--host", str(self._socket_dir), "--port", PORT, "--username", SUPERUSER)
        programs.check("vacuumdb", *address, "--all", "--analyze-only", "--missing-stats-only")
