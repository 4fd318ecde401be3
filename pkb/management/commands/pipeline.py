import os
import shlex
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from pkb.env import BASE_DIR

PIPELINE = BASE_DIR / "pipelines" / "pipeline.py"
# kfp needs other versions of some packages than pkb.
OWN_PYTHON = BASE_DIR / ".venv-pipelines" / "bin" / "python"


class Command(BaseCommand):
    help = (
        "Run the Kubeflow pipeline of `load` and `embed` on this machine, or write its YAML. "
        "Exit 0: done; 1: a step failed; 2: wrong usage, or kfp is missing."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", nargs="?", type=Path, metavar="PATH", help="the folder to load")
        parser.add_argument("--compile-only", action="store_true", help="write the YAML only")
        parser.add_argument("--output", type=Path, default=Path("pipeline.yaml"), help="YAML file")
        parser.add_argument("--load-image", default="pkb-load:local", help="image of `load`")
        parser.add_argument("--embed-image", default="pkb-embed:local", help="image of `embed`")
        parser.add_argument(
            "--collection", default="default", help="name of the collection (default)"
        )
        parser.add_argument("--tag", action="append", default=[], help="add a tag; repeatable")
        parser.add_argument("--batch-size", type=int, default=32, help="texts at a time")

    def handle(self, *args: Any, **options: Any) -> None:
        if find_spec("kfp") is not None:
            python = sys.executable
        elif OWN_PYTHON.is_file():
            python = str(OWN_PYTHON)
        else:
            raise CommandError(
                "kfp is missing. Install it in its own environment: scripts/install pipelines",
                returncode=2,
            )
        if options["compile_only"]:
            arguments = ["compile", "--output", str(options["output"])]
            for step in ("load", "embed"):
                arguments += [f"--{step}-image", options[f"{step}_image"]]
        else:
            path: Path | None = options["path"]
            if path is None or not path.exists():
                message = (
                    f"No such file: {path}" if path else "Name a folder, or use --compile-only."
                )
                raise CommandError(message, returncode=2)
            arguments = ["run", "--path", str(path.resolve())]
            arguments += ["--root", str(settings.DATA_DIR / "pipelines")]
            arguments += [f"--collection={options['collection']}"]
            arguments += [f"--batch-size={options['batch_size']}"]
            arguments += [f"--tag={tag}" for tag in options["tag"]]
        # Its steps use this `manage.py` and Python.
        manage = shlex.join([sys.executable, str(settings.PKB_MANAGE)])
        run = subprocess.run(  # noqa: S603  (our own file)
            [python, str(PIPELINE), *arguments],
            env={**os.environ, "PIPELINE_MANAGE": manage},
            check=False,
        )
        if run.returncode:
            raise SystemExit(1)
        if options["compile_only"]:
            self.stdout.write(f"Written: {options['output']}")
