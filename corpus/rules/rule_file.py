"""Read the rules of ``PKB_RULES``: YAML, TOML or JSON."""

import json
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from corpus.errors import InvalidInput
from corpus.rules.conditions import validate_rule

MAX_RULES = 100
MAX_RULE_FILE_BYTES = 2**20

_READERS: Mapping[str, Callable[[str], Any]] = {
    ".yaml": yaml.safe_load, ".yml": yaml.safe_load, ".toml": tomllib.loads, ".json": json.loads,
}  # fmt: skip


def read_rules(path: Path) -> list[dict[str, Any]]:
    """Return the validated rules of a file.

    The file contains a list, or an object with the list ``rules``.

    Raises:
        InvalidInput: The file or a rule is invalid; the message names the file, and the line or
        rule.
    """
    content = _parse(path)
    if isinstance(content, dict) and set(content) == {"rules"}:
        content = content["rules"]
    if not isinstance(content, list):
        raise InvalidInput(f"{path}: must be a list of rules, or `rules:` with such a list.")
    if len(content) > MAX_RULES:
        raise InvalidInput(f"{path}: {len(content)} rules; at most {MAX_RULES} are allowed.")
    rules: list[dict[str, Any]] = []
    for place, entry in enumerate(content, start=1):
        if not isinstance(entry, dict):
            message = f"{path}: rule {place} must be a table with name, conditions and tags."
            raise InvalidInput(message)
        try:
            rules.append(validate_rule(entry))
        except InvalidInput as exc:
            name = f" ({entry['name']!r})" if entry.get("name") else ""
            raise InvalidInput(f"{path}: rule {place}{name}: {exc}") from exc
    names = [rule["name"] for rule in rules]
    duplicates = [name for place, name in enumerate(names) if name in names[:place]]
    if duplicates:
        raise InvalidInput(f"{path}: two rules have the name {duplicates[0]!r}.")
    return rules


def _parse(path: Path) -> Any:
    read = _READERS.get(path.suffix.lower())
    if read is None:
        raise InvalidInput(f"{path}: the file name must end in .yaml, .toml or .json.")
    try:
        with path.open("rb") as file:
            content = file.read(MAX_RULE_FILE_BYTES + 1)
        if len(content) > MAX_RULE_FILE_BYTES:
            raise InvalidInput(f"{path}: it has more than {MAX_RULE_FILE_BYTES:,} bytes.")
        return read(content.decode())
    except OSError as exc:
        raise InvalidInput(f"{path}: {exc.strerror}") from exc
    # Errors of TOML, JSON and UTF-8 are ValueErrors; they and YAML's name the line.
    except (ValueError, RecursionError, yaml.YAMLError) as exc:
        raise InvalidInput(f"{path}: {' '.join(str(exc).split())}") from exc
