from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from pkb.env import Env
from pkb.server_env import BASE_DIR

PAGE = BASE_DIR / "docs" / "reference" / "settings.md"
HEAD = """\
# Settings

Environment variables, or lines of `.env`; the environment goes before the file. An empty value is
unset. An unknown `PKB_` name or a value out of bounds stops the start with one line.
`manage.py document_settings` writes this page from `pkb/env.py`.

| name | value | default | what it does |
|---|---|---|---|
"""
KINDS = {
    "boolean": "`true`, `false`",
    "integer": "whole number",
    "number": "number",
    "password": "secret",
    "path": "path",
    "string": "text",
}

Schema = dict[str, Any]


class Command(BaseCommand):
    help = "Write docs/reference/settings.md, the page of all settings."
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        PAGE.write_text(render_page(), encoding="utf-8")


def render_page() -> str:
    """Return the page of all settings, in the order in which the environment is read."""
    settings: dict[str, Schema] = Env.model_json_schema()["properties"]
    return HEAD + "".join(_render_row(name, schema) for name, schema in settings.items())


def _render_row(name: str, schema: Schema) -> str:
    cells = (f"`{name.upper()}`", _value(schema), _default(name), schema["description"])
    return f"| {' | '.join(cells)} |\n"


def _value(schema: Schema) -> str:
    """Tell type and bounds."""
    given = next((each for each in schema.get("anyOf", ()) if each["type"] != "null"), schema)
    if "enum" in given:
        return ", ".join(f"`{each}`" for each in given["enum"])
    kind = KINDS[given.get("format", given["type"])]
    if "maximum" in given:
        return f"{kind}, {_bounds(given)}"
    return f"{kind}, `{given['pattern']}`" if "pattern" in given else kind


def _bounds(schema: Schema) -> str:
    above = schema.get("exclusiveMinimum")
    least = f"above {above}" if above is not None else f"{schema['minimum']}"
    return f"{least} to {schema['maximum']}"


def _default(name: str) -> str:
    default = Env.model_fields[name].default
    if isinstance(default, bool):
        default = str(default).lower()
    elif isinstance(default, Path):
        default = default.relative_to(BASE_DIR)
    text = "" if default is None else str(default)
    return f"`{text}`" if text else "unset"
