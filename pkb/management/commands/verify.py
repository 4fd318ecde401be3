from dataclasses import replace
from time import monotonic
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from corpus.errors import CollectionNotFound
from corpus.invariants import Invariants, check_in_steps
from corpus.invariants.repair import repair
from corpus.invariants.run_checks import START
from corpus.invariants.saved_checkpoint import delete_checkpoint, read_checkpoint, save_checkpoint
from corpus.models import Collection
from evaluation.invariants import INVARIANTS as OF_EVALUATION
from qa.invariants import INVARIANTS as OF_ANSWERS

# Interval of progress messages.
PROGRESS_S = 5.0
INVARIANTS = Invariants(
    tables={**OF_ANSWERS.tables, **OF_EVALUATION.tables},
    quotes=[*OF_ANSWERS.quotes, *OF_EVALUATION.quotes],
)


class Command(BaseCommand):
    help = (
        "Check all stored data while pkb runs, and print every inconsistency. Exit 0: none, "
        "or all repaired; 1: some; 2: wrong usage."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--collection", metavar="NAME", help="only this collection")
        parser.add_argument(
            "--resume",
            action="store_true",
            help="continue an interrupted run",
        )
        parser.add_argument(
            "--repair",
            action="store_true",
            help="rebuild what follows from the stored texts; list the rest",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        name = options["collection"]
        try:
            collection = Collection.objects.get_named(name) if name else None
        except CollectionNotFound as exc:
            raise CommandError(str(exc), returncode=2) from exc
        start = read_checkpoint(collection=collection) if options["resume"] else START
        count = start.violation_count
        repaired_count = chunk_count = 0
        printed_at = monotonic()
        for step in check_in_steps(INVARIANTS, collection=collection, checkpoint=start):
            for violation in step.violations:
                self.stdout.write(str(violation))
            self.stdout.flush()
            count += len(step.violations)
            if options["repair"]:
                results = list(repair(step.violations))
                for action in dict.fromkeys(each.done for each in results if each.done):
                    self.stdout.write(f"repaired: {action}")
                for each in results:
                    if not each.done:
                        self.stdout.write(f"left: {each.violation}: {each.reason}")
                repaired_count += sum(bool(each.done) for each in results)
            if step.checkpoint:
                checkpoint = replace(step.checkpoint, violation_count=count - repaired_count)
                save_checkpoint(checkpoint, collection=collection)
            chunk_count += step.chunk_count
            if monotonic() - printed_at > PROGRESS_S:
                printed_at = monotonic()
                chunks = f"{chunk_count:,} chunks"
                progress = chunks if step.checkpoint else "all chunks; other data follows"
                self.stderr.write(f"checked {progress}")
        delete_checkpoint()
        repaired = f", {repaired_count} repaired" if options["repair"] else ""
        self.stdout.write(f"{count} violations{repaired}")
        if count > repaired_count:
            raise SystemExit(1)
