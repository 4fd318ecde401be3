from argparse import SUPPRESS, ArgumentParser, _SubParsersAction
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management import get_commands, load_command_class
from django.core.management.base import BaseCommand

from corpus.errors import PkbError
from pkb.env import BASE_DIR, Env

# What follows this line in a page is generated.
MARK = "<!-- `manage.py document` writes what follows -->\n"
GROUPS = {
    "Add and manage documents": (
        "ingest", "sync_source", "rules", "reembed", "fill_token_vectors", "load", "embed",
        "pipeline",
    ),
    "Ask": ("ask", "verify_claim", "mcp"),
    "Run pkb": (
        "serve", "worker", "postgres", "migrate", "load_models", "home", "first_run",
        "ensure_superuser",
    ),
    "Users and keys": ("createsuperuser", "apikey", "audit"),
    "Protect data": ("backup", "restore", "export", "verify", "verify_erasure", "purge"),
    "Measure and tune": (
        "evaluate", "benchmark", "generate_questions", "calibrate", "optimize_answerer",
    ),
}  # fmt: skip
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
    help = "Write the pages of commands, errors and settings in docs/reference."
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        for name in PAGES:
            path_of(name).write_text(render_page(name), encoding="utf-8")


def path_of(name: str) -> Path:
    return BASE_DIR / "docs" / "reference" / f"{name}.md"


def render_page(name: str) -> str:
    """Return a page: its introduction as it is, and the rest from the code."""
    introduction, mark, _ = path_of(name).read_text(encoding="utf-8").partition(MARK)
    return f"{introduction}{mark}\n{PAGES[name]()}"


def list_commands() -> str:
    """Return the commands by group, with their arguments."""
    page = ""
    for title, names in GROUPS.items():
        page += f"## {title}\n\n"
        for name in names:
            command = load_command_class(get_commands()[name], name)
            parser = command.create_parser("manage.py", name)
            about = " ".join((parser.description or "").split())
            page += f"### {name}\n\n{about}\n" + "".join(_tables(parser)) + "\n"
    return page.rstrip() + "\n"


def _tables(parser: ArgumentParser) -> Iterator[str]:
    """Yield the tables of a command's arguments and of its sub-commands."""
    common = {each.dest for each in BaseCommand().create_parser("manage.py", "any")._actions}
    own = [each for each in parser._actions if each.dest not in common and each.help != SUPPRESS]
    rows = ""
    for action in own:
        if isinstance(action, _SubParsersAction):
            for name, each in action.choices.items():
                about = next(one.help for one in action._choices_actions if one.dest == name)
                yield f"\n`{name}`: {about}\n"
                yield from _tables(each)
            continue
        name = ", ".join(action.option_strings)
        metavar = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
        if action.choices:
            metavar = "|".join(map(str, action.choices)).replace("|", "\\|")
        if action.nargs != 0:
            name = f"{name} {metavar}".strip()
        text = parser._get_formatter()._expand_help(action) if action.help else ""
        rows += f"| `{name}` | {' '.join(text.split())} |\n"
    if rows:
        yield "\n| argument | meaning |\n|---|---|\n" + rows


def list_errors() -> str:
    """Return the table of errors, by status."""
    by_code = {each.code: each for each in _subclasses(PkbError)}
    table = "| status | `error` | meaning | `Retry-After` |\n|---|---|---|---|\n"
    for each in sorted(by_code.values(), key=lambda each: (each.status, each.code)):
        meaning = (each.__doc__ or "").strip().splitlines()[0]
        wait = f"{each.retry_after_s} s" if each.retry_after_s else ""
        table += f"| {each.status} | `{each.code}` | {meaning} | {wait} |\n"
    return table


def _subclasses(error: type[PkbError]) -> Iterator[type[PkbError]]:
    """Yield the subclasses in `corpus.errors`, the more general ones last."""
    for each in error.__subclasses__():
        yield from _subclasses(each)
        if each.__module__.startswith("corpus.errors"):
            yield each


def list_settings() -> str:
    """Return the table of settings, in the order of their definition."""
    settings: dict[str, Schema] = Env.model_json_schema()["properties"]
    table = "| name | value | default | what it does |\n|---|---|---|---|\n"
    for name, schema in settings.items():
        default = Env.model_fields[name].default
        if isinstance(default, bool):
            default = str(default).lower()
        elif isinstance(default, Path):
            default = default.relative_to(BASE_DIR)
        value = "unset" if default is None or not str(default) else f"`{default}`"
        table += f"| `{name}` | {_type_and_bounds(schema)} | {value} | {schema['description']} |\n"
    return table


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


PAGES = {"commands": list_commands, "errors": list_errors, "settings": list_settings}
