import json
from argparse import RawDescriptionHelpFormatter
from pathlib import Path
from random import Random
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError, CommandParser

from corpus.errors import InvalidInput, PkbError
from corpus.packages import check_packages
from evaluation.datasets import DataSet, read_dataset, sample_dataset
from evaluation.fit_confidence import ALWAYS_SURE, Point, fit_calibration, gather_points
from qa.context import EXTRACTIVE, LANGUAGE_MODEL, build_context, get_answerer
from qa.grounding.confidence import draft_key, write_calibration
from qa.readers import get_reader

DEFAULT_FILE = "calibration.json"


class Command(BaseCommand):
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
        try:
            self._handle(options)
        except (InvalidInput, ImproperlyConfigured) as exc:
            raise CommandError(str(exc), returncode=2) from exc
        except PkbError as exc:
            raise CommandError(str(exc)) from exc

    def _handle(self, options: dict[str, Any]) -> None:
        check_packages("sklearn")
        self._lm = LANGUAGE_MODEL if options["lm"] else EXTRACTIVE
        answerer = get_answerer(self._lm)
        whole = [read_dataset(folder) for folder in options["dataset"]]
        sets = [
            sample_dataset(
                each,
                query_count=options["queries"],
                document_count=options["docs"],
                seed=options["seed"],
            )
            for each in whole
        ]
        points = [point for each in sets for point in self._gather(each, sets, options)]
        calibration = fit_calibration(points, names=[each.name for each in sets])
        path = options["write"] or settings.DATA_DIR / DEFAULT_FILE
        reader = get_reader().name
        key = draft_key(reader, answerer.name) if options["lm"] else reader
        write_calibration(path, key, calibration)
        self.stdout.write(json.dumps(dict(calibration.provenance), indent=2))
        self.stdout.write(f"Written to {path}; PKB_CALIBRATION names the file that is used.")

    def _gather(
        self, dataset: DataSet, sets: list[DataSet], options: dict[str, Any]
    ) -> list[Point]:
        texts = [
            q.text
            for other in sets
            if other is not dataset
            for q in (other.questions or other.queries)
        ]
        count = min(len(texts), options["foreign"])
        drawn = Random(options["seed"]).sample(texts, count)  # noqa: S311  (no secret)

        def show(done: int, total: int) -> None:
            if done % 50 == 0 or done == total:
                self.stderr.write(f"{dataset.name}: {done} of {total} questions")

        return gather_points(
            dataset,
            foreign=drawn,
            context=build_context(lm=self._lm, calibration=ALWAYS_SURE),
            progress=show,
        )
