import json
from argparse import RawDescriptionHelpFormatter
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from corpus.packages import check_packages
from evaluation.datasets import read_dataset, sample_dataset
from evaluation.fit_confidence import ALWAYS_SURE, fit_calibration, gather_points
from evaluation.management.evaluation_command import EvaluationCommand
from qa.context import EXTRACTIVE, LANGUAGE_MODEL, build_context, get_answerer
from qa.grounding.confidence import draft_key, write_calibration
from qa.readers import get_reader

DEFAULT_FILE = "calibration.json"


class Command(EvaluationCommand):
    # A reader without a calibration is refused by a check: here it gets one.
    requires_system_checks = ()
    help = (
        "Fit the confidence of answers with data sets, and write it to a file for "
        "PKB_CALIBRATION. With --lm, fit the confidence of answers by the language model "
        "PKB_LM."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        add = parser.add_argument
        add("dataset", type=Path, nargs="+", metavar="DATASET", help="folder of a data set")
        add("--queries", type=int, metavar="N", help="ask only N questions of each data set")
        add(
            "--foreign",
            type=int,
            default=300,
            metavar="N",
            help="questions of other data sets for each",
        )
        add("--docs", type=int, metavar="N", help="use only N documents, those needed first")
        add("--lm", action="store_true", help="fit answers of the language model")
        add("--seed", type=int, default=0, help="seed of the draw")
        add("--write", type=Path, metavar="FILE", help="default: calibration.json in PKB_DATA_DIR")

    def handle(self, *args: Any, **options: Any) -> None:
        check_packages("sklearn")
        lm = LANGUAGE_MODEL if options["lm"] else EXTRACTIVE
        answerer = get_answerer(lm)
        counts = {"query_count": options["queries"], "document_count": options["docs"]}
        sets = [
            sample_dataset(read_dataset(folder), **counts, seed=options["seed"])
            for folder in options["dataset"]
        ]
        context = build_context(lm=lm, calibration=ALWAYS_SURE)
        points = []
        for dataset in sets:
            others = [other for other in sets if other is not dataset]
            texts = [q.text for other in others for q in (other.questions or other.queries)]
            count = min(len(texts), options["foreign"])
            foreign = Random(options["seed"]).sample(texts, count)  # noqa: S311  (no secret)
            progress = partial(self._show, dataset.name)
            points += gather_points(dataset, foreign=foreign, context=context, progress=progress)
        calibration = fit_calibration(points, names=[each.name for each in sets])
        path = options["write"] or settings.DATA_DIR / DEFAULT_FILE
        reader = get_reader().name
        key = draft_key(reader, answerer.name) if options["lm"] else reader
        write_calibration(path, key, calibration)
        self.stdout.write(json.dumps(dict(calibration.provenance), indent=2))
        self.stdout.write(f"Written to {path}; PKB_CALIBRATION names the file that is used.")

    def _show(self, name: str, done: int, total: int) -> None:
        if done % 50 == 0 or done == total:
            self.stderr.write(f"{name}: {done} of {total} questions")
