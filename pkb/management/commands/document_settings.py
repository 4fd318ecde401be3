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
TYPE_NAMES = {
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
    page = HEAD
    for name, schema in settings.items():
        default = Env.model_fields[name].default
        if isinstance(default, bool):
            default = str(default).lower()
        elif isinstance(default, Path):
            default = default.relative_to(BASE_DIR)
        value = "unset" if default is None or not str(default) else f"`{default}`"
        page += f"| `{name}` | {_type_and_bounds(schema)} | {value} | {schema['description']} |\n"
    return page


def _type_and_bounds(schema: Schema) -> str:
    schema = next((each for each in schema.get("anyOf", ()) if each["type"] != "null"), schema)
    if "enum" in schema:
        return ", ".join(f"`{each}`" for each in schema["enum"])
    type_name = TYPE_NAMES[schema.get("format") or schema["type"]]
    if "maximum" in schema:
        above = schema.get("exclusiveMinimum")
        minimum = schema["minimum"] if above is None else f"above {above}"
        return f"{type_name}, {minimum} to {schema['maximum']}"
    return f"{type_name}, `{schema['pattern']}`" if "pattern" in schema else type_name
