from argparse import RawDescriptionHelpFormatter
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError, CommandParser

from corpus.errors import InvalidInput, PkbError
from evaluation.datasets import read_dataset
from evaluation.evaluate import Report, ignore_progress
from evaluation.optimize import Compilation, Compiled, optimize_answerer
from qa.answerers.compile import BOOTSTRAP, OPTIMIZERS
from qa.answerers.program_files import StoredProgram, is_program_name, list_programs


class Command(BaseCommand):
    help = (
        "Tune the prompt of PKB_LM with a data set. Save it in PKB_DATA_DIR/programs, unless "
        "it is worse on held-out questions. Exit 0: saved; 1: worse, or a model failed; 2: "
        "wrong usage."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        add = parser.add_argument
        add("dataset", type=Path, nargs="?", metavar="DATASET", help="folder of the data set")
        add(
            "--optimizer", choices=OPTIMIZERS, default=BOOTSTRAP, help="how it is tuned (bootstrap)"
        )
        add("--train", type=int, default=20, metavar="N", help="questions to learn from (20)")
        add("--held-out", type=int, default=20, metavar="N", help="questions to judge by (20)")
        add("--demos", type=int, default=3, metavar="N", help="maximum number of examples (3)")
        add("--k", type=int, default=4, help="passages for each training question (4)")
        add("--seed", type=int, default=0, help="seed of the draw")
        add("--name", default="answer", help="name of the prompt (answer)")
        add("--list", action="store_true", help="list saved prompts")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["list"]:
            for program in list_programs(settings.PKB_PROGRAMS_DIR):
                self.stdout.write(_describe(program))
            return
        try:
            compiled = self._compile(options)
        except (InvalidInput, ImproperlyConfigured) as exc:
            raise CommandError(str(exc), returncode=2) from exc
        except PkbError as exc:
            raise CommandError(str(exc)) from exc
        self._show(compiled)

    def _compile(self, options: dict[str, Any]) -> Compiled:
        _check(options)
        dataset = read_dataset(options["dataset"])
        compilation = Compilation(
            name=options["name"],
            optimizer=options["optimizer"],
            train_count=options["train"],
            held_out_count=options["held_out"],
            demo_count=options["demos"],
            k=options["k"],
            seed=options["seed"],
        )
        report = self._report if options["verbosity"] else ignore_progress
        return optimize_answerer(dataset, compilation=compilation, report=report)

    @property
    def _report(self) -> Report:
        def report(stage: str, done: int, total: int) -> None:
            if done == total or done % max(1, total // 10) == 0:
                self.stderr.write(f"{stage}: {done} of {total}")

        return report

    def _show(self, compiled: Compiled) -> None:
        count = compiled.held_out_count
        self.stdout.write(
            f"right on {count} held-out questions: plain {compiled.plain_right},"
            f" compiled {compiled.compiled_right}"
        )
        if compiled.stored is None:
            self.stderr.write("It got worse and is not kept.")
            raise SystemExit(1)
        self.stdout.write(f"kept: PKB_LM_PROGRAM={compiled.stored.reference}")


def _check(options: dict[str, Any]) -> None:
    if options["dataset"] is None:
        raise InvalidInput("Name a data set folder, or --list.")
    for name in ("train", "held_out", "demos", "k"):
        if options[name] < 1:
            raise InvalidInput(f"--{name.replace('_', '-')} is at least 1.")
    if not is_program_name(options["name"]):
        raise InvalidInput("--name is of letters, digits, _ . -, and ends in no number after a -.")


def _describe(program: StoredProgram) -> str:
    told = program.provenance
    scores = told.get("scores", {})
    return (
        f"{program.reference}  {told.get('created_at')}  {told.get('optimizer')} on"
        f" {told.get('train')} of {told.get('dataset')} for {told.get('model')}:"
        f" {scores.get('plain')} -> {scores.get('compiled')} of {scores.get('of')}"
    )
