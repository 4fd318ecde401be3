"""Require that every line of the modules that touch no framework was run by a test.

Run it as ``-m tests.pure_coverage`` after a run with ``--cov``.
"""

import sys
import tomllib
from pathlib import Path

from coverage import Coverage

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"
CONTRACT = "Pure modules touch no framework"


def pure_files() -> list[str]:
    """Return patterns of the files that the contract names."""
    contracts = tomllib.loads(PYPROJECT.read_text())["tool"]["importlinter"]["contracts"]
    (modules,) = (each["source_modules"] for each in contracts if each["name"] == CONTRACT)
    places = [module.replace(".", "/") for module in modules]
    return [f"{place}{end}" for place in places for end in (".py", "/*")]


def main() -> None:
    measured = Coverage()
    measured.load()
    share = measured.report(include=pure_files())
    if share < 100:
        sys.exit(f"{share:.2f} % of the lines of the pure modules are run by a test, not 100 %.")


if __name__ == "__main__":
    main()
