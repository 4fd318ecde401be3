import json
from argparse import RawDescriptionHelpFormatter
from dataclasses import asdict, replace
from pathlib import Path
from typing import IO, Any, cast

from django.conf import settings
from django.core.management.base import CommandParser
from rich.console import Console

from corpus.errors import InvalidInput
from corpus.models import Collection
from evaluation.benchmarks.catalogue import BENCHMARKS
from evaluation.benchmarks.scoreboard import (
    fetch_benchmark,
    list_rows,
    measure_benchmark,
    print_scoreboard,
    render_page,
)
from evaluation.collection_benchmark import FLATTERY, make_trials, measure_trials
from evaluation.management.evaluation_command import EvaluationCommand
from qa.context import EXTRACTIVE, LANGUAGE_MODEL, QAContext, build_context

CONSOLE_WIDTH = 200


class Command(EvaluationCommand):
    help = (
        "Measure pkb on public sets, and show its figures beside the published ones. Figures that "
        "are done are kept, so that an interrupted run resumes. With --collection, ask a "
        "collection questions made from its documents, which flatter, and some that it cannot "
        "answer. Exit 0: done; 1: a model failed, or a file cannot be fetched; 2: wrong usage."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        add = parser.add_argument
        names = [benchmark.name for benchmark in BENCHMARKS]
        add("name", nargs="*", metavar="NAME", help=f"default: {', '.join(names)}")
        add("--collection", help="test this collection instead of public sets")
        add("--data", type=Path, metavar="FOLDER",
            help="folder with a folder for each set (PKB_DATA_DIR/benchmarks)")  # fmt: skip
        add("--fetch", action="store_true", help="fetch missing sets (needs PKB_FETCH=https)")
        add("--sample", type=int, metavar="N", help="draw only N questions of each set")
        add("--lm", action="store_true", help="let the language model PKB_LM answer")
        add("--fresh", action="store_true", help="measure again")
        add("--json", type=Path, metavar="FILE", help="write the figures there as JSON")
        add("--html", type=Path, metavar="FILE", help="write a page with plots")

    def handle(self, *args: Any, **options: Any) -> None:
        lm = LANGUAGE_MODEL if options["lm"] else EXTRACTIVE
        context = replace(build_context(lm=lm), caches_answers=False)
        if options["collection"] is not None:
            self._test_collection(options, context)
            return
        known = {benchmark.name: benchmark for benchmark in BENCHMARKS}
        names = options["name"] or list(known)
        if unknown := sorted(set(names) - set(known)):
            raise InvalidInput(f"Unknown set {unknown[0]!r}; use any of {', '.join(known)}.")
        if options["sample"] is not None and options["sample"] < 1:
            raise InvalidInput("--sample is at least 1.")
        for path in filter(None, (options["json"], options["html"])):
            if not path.resolve().parent.is_dir():
                raise InvalidInput(f"There is no folder {path.resolve().parent}.")
        data = options["data"] or settings.DATA_DIR / "benchmarks"
        if options["fetch"]:
            for name in names:
                if not (data / name).is_dir():
                    fetch_benchmark(known[name], data / name)
        found = []
        for name in names:
            measured = measure_benchmark(
                known[name],
                data / name,
                sample=options["sample"],
                is_fresh=options["fresh"],
                context=context,
                report=lambda stage, *counts, name=name: self.report(f"{name}, {stage}", *counts),
            )
            found.append((known[name], measured))
        rows = list_rows(found, answerer=context.answerer.name)
        # Django's OutputWrapper behaves like a file, but is not typed as one.
        file = cast("IO[str]", self.stdout)
        print_scoreboard(rows, console=Console(file=file, width=CONSOLE_WIDTH, highlight=False))
        if options["json"]:
            options["json"].write_text(
                json.dumps(rows, ensure_ascii=False, indent=1) + "\n", encoding="utf-8"
            )
        if options["html"]:
            options["html"].write_text(render_page(rows), encoding="utf-8")

    def _test_collection(self, options: dict[str, Any], context: QAContext) -> None:
        if options["name"] or options["data"] or options["html"] or options["sample"]:
            raise InvalidInput("With --collection, only --lm and --json may be given.")
        collection = Collection.objects.get_named(options["collection"])
        drawn = make_trials(collection, context=context)
        trials = []
        for count, trial in enumerate(drawn, start=1):
            trials.append(trial.ask(collection, context=context))
            self.report("questions", count, len(drawn))
        for label, found, total in measure_trials(trials):
            self.stdout.write(f"{label}: {found} of {total}")
        self.stdout.write(FLATTERY)
        if options["json"]:
            rows = json.dumps([asdict(trial) for trial in trials], ensure_ascii=False, indent=1)
            options["json"].write_text(f"{rows}\n", encoding="utf-8")
