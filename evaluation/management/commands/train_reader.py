import hashlib
import json
from argparse import RawDescriptionHelpFormatter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from corpus.embedders.model_files import find_model
from corpus.errors import InvalidDataSet, InvalidInput, PkbError
from evaluation.datasets import FILES, read_dataset
from evaluation.reader_rows import ReaderRow, make_rows

if TYPE_CHECKING:
    from evaluation.train_reader import Recipe, Trained

DEFAULT_FILE = "reader.safetensors"


class Command(BaseCommand):
    help = (
        "Train the model of PKB_READER with data sets, and write its weights to a file. If "
        "interrupted, run it again with the same arguments: it resumes."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        add = parser.add_argument
        add("dataset", type=Path, nargs="+", metavar="DATASET", help="folder of a data set")
        add("--epochs", type=int, default=3, metavar="N", help="passes over all rows (3)")
        add("--batch", type=int, default=64, metavar="N", help="rows in a step (64)")
        add("--seed", type=int, default=0, help="random seed")
        add("--write", type=Path, metavar="FILE", help=f"default: {DEFAULT_FILE} in PKB_DATA_DIR")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            self._handle(options)
        except InvalidInput as exc:
            raise CommandError(str(exc), returncode=2) from exc
        except PkbError as exc:
            raise CommandError(str(exc)) from exc

    def _handle(self, options: dict[str, Any]) -> None:
        path: Path = options["write"] or settings.DATA_DIR / DEFAULT_FILE
        if path.suffix != ".safetensors":
            raise InvalidInput("must end with .safetensors, for PKB_READER.", field="write")
        if min(options["epochs"], options["batch"]) < 1:
            raise InvalidInput("--epochs and --batch are 1 at least.")
        rows = _make_rows(options["dataset"], seed=options["seed"])
        self.stderr.write(f"{len(rows)} rows, {sum(row.is_answered for row in rows)} answered")
        # Imports torch, which is of no use before there is something to learn from.
        from evaluation.train_reader import Recipe, train_reader  # noqa: PLC0415

        recipe = Recipe(epochs=options["epochs"], batch_size=options["batch"], seed=options["seed"])
        trained = train_reader(
            rows,
            # The reader and the judge are one graph.
            folder=find_model(settings.PKB_JUDGE_MODEL),
            checkpoints=settings.DATA_DIR / "training",
            recipe=recipe,
            progress=self._show,
        )
        _write(path, trained, recipe, rows, options["dataset"])
        self.stdout.write(f"Written to {path}; PKB_READER names the file that is used.")

    def _show(self, done: int, total: int) -> None:
        if done % 50 == 0 or done == total:
            self.stderr.write(f"{done} of {total} steps")


def _make_rows(folders: Sequence[Path], *, seed: int) -> list[ReaderRow]:
    rows = [row for folder in folders for row in make_rows(read_dataset(folder), seed=seed)]
    if len({row.is_answered for row in rows}) < 2:  # noqa: PLR2004
        raise InvalidDataSet("A reader learns from questions with and without an answer.")
    return rows


def _write(
    path: Path,
    trained: "Trained",
    recipe: "Recipe",
    rows: Sequence[ReaderRow],
    folders: Sequence[Path],
) -> None:
    """Write the weights, and what they come from."""
    from safetensors.numpy import save_file  # noqa: PLC0415  (heavy)

    path.parent.mkdir(parents=True, exist_ok=True)
    save_file(trained.weights, path)
    told = {
        "sha256": _sha256(path),
        "graph_sha256": _sha256(find_model(settings.PKB_JUDGE_MODEL) / "model.onnx"),
        "recipe": asdict(recipe),
        "rows": len(rows),
        "rows_sha256": hashlib.sha256("\n".join(map(repr, rows)).encode()).hexdigest(),
        "data": {folder.resolve().name: _file_hashes(folder) for folder in folders},
    }
    path.with_suffix(".json").write_text(json.dumps(told, indent=2) + "\n")


def _file_hashes(folder: Path) -> dict[str, str]:
    found = (folder / f"{name}{end}" for name in FILES for end in (".jsonl", ".jsonl.gz"))
    return {path.name: _sha256(path) for path in found if path.is_file()}


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
