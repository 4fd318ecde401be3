"""Recorded models for every test that does not ask for bare ones, and what is done with news."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import override_settings

from tests.recordings.files import Heard, dump, read, read_calls
from tests.recordings.models import BARE, KEPT, MET, RECORDED, recordings

# More than a few runs meet that differ in a handful of texts.
MET_MAX_BYTES = 50 * 2**20

_heard: dict[str, Heard] = {}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--record",
        action="store_true",
        help="write what the models say into tests/recordings; a whole run drops the rest",
    )


@pytest.fixture(scope="session", autouse=True)
def recorded_models() -> Iterator[None]:
    """Ask the packaged models only what is not on file, in all tests of this process."""
    with override_settings(**RECORDED):
        yield


@pytest.fixture(autouse=True)
def models(request: pytest.FixtureRequest) -> Iterator[None]:
    if request.node.get_closest_marker("bare_models") is None:
        yield
        return
    with override_settings(**BARE):
        yield


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Collect what this process heard; of several, one writes what all heard."""
    heard = {name: recording.heard() for name, recording in recordings.items()}
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["heard"] = {name: each.dump() for name, each in heard.items()}
    else:
        _add(heard)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    dumped = getattr(node, "workeroutput", {}).get("heard", {})
    _add({name: Heard.load(each) for name, each in dumped.items()})


def _add(heard: dict[str, Heard]) -> None:
    for name, each in heard.items():
        _heard[name] = _heard[name] | each if name in _heard else each


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: Any, exitstatus: int, config: pytest.Config) -> None:
    if hasattr(config, "workerinput") or not _heard:
        return
    is_whole = exitstatus == 0 and config.args == config.getini("testpaths") and not (
        config.option.keyword or config.option.markexpr
    )  # fmt: skip
    for name, heard in _heard.items():
        if config.option.record:
            _record(name, heard, is_whole=is_whole)
        elif heard.new:
            _keep(name, heard)
    used, new = (sum(len(each[place]) for each in _heard.values()) for place in (1, 2))
    terminalreporter.write_line(f"{used} outputs of models, {new} of them not on file before")


def _record(name: str, heard: Heard, *, is_whole: bool) -> None:
    """Put all that was used into the repository, and drop what a whole run does not use."""
    path, met = KEPT / f"{name}.npz", MET / f"{name}.npz"
    kept = read(path, heard.weights)
    known = {**read(met, heard.weights), **kept, **heard.new}
    wanted = heard.used if is_whole else heard.used | kept.keys()
    calls = {**read_calls(path, heard.weights), **heard.calls}
    path.write_bytes(dump(heard.weights, {key: known[key] for key in wanted}, calls))
    met.unlink(missing_ok=True)


def _keep(name: str, heard: Heard) -> None:
    """Put what is new where the next run here finds it."""
    path = MET / f"{name}.npz"
    path.parent.mkdir(parents=True, exist_ok=True)
    is_full = path.exists() and path.stat().st_size > MET_MAX_BYTES
    before = {} if is_full else read(path, heard.weights)
    path.write_bytes(dump(heard.weights, {**before, **heard.new}, {}))
