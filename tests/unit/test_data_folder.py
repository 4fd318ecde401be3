"""What is kept is closed to other users of the machine, whatever the umask."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import override_settings

from pkb.data_folder import create_data_folder, read_secret_key
from pkb.env import Env
from pkb.postgres.server import EmbeddedPostgres
from qa.management.running_server import save_server_url

OWNER_ONLY = 0o700


@pytest.fixture(autouse=True)
def open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_data_folder_is_closed_and_one_that_is_there_keeps_its_mode(tmp_path: Path) -> None:
    made = create_data_folder(tmp_path / "srv" / "var")
    # Root's Postgres passes through to its own folder, and lists nothing.
    assert mode(made) == (0o711 if os.geteuid() == 0 else OWNER_ONLY)
    tmp_path.chmod(0o750)
    assert create_data_folder(tmp_path) == tmp_path
    assert mode(tmp_path) == 0o750


def test_a_folder_that_cannot_be_made_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SystemExit, match="bad setting PKB_DATA_DIR"):
        create_data_folder(tmp_path / "file" / "var")


def test_the_key_is_the_owner_s(tmp_path: Path) -> None:
    read_secret_key(Env(_env_file=None, PKB_DATA_DIR=tmp_path))  # type: ignore[call-arg]
    assert mode(tmp_path / "secret_key") == 0o600


@pytest.mark.parametrize("is_there", [False, True])
def test_what_processes_agree_by_is_the_owner_s(tmp_path: Path, is_there: bool) -> None:
    lock, noted = tmp_path / "lock", tmp_path / "served-at"
    if is_there:
        lock.touch()
        noted.touch()
        assert mode(lock) == mode(noted) == 0o666
    (tmp_path / "data").mkdir()
    EmbeddedPostgres(tmp_path).stop()
    with override_settings(PKB_SERVED_AT=noted):
        save_server_url("127.0.0.1", 8000)
    assert {mode(lock), mode(noted)} == {0o600}
