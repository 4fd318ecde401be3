"""What is installed is what was locked: by version and hash, from no host but PyPI's."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCK = (ROOT / "uv.lock").read_text()
PACKAGES = [package for package in tomllib.loads(LOCK)["package"] if package["name"] != "pkb"]
GROUPS = {"service": PROJECT["project"]["dependencies"], **PROJECT["dependency-groups"]}
_PIN = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^]]*\])?==([^\s;]+)")


def pins_of(requirements: list[str]) -> set[tuple[str, str]]:
    """Packages and their versions, named as an index names them."""
    pins = [_PIN.match(requirement) for requirement in requirements]
    return {(re.sub(r"[-_.]+", "-", pin[1]).lower(), pin[2]) for pin in pins if pin}


@pytest.mark.parametrize("group", GROUPS)
def test_what_is_asked_for_is_pinned_and_locked(group: str) -> None:
    pins = pins_of(GROUPS[group])
    assert len(pins) == len(GROUPS[group])
    assert pins <= {(package["name"], package["version"]) for package in PACKAGES}


def test_each_file_of_a_package_has_a_hash() -> None:
    for package in PACKAGES:
        files = [*package.get("wheels", []), *([package["sdist"]] if "sdist" in package else [])]
        assert files, package["name"]
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", file["hash"]) for file in files)


def test_no_host_is_named_but_those_of_pypi() -> None:
    hosts = set(re.findall(r"\w+://[^/\"]+", LOCK))
    assert hosts == {"https://pypi.org", "https://files.pythonhosted.org"}


def test_no_package_of_cuda_is_locked() -> None:
    named = [package["name"] for package in PACKAGES]
    assert not [name for name in named if re.fullmatch(r"triton|(nvidia|cuda)-.*", name)]


def test_the_service_has_one_version_of_each_package() -> None:
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    names = [line.split("==")[0] for line in lines if "==" in line]
    assert len(names) == len(set(names)) > 100


def test_what_is_not_wanted_is_not_installed() -> None:
    names = {package["name"] for package in PACKAGES}
    assert names.isdisjoint({"litellm", "nvidia-cudnn-cu13"})
    assert {"dspy", "dspy-ai", "tiktoken"} <= names
