from argparse import RawDescriptionHelpFormatter
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from corpus.errors import InvalidInput
from evaluation.datasets import read_dataset
from evaluation.management.evaluation_command import EvaluationCommand
from evaluation.optimize import optimize_answerer
from qa.answerers.lm_settings import PROGRAM_NAME


class Command(EvaluationCommand):
    help = (
        "Tune the prompt of PKB_LM with a data set. Save it in PKB_DATA_DIR/programs, unless "
        "it is worse on held-out questions. Exit 0: saved; 1: worse, or a model failed; 2: "
        "wrong usage."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        add = parser.add_argument
        add("dataset", type=Path, metavar="DATASET", help="folder of the data set")
        add("--train", type=int, default=20, metavar="N", help="questions to learn from (20)")
        add("--held-out", type=int, default=20, metavar="N", help="questions to judge by (20)")
        add("--demos", type=int, default=3, metavar="N", help="maximum number of examples (3)")
        add("--seed", type=int, default=0, help="seed of the draw")
        add("--name", default="answer", help="name of the prompt (answer)")

    def handle(self, *args: Any, **options: Any) -> None:
        for name in ("train", "held_out", "demos"):
            if options[name] < 1:
                raise InvalidInput(f"--{name.replace('_', '-')} is at least 1.")
        if not PROGRAM_NAME.fullmatch(options["name"]):
            raise InvalidInput("--name is of letters, digits, _ . -.")
        optimization = optimize_answerer(
            read_dataset(options["dataset"]),
            name=options["name"],
            train_count=options["train"],
            held_out_count=options["held_out"],
            demo_count=options["demos"],
            seed=options["seed"],
            report=self.report,
        )
        self.stdout.write(
            f"right on {options['held_out']} held-out questions:"
            f" plain {optimization.plain_right}, compiled {optimization.compiled_right}"
        )
        if not optimization.is_saved:
            self.stderr.write("It got worse and is not kept.")
            raise SystemExit(1)
        self.stdout.write(f"kept: PKB_LM_PROGRAM={options['name']}")
