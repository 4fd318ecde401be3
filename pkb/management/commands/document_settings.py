from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from pkb.env import BASE_DIR, Env

PAGE = BASE_DIR / "docs" / "reference" / "settings.md"
HEAD = """\
# Settings

Set these as environment variables or as lines of `.env`; the environment overrides the file. An
empty value counts as unset. If a `PKB_` name is unknown or a value is out of bounds, pkb does not
start and prints one line.
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
    """Return the page of all settings, in the order of their definition."""
    settings: dict[str, Schema] = Env.model_json_schema()["properties"]
    return HEAD + "".join(_render_row(name, schema) for name, schema in settings.items())


def _render_row(name: str, schema: Schema) -> str:
    cells = (f"`{name.upper()}`", _value(schema), _default(name), schema["description"])
    return f"| {' | '.join(cells)} |\n"


def _value(schema: Schema) -> str:
    """Return the type and bounds of a setting."""
    found = next((each for each in schema.get("anyOf", ()) if each["type"] != "null"), schema)
    if "enum" in found:
        return ", ".join(f"`{each}`" for each in found["enum"])
    kind = KINDS[found.get("format", found["type"])]
    if "maximum" in found:
        return f"{kind}, {_bounds(found)}"
    return f"{kind}, `{found['pattern']}`" if "pattern" in found else kind


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
