"""What is installed is what was locked: by version and hash, from no host in particular."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
REQUIREMENTS = sorted(ROOT.glob("requirements*.txt"))
# By the machine: requirements.txt.
UNLOCKED = re.compile(r"torch|triton|(nvidia|cuda)-.*")
_PIN = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^]]*\])?==([^\s;]+)", re.MULTILINE)
_HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}\b")

by_name = pytest.mark.parametrize("file", REQUIREMENTS, ids=lambda file: file.stem)


def pins_of(text: str) -> dict[str, str]:
    """Versions by package, named as an index names it."""
    return {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in _PIN.findall(text)}


def lock_of(file: Path) -> str:
    return (ROOT / "locks" / file.name).read_text()


def test_there_is_a_lock_of_each_file_and_no_other() -> None:
    locks = {path.name for path in (ROOT / "locks").iterdir()}
    assert locks == {file.name for file in REQUIREMENTS}
    assert len(locks) > 5


@by_name
def test_a_lock_holds_what_its_file_asks_for(file: Path) -> None:
    wanted = pins_of(file.read_text())
    locked = pins_of(lock_of(file))
    assert wanted
    assert wanted.items() - {"torch": wanted.get("torch")}.items() <= locked.items()
    assert not [name for name in locked if UNLOCKED.fullmatch(name)]


@by_name
def test_each_locked_package_has_a_hash_and_none_a_host(file: Path) -> None:
    lock = lock_of(file)
    entries = [part for part in re.split(r"\n(?=\S)", lock) if _PIN.match(part)]
    assert len(entries) == len(pins_of(lock))
    assert all(_HASH.search(entry) for entry in entries)
    assert not re.search(r"://|--(extra-)?index|--find-links", lock)


def test_what_shares_an_environment_agrees_on_versions() -> None:
    service = pins_of(lock_of(ROOT / "requirements.txt"))
    for name in ("evaluation", "dev"):
        beside = pins_of(lock_of(ROOT / f"requirements-{name}.txt"))
        assert {name: beside[name] for name in service.keys() & beside.keys()}.items() <= (
            service.items()
        )
