from time import monotonic
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from corpus.errors import CollectionNotFound
from corpus.invariants import Promises, Step, Verification
from corpus.invariants.kept_place import Reached, forget_reached, keep_reached, read_reached
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
        "Check every stored promise while all goes on; print what breaks one. Broken off, it goes"
        " on with --resume. Exit 0: nothing is broken; 1: something is; 2: wrong usage."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--collection", metavar="NAME", help="only this one, and what belongs to it"
        )
        parser.add_argument(
            "--resume",
            action="store_true",
            help="go on where the last run of the same choice was broken off, if one was",
        )

    def handle(
        self, *args: Any, collection: str | None, resume: bool = False, **options: Any
    ) -> None:
        chosen = _collection(collection)
        reached = read_reached(collection=chosen) if resume else None
        count = self._run(chosen, reached)
        self.stdout.write(f"{count} violations")
        if count:
            raise SystemExit(1)

    def _run(self, chosen: Collection | None, reached: Reached | None) -> int:
        place = reached.place if reached else None
        count = reached.violation_count if reached else 0
        progress = _Progress(self)
        for step in Verification(PROMISES, collection=chosen, place=place).steps():
            for violation in step.found:
                self.stdout.write(str(violation))
            self.stdout.flush()
            count += len(step.found)
            if step.place:
                keep_reached(Reached(step.place, count), collection=chosen)
            progress.add(step)
        forget_reached()
        return count


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
