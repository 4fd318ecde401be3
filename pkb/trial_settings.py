"""Compute settings for other environment variables, to compare configurations."""

import os
import runpy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from corpus.errors import InvalidInput
from pkb.env import Env

SETTINGS = Path(__file__).with_name("settings.py")


def settings_with(environment: Mapping[str, str]) -> dict[str, Any]:
    """Return the settings that change if these variables are set, with their new values.

    The settings module is evaluated again, so bounds and derived settings apply.

    Raises:
        InvalidInput: A name is unknown, a value is out of bounds, or the setting cannot change
            while the process runs.
    """
    for name in environment:
        if name.lower() not in Env.model_fields:
            raise InvalidInput(f"Unknown setting {name} (see docs/reference/settings.md).")
    if not environment:
        return {}
    before, after = _work_out({}), _work_out(environment)
    changed = {name: value for name, value in after.items() if value != before[name]}
    changed.pop("LOGGING", None)  # contains new objects each time
    fixed = [name for name in changed if not name.startswith("PKB_")]
    if fixed or changed.keys() & {"PKB_POSTGRES_DIR", "PKB_EVALUATIONS_DIR"}:
        names = ", ".join(environment)
        raise InvalidInput(f"{names}: cannot be changed for one run.")
    return changed


def _work_out(environment: Mapping[str, str]) -> dict[str, Any]:
    with _environment(environment):
        try:
            found = runpy.run_path(str(SETTINGS))
        except SystemExit as exc:
            raise InvalidInput(str(exc)) from exc
    return {name: value for name, value in found.items() if name.isupper()}


@contextmanager
def _environment(changes: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update({name.upper(): value for name, value in changes.items()})
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
