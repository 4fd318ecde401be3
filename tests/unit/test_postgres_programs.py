"""The programs of another Postgres than the packaged one."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pkb.postgres.programs import Account, PostgresDidNotStart, Programs
from pkb.postgres.versions import installed_major, installed_version

OWN = Account(os.geteuid(), os.getegid())


@pytest.fixture(autouse=True)
def _fresh_version() -> Iterator[None]:
    installed_version.cache_clear()
    yield
    installed_version.cache_clear()


@pytest.fixture
def programs(tmp_path: Path, settings: Any) -> Path:
    """A folder whose ``postgres`` tells a version of Debian's."""
    program = tmp_path / "postgres"
    program.write_text("#!/bin/sh\necho 'postgres (PostgreSQL) 17.2 (Debian 17.2-1)'\n")
    program.chmod(0o755)
    settings.PKB_POSTGRES_BIN = tmp_path
    return tmp_path


def test_named_programs_run_and_tell_their_version(programs: Path, tmp_path: Path) -> None:
    assert "17.2" in Programs(tmp_path, OWN).run("postgres", "--version").stdout
    assert (installed_version(), installed_major()) == ("17.2", 17)


@pytest.mark.usefixtures("programs")
def test_a_folder_without_programs_is_named(settings: Any, tmp_path: Path) -> None:
    settings.PKB_POSTGRES_BIN = tmp_path / "nowhere"
    with pytest.raises(PostgresDidNotStart, match="nowhere"):
        Programs(tmp_path, OWN).run("postgres", "--version")
    with pytest.raises(PostgresDidNotStart, match="does not tell its version"):
        installed_version()


def test_without_the_setting_the_package_tells(settings: Any) -> None:
    settings.PKB_POSTGRES_BIN = None
    assert installed_major() >= 18
