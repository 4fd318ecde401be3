from argparse import SUPPRESS, ArgumentParser, _SubParsersAction
from collections.abc import Iterator
from typing import Any

from django.core.management import get_commands, load_command_class
from django.core.management.base import BaseCommand

from pkb.env import BASE_DIR

PAGE = BASE_DIR / "docs" / "reference" / "commands.md"
HEAD = """\
# Commands

Run commands in the program folder, for example `.venv/bin/python manage.py ask --help`.
`manage.py document_commands` writes this page.
"""
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


class Command(BaseCommand):
    help = "Write docs/reference/commands.md, the page of all commands."
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        PAGE.write_text(render_page(), encoding="utf-8")


def render_page() -> str:
    """Return the page of all commands, by group."""
    page = HEAD
    for title, names in GROUPS.items():
        page += f"\n## {title}\n"
        for name in names:
            command = load_command_class(get_commands()[name], name)
            parser = command.create_parser("manage.py", name)
            about = " ".join((parser.description or "").split())
            page += f"\n### {name}\n\n{about}\n" + "".join(_tables(parser))
    return page


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
