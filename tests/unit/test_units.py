"""The units for systemd: systemd takes them, and what they name is there."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from django.core.management import get_commands

from pkb.env import Env

ROOT = Path(__file__).parents[2]
UNITS = {path.name: path.read_text() for path in (ROOT / "deploy" / "systemd").iterdir()}
SERVICES = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_takes_the_units(tmp_path: Path) -> None:
    for name, text in UNITS.items():
        here = text.replace("/opt/pkb/.venv/bin/python", sys.executable)
        (tmp_path / name).write_text(here.replace("/opt/pkb", str(ROOT)))
    started = [str(tmp_path / name.replace("@.", "@1.")) for name in sorted(UNITS)]
    (tmp_path / "pkb-worker@1.service").symlink_to(tmp_path / "pkb-worker@.service")
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *started],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    # Of some faults it tells and ends well.
    assert (done.returncode, [each for each in done.stderr.splitlines() if "pkb" in each]) == (
        0,
        [],
    )


def hardening(text: str) -> list[str]:
    return text[text.index("StateDirectory=") : text.index("[Install]")].splitlines()


def test_the_units_are_hardened_alike() -> None:
    first, *others = (hardening(text) for text in UNITS.values())
    assert "ProtectSystem=strict" in first
    assert all(other == first for other in others)
    # Postgres and the workers have one user: the end of one would take the others' memory.
    assert not any(re.search(r"(?m)^RemoveIPC", text) for text in UNITS.values())


@pytest.mark.parametrize("name", sorted(UNITS))
def test_a_unit_gives_commands_and_settings_that_there_are(name: str) -> None:
    commands = re.findall(r"(?m)^Exec\w+=/opt/pkb/\.venv/bin/python manage\.py (\w+)", UNITS[name])
    assert commands
    assert set(commands) <= set(get_commands())
    lines = re.findall(r"(?m)^Environment=(.*)$", UNITS[name])
    given = dict(each.split("=") for line in lines for each in line.split())
    known = {key: value for key, value in given.items() if key in Env.model_fields}
    of_others = {"PYTHONUNBUFFERED", "MALLOC_ARENA_MAX", "MALLOC_TRIM_THRESHOLD_"}
    assert set(given) - set(known) <= of_others
    read = Env(_env_file=None, **known)  # type: ignore[call-arg]
    assert str(read.PKB_DATA_DIR) == "/var/lib/pkb"


def test_whatever_ends_is_started_again() -> None:
    for name in ("pkb-web.service", "pkb-worker@.service"):
        assert re.search(r"(?m)^Restart=always$", UNITS[name])
        assert re.search(r"(?m)^StartLimitIntervalSec=0$", UNITS[name])
    assert {name: each["restart"] for name, each in SERVICES.items()} == dict.fromkeys(
        ["db", "web", "worker"], "unless-stopped"
    )
