import json
from argparse import RawDescriptionHelpFormatter
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any, cast

from django.conf import settings
from django.core.management.base import CommandParser
from django.test.utils import override_settings
from rich.console import Console

from corpus.errors import InvalidInput
from corpus.models import Collection
from corpus.packages import check_packages
from evaluation.comparison import compare, find_regressions, make_baseline
from evaluation.datasets import (
    DataSet,
    GoldQuestion,
    draw_foreign_questions,
    read_dataset,
    sample_dataset,
)
from evaluation.evaluate import evaluate_dataset
from evaluation.management.evaluation_command import EvaluationCommand
from evaluation.questions import read_accepted
from evaluation.reports import print_differences, print_result, write_report
from evaluation.results import MODES, Result
from pkb.product_settings import settings_with

# The maximum of /answer.
MAX_K = 50
# Wide enough for the widest table if the output is not a terminal.
CONSOLE_WIDTH = 130


class Command(EvaluationCommand):
    help = (
        "Measure search, answers, quotes and confidence with a data set. Exit 0: done; 1: "
        "worse than the baseline, or a model failed; 2: wrong usage."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        add = parser.add_argument
        add("dataset", type=Path, nargs="?", metavar="DATASET", help="folder of the data set")
        add("--collection", metavar="C", help="use the accepted questions of a collection instead")
        add("--k", type=int, help="passages of an answer and k of recall@k; default: RETRIEVAL_K")
        add("--json", action="store_true", help="print the result as JSON")
        add("--report", type=Path, metavar="DIR", help="write report, plots and JSON there, too")
        add("--queries", type=int, metavar="N", help="draw only N queries and questions")
        add("--docs", type=int, metavar="N", help="draw only N documents, those needed first")
        add("--seed", type=int, default=0, help="seed of the draw")
        add("--mode", default="", help=f"any of {', '.join(MODES)}; default: all")
        add(
            "--foreign",
            type=Path,
            metavar="DATASET",
            help="also ask the questions of another data set",
        )
        add("--fresh", action="store_true", help="ingest the documents again")
        pairs: dict[str, Any] = {"nargs": "+", "action": "extend", "default": []}
        add("--set", metavar="SETTING=VALUE", help="change a setting", **pairs)
        add(
            "--compare",
            metavar="SETTING=VALUE",
            help="run a second time with these settings",
            **pairs,
        )
        add(
            "--against",
            type=Path,
            metavar="FILE",
            help="exit 1 if a result is worse than this baseline",
        )
        add("--write-baseline", type=Path, metavar="FILE", help="write a baseline")

    def handle(self, *args: Any, **options: Any) -> None:
        # Django's OutputWrapper behaves like a file, but is not typed as one.
        file = cast("IO[str]", self.stdout)
        self.console = Console(file=file, width=CONSOLE_WIDTH, highlight=False)
        check_packages("pytrec_eval", "matplotlib")
        _check(options)
        modes = tuple(mode.strip() for mode in options["mode"].split(",") if mode.strip())
        unknown = [mode for mode in modes if mode not in MODES]
        if unknown:
            raise InvalidInput(f"Unknown mode {unknown[0]!r}; use any of {', '.join(MODES)}.")
        dataset, collection, notes = _read_questions(options)
        foreign: tuple[GoldQuestion, ...] = ()
        if options["foreign"] is not None:
            source = read_dataset(options["foreign"])
            foreign = draw_foreign_questions(source, count=options["queries"], seed=options["seed"])
        baseline = _read_baseline(options["against"])
        changes, others = _read_pairs(options["set"]), _read_pairs(options["compare"])
        # Check both before anything runs: an error in the second must not waste the first run.
        first, second = settings_with(changes), settings_with({**changes, **others})

        def evaluate(changes: Mapping[str, str], values: Mapping[str, Any]) -> Result:
            with override_settings(**values):
                return evaluate_dataset(
                    dataset,
                    collection=collection,
                    k=options["k"] or settings.PKB_RETRIEVAL_K,
                    modes=modes,
                    is_fresh=options["fresh"],
                    foreign=foreign,
                    changes=changes,
                    notes=notes,
                    report=self.report,
                )

        result = evaluate(changes, first)
        if others:
            self._show_comparison(result, evaluate({**changes, **others}, second), options)
        else:
            write_report(result, Path(settings.PKB_EVALUATIONS_DIR) / result.dataset)
            self._show(result, options)
        if path := options["write_baseline"]:
            previous = _read_baseline(path) if path.is_file() else None
            new = make_baseline(result, previous=previous)
            path.write_text(json.dumps(new, indent=1) + "\n", encoding="utf-8")
        regressions = find_regressions(baseline, result) if baseline is not None else []
        for regression in regressions:
            self.stderr.write(f"fell: {regression}")
        if regressions:
            raise SystemExit(1)

    def _show(self, result: Result, options: dict[str, Any]) -> None:
        if options["report"]:
            write_report(result, options["report"])
        if options["json"]:
            self.stdout.write(json.dumps(asdict(result), ensure_ascii=False, indent=2))
        else:
            print_result(result, console=self.console)

    def _show_comparison(self, before: Result, after: Result, options: dict[str, Any]) -> None:
        differences = compare(before.observations, after.observations)
        if options["report"]:
            write_report(before, options["report"] / "before")
            write_report(after, options["report"] / "after")
        if options["json"]:
            rows = [
                {name: getattr(each, name) for name in (*each.__slots__, "change")}
                for each in differences
            ]
            results = {"before": asdict(before), "after": asdict(after), "differences": rows}
            self.stdout.write(json.dumps(results, ensure_ascii=False, indent=2))
        else:
            for result in (before, after):
                print_result(result, console=self.console)
            print_differences(differences, console=self.console)


def _read_questions(options: dict[str, Any]) -> tuple[DataSet, Collection | None, list[str]]:
    """Return a data set, the collection to ask instead of its documents, and notes for readers."""
    size = {"query_count": options["queries"], "seed": options["seed"]}
    if options["collection"] is None:
        complete = read_dataset(options["dataset"])
        return sample_dataset(complete, document_count=options["docs"], **size), None, []
    collection = Collection.objects.get_named(options["collection"])
    accepted, stale_count = read_accepted(collection)
    notes = [f"{stale_count} questions are skipped because their documents changed."]
    sample = sample_dataset(accepted, document_count=None, **size)
    return sample, collection, notes if stale_count else []


def _check(options: dict[str, Any]) -> None:
    for name in ("queries", "docs"):
        if options[name] is not None and options[name] < 1:
            raise InvalidInput(f"--{name} must be at least 1.")
    if (options["dataset"] is None) == (options["collection"] is None):
        raise InvalidInput("Name a data set folder or a --collection.")
    if options["k"] is not None and not 1 <= options["k"] <= MAX_K:
        raise InvalidInput(f"--k must be 1 to {MAX_K}.")


def _read_pairs(pairs: list[str]) -> dict[str, str]:
    changes = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise InvalidInput(f"{pair!r} is not SETTING=VALUE.")
        changes[name.upper()] = value
    return changes


def _read_baseline(path: Path | None) -> Mapping[str, Any] | None:
    if path is None:
        return None
    try:
        baseline = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as exc:
        raise InvalidInput(f"--against {path}: {exc}") from exc
    if not isinstance(baseline, dict):
        raise InvalidInput(f"--against {path}: is not a JSON object.")
    return baseline
