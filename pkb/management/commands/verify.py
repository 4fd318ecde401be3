from time import monotonic
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from corpus.errors import CollectionNotFound
from corpus.invariants import Promises, Step, Verification
from corpus.invariants.kept_place import Reached, forget_reached, keep_reached, read_reached
from corpus.invariants.repairs import repair
from corpus.models import Collection
from evaluation.invariants import PROMISES as OF_EVALUATION
from qa.invariants import PROMISES as OF_ANSWERS

# A run that takes no longer says nothing of how far it is, a longer one so often.
PROGRESS_S = 5.0
PROMISES = Promises(
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
        chosen = _collection(options["collection"])
        reached = read_reached(collection=chosen) if options["resume"] else None
        count, repaired_count = self._run(chosen, reached, is_repairing=options["repair"])
        repaired = f", {repaired_count} repaired" if options["repair"] else ""
        self.stdout.write(f"{count} violations{repaired}")
        if count > repaired_count:
            raise SystemExit(1)

    def _run(
        self, chosen: Collection | None, reached: Reached | None, *, is_repairing: bool
    ) -> tuple[int, int]:
        place = reached.place if reached else None
        count = reached.violation_count if reached else 0
        repaired_count = 0
        progress = _Progress(self)
        for step in Verification(PROMISES, collection=chosen, place=place).steps():
            for violation in step.found:
                self.stdout.write(str(violation))
            self.stdout.flush()
            count += len(step.found)
            if is_repairing:
                repaired_count += self._repair(step)
            if step.place:
                keep_reached(Reached(step.place, count - repaired_count), collection=chosen)
            progress.add(step)
        forget_reached()
        return count, repaired_count

    def _repair(self, step: Step) -> int:
        """Return how many violations of a step are repaired."""
        ended = list(repair(step.found))
        for done in dict.fromkeys(each.done for each in ended if each.done):
            self.stdout.write(f"repaired: {done}")
        for each in ended:
            if not each.done:
                self.stdout.write(f"left: {each.violation}: {each.reason}")
        return sum(bool(each.done) for each in ended)


class _Progress:
    """Says on stderr how many chunks are checked."""

    def __init__(self, command: BaseCommand) -> None:
        self._command = command
        self._told_at = monotonic()
        self._chunk_count = 0

    def add(self, step: Step) -> None:
        self._chunk_count += step.chunk_count
        if monotonic() - self._told_at > PROGRESS_S:
            self._told_at = monotonic()
            what = f"{self._chunk_count:,} chunks" if step.place else "all chunks; now the rest"
            self._command.stderr.write(f"checked {what}")


def _collection(name: str | None) -> Collection | None:
    try:
        return Collection.objects.named(name) if name else None
    except CollectionNotFound as exc:
        raise CommandError(str(exc), returncode=2) from exc
