"""The calls of the API page and of the tutorial run as they stand, against the sample corpus."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from django.contrib.auth import get_user_model

from tests.support.processes import (
    ROOT,
    connected_to,
    environment,
    manage,
    name_of,
    own_database,
    served,
)

pytestmark = pytest.mark.slow

PAGE = ROOT / "docs" / "reference" / "api.md"
TUTORIAL = ROOT / "docs" / "tutorial.md"
TEAM_TUTORIAL = ROOT / "docs" / "tutorial-team.md"
CORPUS = ROOT / "data" / "documents"
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
# A block of commands, and what they print if the page shows it.
STEP = re.compile(r"^```sh\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"^# (\w+)=\.([\w.]+)$", re.MULTILINE)
# An error status ends the call; what it says is kept.
PRELUDE = 'set -eu\ncurl() { command curl --fail-with-body --silent --show-error "$@"; }\n'


def documented_calls(page: str) -> list[str]:
    """The calls of a page: in fenced blocks of sh, divided by empty lines."""
    blocks = BLOCK.findall(page)
    return [call for block in blocks for call in block.strip().split("\n\n") if "curl" in call]


def named_values(call: str, reply: str) -> dict[str, str]:
    """The values that comments below a call name: `# job=.job_id`."""
    values = {}
    for name, path in NAMED.findall(call):
        value: Any = json.loads(reply)
        for step in path.split("."):
            value = value[int(step) if step.isdigit() else step]
        values[name] = str(value)
    return values


def test_calls_and_names_are_read() -> None:
    page = "```sh\ncurl a\n# first=.x.0\n\ncurl $first\n```\n```json\n{}\n```\n```sh\nls\n```\n"
    calls = documented_calls(page)
    assert calls == ["curl a\n# first=.x.0", "curl $first"]
    assert named_values(calls[0], '{"x": ["yes"]}') == {"first": "yes"}


@pytest.fixture(scope="module")
def service(django_db_setup: None, django_db_blocker: Any) -> Iterator[tuple[str, str]]:
    """The address of a server that holds the corpus, and its database."""
    name = f"test_documented_{os.getpid()}"
    with (
        django_db_blocker.unblock(),
        own_database(name) as database,
        served(database, PKB_INGEST_ROOTS=str(CORPUS)) as url,
    ):
        for path in sorted(CORPUS.glob("*.md")):
            reply = httpx2.post(
                f"{url}/ingest", files={"file": (path.name, path.read_bytes())}, timeout=120
            )
            assert reply.status_code == 201
        yield url, database


def test_ask_has_the_server_answer_that_runs_beside_it(
    service: tuple[str, str], tmp_path: Path
) -> None:
    url, database = service
    # Without models this process could not answer.
    asking = manage(
        "ask", "What is training-serving skew?", database=database,
        APP_PORT=url.rsplit(":", 1)[1], PKB_MODEL_DIR=str(tmp_path / "none"),
    )  # fmt: skip
    out, errors = asking.communicate(timeout=120)
    assert asking.returncode == 0, errors
    assert "[1] Feature Stores > Training-serving skew" in out
    assert list(tmp_path.iterdir()) == []


def test_every_documented_call_succeeds(service: tuple[str, str], tmp_path: Path) -> None:
    address, _ = service
    calls = documented_calls(PAGE.read_text())
    assert len(calls) > 20
    values: dict[str, str] = {}
    for call in calls:
        done = subprocess.run(
            ["sh", "-c", PRELUDE + call.replace("localhost:8000", address)],
            cwd=tmp_path,
            env={**os.environ, **values},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, f"{call}\n{done.stdout}\n{done.stderr}"
        values |= named_values(call, done.stdout)


def run_steps(page: Path, database: str, address: str, home: Path) -> int:
    """Run the commands of a tutorial; check that they print what it shows; return their number."""
    steps = STEP.findall(page.read_text())
    for commands, shown in steps:
        done = subprocess.run(
            ["sh", "-c", PRELUDE + commands.replace("localhost:8000", address)],
            cwd=ROOT,
            env=environment(database, HOME=str(home), APP_PORT=address.rsplit(":", maxsplit=1)[-1]),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, f"{commands}\n{done.stdout}\n{done.stderr}"
        assert [line for line in shown.splitlines() if line not in done.stdout] == [], done.stdout
    return len(steps)


@pytest.mark.timeout(900)
def test_every_step_of_the_tutorial_prints_what_the_page_shows(
    service: tuple[str, str], tmp_path: Path
) -> None:
    address, database = service
    assert run_steps(TUTORIAL, database, address, tmp_path) == 7


@pytest.mark.timeout(900)
def test_every_step_of_the_team_tutorial_prints_what_the_page_shows(
    service: tuple[str, str], tmp_path: Path
) -> None:
    _, database = service
    with connected_to(name_of(database)):
        for name in ("ada", "ben", "eve"):
            get_user_model().objects.create_user(name, password=f"{name} of the lighthouse")
    with served(database, PKB_AUTH="required") as address:
        assert run_steps(TEAM_TUTORIAL, database, address, tmp_path) == 10


def test_first_step_of_the_tutorial_names_the_script_that_loads_samples() -> None:
    (install,) = re.findall(r"^## 1.*?^```console\n(.*?)^```", TUTORIAL.read_text(), re.M | re.S)
    script = (ROOT / "scripts" / "run").read_text()
    assert install.splitlines()[-1] == "scripts/run"
    assert "manage.py first_run" in script
    assert "manage.py serve" in script
