from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from corpus.errors import InvalidInput
from corpus.models import Rule
from corpus.rules import active_rules
from corpus.rules.conditions import CONDITIONS
from corpus.rules.matching import apply_rule, preview_rule
from corpus.rules.rule_file import read_rules


class Command(BaseCommand):
    help = (
        "List rules, with the number of documents that match each and of those that lack a "
        "tag of it. Exit 2: wrong usage, or an invalid file."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--try", dest="file", type=Path, help="test the rules of this file without saving them"
        )
        parser.add_argument("--apply", action="store_true", help="tag existing documents now")

    def handle(self, *args: Any, **options: Any) -> None:
        file: Path | None = options["file"]
        try:
            # The rules of a file match as they would in PKB_RULES.
            rules = (
                [Rule(**fields, is_set=True) for fields in read_rules(file)]
                if file
                else active_rules()
            )
        except InvalidInput as exc:
            raise CommandError(str(exc), returncode=2) from exc
        for rule in rules:
            preview = preview_rule(rule)
            conditions = ", ".join(
                f"{field} {value if isinstance(value, str) else ' + '.join(value)}"
                for field, value in ((field, getattr(rule, field)) for field in CONDITIONS)
                if value
            )
            # A rule of a file that is tested is not stored.
            origin = "" if rule._state.adding or not rule.is_set else " (PKB_RULES)"
            into = f", into {rule.collection}" if rule.collection else ""
            tags = ", ".join(rule.tags) or "no tag"
            self.stdout.write(f"{rule.name}{origin}: {conditions} -> {tags}{into}")
            counts = f"{preview.matching_count} documents, {preview.changing_count} would get tags"
            self.stdout.write(f"    {counts}")
            is_trial = file is not None and not options["apply"]
            for document, new_tags in preview.documents if is_trial else []:
                self.stdout.write(f"    {document.name}: {', '.join(new_tags) or 'has all tags'}")
        self.stdout.write(f"{len(rules)} rules")
        if options["apply"]:
            count = sum(apply_rule(rule) for rule in rules)
            self.stdout.write(f"{count} documents tagged")
