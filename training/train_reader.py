"""Train a reader's adapter and heads with data sets; an interrupted run resumes.

    python -m training.train_reader DATASET... [--epochs N] [--batch N] [--seed N] [--write FILE]

Exit 0: written; 1: a model or checkpoint is broken; 2: wrong usage.
"""

import hashlib
import json
import math
import os
import pickle
import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from django.conf import settings
from safetensors.numpy import save_file
from torch.nn import functional

from corpus.embedders.model_sources import find_model
from corpus.embedders.tokens import load_tokenizer
from corpus.errors import BackendError, InvalidDataSet, PkbError
from evaluation.datasets import FILES, read_dataset
from evaluation.results import Progress
from qa.readers.adapter import Weights
from qa.readers.cross_encoder_reader import MAX_SPAN_TOKENS, Pair, encode_pairs
from qa.readers.quantized_graph import QuantizedGraph
from training.reader_model import Outputs, ReaderModel
from training.reader_rows import ReaderRow, make_rows

if TYPE_CHECKING:
    from tokenizers import Tokenizer

WEIGHT_DECAY = 0.01
WARM_UP_SHARE = 0.1
MAX_GRADIENT_NORM = 1.0
# Weights of the span losses relative to the logit loss.
QUESTION_SHARE, SPAN_SHARE = 0.5, 0.25
# Caps a span loss, so that a wrong label does not dominate a batch.
MAX_SPAN_LOSS = 50.0
# Batches sorted by length together: little padding, but still mixed.
_SORTED_BATCHES = 16
_OUT = -1e4


@dataclass(frozen=True, slots=True)
class Recipe:
    """Training options.

    Attributes:
        headings: Share of passages with their heading in front.
        save_every: Steps between checkpoints.
    """

    epochs: int = 3
    batch_size: int = 64
    learning_rate: float = 1.2e-3
    headings: float = 0.4
    seed: int = 0
    save_every: int = 20


class Trained(NamedTuple):
    """
    Attributes:
        losses: Losses of this run's steps, in order.
    """

    weights: Weights
    losses: list[float]


class _Example(NamedTuple):
    """A tokenized row; ``starts`` and ``ends`` are allowed answer tokens, None if unknown."""

    pair: Pair
    row: ReaderRow
    starts: list[int] | None
    ends: list[int] | None


def main(arguments: Sequence[str] | None = None) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pkb.settings")
    parser = ArgumentParser(
        prog="python -m training.train_reader",
        description="Train the model of PKB_READER with data sets, and write its weights to a"
        " file. If interrupted, run it again with the same arguments: it resumes.",
    )
    add = parser.add_argument
    add("dataset", type=Path, nargs="+", metavar="DATASET", help="folder of a data set")
    add("--epochs", type=int, default=3, metavar="N", help="passes over all rows (3)")
    add("--batch", type=int, default=64, metavar="N", help="rows in a step (64)")
    add("--seed", type=int, default=0, help="random seed")
    add("--write", type=Path, metavar="FILE", help="default: reader.safetensors in PKB_DATA_DIR")
    options = parser.parse_args(arguments)
    path: Path = options.write or settings.DATA_DIR / "reader.safetensors"
    if path.suffix != ".safetensors":
        parser.error("--write must end with .safetensors, for PKB_READER.")
    if min(options.epochs, options.batch) < 1:
        parser.error("--epochs and --batch must be at least 1.")
    recipe = Recipe(epochs=options.epochs, batch_size=options.batch, seed=options.seed)
    try:
        rows = _read_rows(options.dataset, seed=options.seed)
        sys.stderr.write(f"{len(rows)} rows, {sum(row.is_answered for row in rows)} answered\n")
        # The reader and the judge are one graph.
        folder = find_model(settings.PKB_JUDGE_MODEL)
        trained = train_reader(
            rows,
            folder=folder,
            checkpoints=settings.DATA_DIR / "training",
            recipe=recipe,
            progress=_show_progress,
        )
    except InvalidDataSet as exc:
        parser.error(str(exc))
    except PkbError as exc:
        sys.exit(str(exc))
    path.parent.mkdir(parents=True, exist_ok=True)
    save_file(trained.weights, path)
    provenance = {
        "sha256": _sha256(path),
        "graph_sha256": _sha256(folder / "model.onnx"),
        "recipe": asdict(recipe),
        "rows": len(rows),
        "rows_sha256": hashlib.sha256("\n".join(map(repr, rows)).encode()).hexdigest(),
        "data": {dataset.resolve().name: _file_hashes(dataset) for dataset in options.dataset},
    }
    path.with_suffix(".json").write_text(json.dumps(provenance, indent=2) + "\n")
    sys.stdout.write(f"Written to {path}; PKB_READER names the file that is used.\n")


def _read_rows(folders: Sequence[Path], *, seed: int) -> list[ReaderRow]:
    rows = [row for folder in folders for row in make_rows(read_dataset(folder), seed=seed)]
    if len({row.is_answered for row in rows}) != len((True, False)):
        raise InvalidDataSet("A reader learns from questions with and without an answer.")
    return rows


def _show_progress(done: int, total: int) -> None:
    if done % 50 == 0 or done == total:
        sys.stderr.write(f"{done} of {total} steps\n")


def _file_hashes(folder: Path) -> dict[str, str]:
    paths = [folder / f"{name}{suffix}" for name in FILES for suffix in (".jsonl", ".jsonl.gz")]
    return {path.name: _sha256(path) for path in paths if path.is_file()}


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def train_reader(
    rows: Sequence[ReaderRow],
    *,
    folder: Path,
    checkpoints: Path,
    recipe: Recipe,
    progress: Progress,
) -> Trained:
    """Train on all rows; resume from a checkpoint of the same rows and recipe.

    Args:
        folder: The cross-encoder, ``model.onnx`` and ``tokenizer.json``.
        checkpoints: Folder of checkpoints; those of this run are deleted at its end.

    Raises:
        BackendError: The model or the checkpoint is broken.
    """
    graph, tokenizer = QuantizedGraph(folder / "model.onnx"), load_tokenizer(folder)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    checkpoint = checkpoints / f"reader-{_digest(rows, folder, recipe)}.pt"
    per_epoch = math.ceil(len(rows) / recipe.batch_size)
    total = per_epoch * recipe.epochs
    losses = []
    with torch.random.fork_rng():
        torch.manual_seed(recipe.seed)
        model = ReaderModel(graph).to(device).train()
        optimizer = torch.optim.AdamW(_trained(model), weight_decay=WEIGHT_DECAY)
        done = _resume(model, optimizer, checkpoint)
        for epoch in range(done // per_epoch, recipe.epochs):
            batches = _batches(_encode(rows, tokenizer, recipe, epoch), recipe, epoch)
            for step, batch in enumerate(batches, start=epoch * per_epoch):
                if step < done:
                    continue
                # Depends only on the step, so that an interrupted run loses nothing.
                torch.manual_seed(recipe.seed + step + 1)
                for group in optimizer.param_groups:
                    group["lr"] = recipe.learning_rate * _rate_share(step, total)
                losses.append(_take_step(model, optimizer, batch, device))
                if (step + 1) % recipe.save_every == 0:
                    _save(model, optimizer, step + 1, checkpoint)
                progress(step + 1, total)
    checkpoint.unlink(missing_ok=True)
    return Trained(model.trained_weights(), losses)


def _digest(rows: Sequence[ReaderRow], folder: Path, recipe: Recipe) -> str:
    digest = hashlib.sha256(repr(recipe).encode())
    for row in rows:
        digest.update(repr(row).encode())
    digest.update((folder / "model.onnx").read_bytes())
    return digest.hexdigest()[:16]


def _trained(model: ReaderModel) -> list[torch.nn.Parameter]:
    return [each for each in model.parameters() if each.requires_grad]


def _resume(model: ReaderModel, optimizer: torch.optim.AdamW, checkpoint: Path) -> int:
    """Return the number of steps already taken."""
    if not checkpoint.is_file():
        return 0
    try:
        state = torch.load(checkpoint, map_location="cpu", weights_only=True)
        for parameter, value in zip(_trained(model), state["parameters"], strict=True):
            parameter.data.copy_(value)
        optimizer.load_state_dict(state["optimizer"])
        return int(state["step"])
    except (OSError, EOFError, KeyError, RuntimeError, ValueError, pickle.UnpicklingError) as exc:
        raise BackendError(f"The checkpoint {checkpoint} cannot be read, remove it: {exc}") from exc


def _save(model: ReaderModel, optimizer: torch.optim.AdamW, step: int, checkpoint: Path) -> None:
    checkpoint.parent.mkdir(parents=True, exist_ok=True)
    unfinished = checkpoint.with_suffix(".tmp")
    state = {
        "parameters": [each.detach().cpu() for each in _trained(model)],
        "optimizer": optimizer.state_dict(),
        "step": step,
    }
    torch.save(state, unfinished)
    unfinished.replace(checkpoint)


def _encode(
    rows: Sequence[ReaderRow], tokenizer: "Tokenizer", recipe: Recipe, epoch: int
) -> list[_Example]:
    draw = Random(f"headings {recipe.seed} {epoch}")  # noqa: S311  (no secret)
    examples = []
    for row in rows:
        is_headed = bool(row.heading) and draw.random() < recipe.headings
        lead = f"{row.heading}\n" if is_headed else ""
        (pair,) = encode_pairs(tokenizer, row.question, [lead + row.passage])
        examples.append(_Example(pair, row, *_answer_tokens(pair, row, len(lead))))
    return examples


def _answer_tokens(
    pair: Pair, row: ReaderRow, lead: int
) -> tuple[list[int] | None, list[int] | None]:
    """Return allowed start and end tokens; None for both if unknown."""
    if row.spans is None:
        return None, None
    if not row.spans:
        return [0], [0]
    starts: list[int] = []
    ends: list[int] = []
    for start, end in row.spans:
        inside = [
            pair.start + i
            for i, (s, e) in enumerate(pair.spans)
            if e > start + lead and s < end + lead
        ]
        # Some sets give a passage of many sentences; the answer may be anywhere.
        is_wide = len(inside) > MAX_SPAN_TOKENS
        starts += inside if is_wide else inside[:1]
        ends += inside if is_wide else inside[-1:]
    return (starts, ends) if starts else (None, None)  # cut off


def _batches(examples: list[_Example], recipe: Recipe, epoch: int) -> Iterator[list[_Example]]:
    """Yield batches of similar length in random order, deterministic for seed and epoch."""
    draw = Random(f"order {recipe.seed} {epoch}")  # noqa: S311  (no secret)
    draw.shuffle(examples)
    size, batches = recipe.batch_size, []
    for start in range(0, len(examples), size * _SORTED_BATCHES):
        near = examples[start : start + size * _SORTED_BATCHES]
        near.sort(key=lambda each: len(each.pair.row.ids))
        batches += [near[at : at + size] for at in range(0, len(near), size)]
    draw.shuffle(batches)
    yield from batches


def _rate_share(step: int, total: int) -> float:
    """Return the learning rate factor: linear warm-up to 1, then linear decay to 0."""
    warm = max(1.0, WARM_UP_SHARE * total)
    return (step + 1) / warm if step + 1 < warm else (total - step) / max(1.0, total - warm + 1)


def _take_step(
    model: ReaderModel, optimizer: torch.optim.AdamW, batch: Sequence[_Example], device: str
) -> float:
    ids, mask, types = _pad(batch, device)
    with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
        outputs = model(ids, mask, types)
    loss = _loss(outputs, mask, types, batch)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(_trained(model), MAX_GRADIENT_NORM)
    optimizer.step()
    return float(loss.detach())


def _pad(batch: Sequence[_Example], device: str) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return ids, mask and types, each of shape (b, t)."""
    shape = len(batch), max(len(each.pair.row.ids) for each in batch)
    ids, mask, types = (np.zeros(shape, np.int64) for _ in range(3))
    for i, each in enumerate(batch):
        row = each.pair.row
        ids[i, : len(row.ids)], mask[i, : len(row.ids)] = row.ids, 1
        types[i, : len(row.ids)] = row.type_ids
    arrays = (ids, mask, types)
    on_device = [torch.from_numpy(array).to(device) for array in arrays]
    return on_device[0], on_device[1], on_device[2]


def _loss(
    outputs: Outputs, mask: torch.Tensor, types: torch.Tensor, batch: Sequence[_Example]
) -> torch.Tensor:
    device = mask.device
    wanted = torch.tensor([float(each.row.is_answered) for each in batch], device=device)
    weight = torch.tensor([each.row.weight for each in batch], device=device)
    is_question = (types == 0) & (mask == 1)
    readable = (types == 1) & (mask == 1)
    is_question[:, 0], readable[:, 0] = False, True
    shares = outputs.question[..., 1].masked_fill(~is_question, _OUT).softmax(1)
    pooled = (shares * outputs.question[..., 0]).sum(1)
    places = outputs.span.masked_fill(~readable[..., None], _OUT)
    missed = _missed(places[..., 0], [each.starts for each in batch])
    missed = missed + _missed(places[..., 1], [each.ends for each in batch])
    return (
        _answered_loss(outputs.logit, wanted, weight)
        + QUESTION_SHARE * _answered_loss(pooled, wanted, weight)
        + SPAN_SHARE * (missed.clamp(max=MAX_SPAN_LOSS) * weight).mean()
    )


def _answered_loss(logit: torch.Tensor, wanted: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    each = functional.binary_cross_entropy_with_logits(logit, wanted, reduction="none")
    return (each * weight).mean()


def _missed(logits: torch.Tensor, right: Sequence[list[int] | None]) -> torch.Tensor:
    """Return minus the log of the share of right tokens for each row; 0 if unknown."""
    is_right = torch.zeros(logits.shape, dtype=torch.bool)
    is_known = torch.tensor([tokens is not None for tokens in right])
    for i, tokens in enumerate(right):
        is_right[i, tokens or []] = True
    is_right, is_known = is_right.to(logits.device), is_known.to(logits.device)
    share = logits.masked_fill(~is_right, 10 * _OUT).logsumexp(1)
    return (logits.logsumexp(1) - share) * is_known


if __name__ == "__main__":
    main()
