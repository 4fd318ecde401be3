from typing import Any

from django.core.management.base import BaseCommand

from corpus import invariants as corpus_invariants
from qa import invariants as qa_invariants


class Command(BaseCommand):
    help = "Check every stored invariant; print what breaks one; exit 1 if anything does."
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        count = 0
        for find in (corpus_invariants.find_violations, qa_invariants.find_violations):
            for violation in find():
                count += 1
                self.stdout.write(violation)
        self.stdout.write(f"{count} violations")
        if count:
            raise SystemExit(1)
