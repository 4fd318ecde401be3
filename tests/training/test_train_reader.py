"""A reader is trained from data set folders, goes on where it broke off, and is then read with."""

import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corpus.embedders.model_files import packaged_model
from corpus.embedders.tokens import load_tokenizer
from corpus.errors import BackendError
from pkb import settings as configured
from qa.readers.adapter import read_adapter
from qa.readers.cross_encoder_reader import CrossEncoderReader, as_reading, encode_pairs
from qa.readers.quantized_graph import QuantizedGraph
from qa.types import Reading
from tests.support.datasets import write_dataset
from training.reader_rows import ReaderRow

MODEL = "ms-marco-MiniLM-L-12-v2"
FOLDER = packaged_model(MODEL)
FACTS = [
    ("What colour is the {}?", "The {} is green.", "green"),
    ("Who made the {}?", "The {} was made by Ann.", "Ann"),
]
THINGS = ["door", "boat", "lamp", "chair"]
RECIPE = {"epochs": 3, "batch_size": 4, "learning_rate": 3e-3, "save_every": 2}


def rows() -> list[ReaderRow]:
    """Questions beside what answers them, and beside what is said of the same thing otherwise."""
    made = []
    for thing in THINGS:
        (colour, green, _), (maker, made_by, _) = FACTS
        for question, passage, answer in FACTS:
            text = passage.format(thing)
            start = text.index(answer)
            spans = ((start, start + len(answer)),)
            made.append(ReaderRow(question.format(thing), text, thing, True, spans))
        made.append(ReaderRow(colour.format(thing), made_by.format(thing), thing, False, ()))
        made.append(ReaderRow(maker.format(thing), green.format(thing), thing, False, ()))
    return made


def silent(done: int, total: int) -> None:
    pass


class BrokenOff(Exception):
    """The machine was wanted for something else."""


def break_off_at(step: int) -> Any:
    def count(done: int, total: int) -> None:
        if done == step:
            raise BrokenOff

    return count


@pytest.fixture(scope="module")
def training() -> Any:
    """What trains. It imports torch, for which every process that collects this would wait."""
    return import_module("training.train_reader")


@pytest.fixture(autouse=True)
def one_thread(training: Any) -> Iterator[None]:
    torch = training.torch
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # sums in one order
    yield
    torch.set_num_threads(threads)


def read_in_floats(training: Any, weights: dict[str, Any], question: str, text: str) -> Reading:
    """Read with the network that was trained, before anything of it is quantized."""
    torch = training.torch
    model = training.ReaderModel(QuantizedGraph(FOLDER / "model.onnx")).eval()
    trained = {name: torch.from_numpy(value).float() for name, value in weights.items()}
    assert not model.load_state_dict(trained, strict=False).unexpected_keys
    (pair,) = encode_pairs(load_tokenizer(FOLDER), question, [text])
    ids, types = (torch.from_numpy(each.astype(np.int64))[None] for each in pair.row)
    with torch.no_grad():
        outputs = model(ids, torch.ones_like(ids), types)
    asked, places = outputs.question[0].numpy(), outputs.span[0].numpy()
    return as_reading(pair, text, logit=float(outputs.logit[0]), asked=asked, places=places)


def test_loss_falls_and_a_run_that_broke_off_gives_the_same(training: Any, tmp_path: Path) -> None:
    train_reader = training.train_reader
    given: dict[str, Any] = {"folder": FOLDER, "recipe": training.Recipe(**RECIPE)}
    whole = train_reader(rows(), checkpoints=tmp_path / "whole", progress=silent, **given)
    with pytest.raises(BrokenOff):
        train_reader(rows(), checkpoints=tmp_path / "two", progress=break_off_at(7), **given)
    assert [path.suffix for path in (tmp_path / "two").iterdir()] == [".pt"]
    resumed = train_reader(rows(), checkpoints=tmp_path / "two", progress=silent, **given)
    assert len(whole.losses) == 12
    assert np.mean(whole.losses[-3:]) < 0.8 * np.mean(whole.losses[:3])
    assert resumed.losses == pytest.approx(whole.losses[6:], abs=1e-5)
    assert resumed.weights.keys() == whole.weights.keys()
    for name, value in whole.weights.items():
        np.testing.assert_allclose(resumed.weights[name], value, atol=1e-3, err_msg=name)
    assert not list((tmp_path / "two").iterdir())


def test_a_broken_checkpoint_is_named(training: Any, tmp_path: Path) -> None:
    train_reader, recipe = training.train_reader, training.Recipe(**RECIPE)
    given: dict[str, Any] = {"folder": FOLDER, "checkpoints": tmp_path, "recipe": recipe}
    with pytest.raises(BrokenOff):
        train_reader(rows()[:4], progress=break_off_at(3), **given)
    (kept,) = tmp_path.iterdir()
    kept.write_bytes(kept.read_bytes()[:1000])
    with pytest.raises(BackendError, match=kept.name):
        train_reader(rows()[:4], progress=silent, **given)


# Logits. Of 80 passages, integers differ from floats by .44 in the mean and 2.2 at most, mostly by
# the rounding of activations: with weights of 8 bits instead of 7 it is .41 and 1.8.
ROUNDING = 1.5


def test_merged_scores_are_those_of_the_floats(training: Any) -> None:
    options = configured.PKB_READERS["minilm-l12-reader"]["OPTIONS"]
    weights = read_adapter(Path(options["adapter"]))
    int8 = CrossEncoderReader(**options)
    for question, passage, answer in FACTS:
        text = f"It stands in the hall.\n{passage.format('door')}"
        (reading,) = int8.read(question.format("door"), [text])
        exact = read_in_floats(training, weights, question.format("door"), text)
        assert reading.score == pytest.approx(exact.score, abs=ROUNDING)
        assert reading.margin == pytest.approx(exact.margin, abs=ROUNDING)
        assert text[exact.start : exact.end] == answer
        assert text[reading.start : reading.end].rstrip(".") == answer


def test_the_command_writes_weights_that_a_reader_takes(
    training: Any, settings: Any, tmp_path: Path
) -> None:
    settings.DATA_DIR = tmp_path
    documents = [
        {"id": row.passage, "title": row.heading, "text": row.passage} for row in rows()[:2]
    ]
    questions = [
        {"id": str(i), "question": row.question, "doc_id": row.passage,
         "answerable": row.is_answered,
         "answers": [row.passage[s:e] for s, e in row.spans or ()]}
        for i, row in enumerate(rows()[:4])
    ]  # fmt: skip
    folder = write_dataset(tmp_path / "things", corpus=documents, qa=questions)
    training.main([str(folder), "--epochs", "1", "--batch", "8"])
    written = tmp_path / "reader.safetensors"
    told = json.loads(written.with_suffix(".json").read_text())
    assert set(told["data"]["things"]) == {"corpus.jsonl", "qa.jsonl"}
    assert told["rows"] >= 4
    reader = CrossEncoderReader(MODEL, str(written), str(tmp_path / "models"))
    assert reader.name == "reader"
    text = rows()[0].passage
    (reading,) = reader.read(rows()[0].question, [text])
    exact = read_in_floats(training, read_adapter(written), rows()[0].question, text)
    assert reading.score == pytest.approx(exact.score, abs=1.0)


def test_the_command_refuses_what_teaches_nothing(
    training: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "qa.jsonl").write_text('{"id": 1, "question": "Who?", "answers": ["I"]}')
    for options, reason in (
        ([], "with and without"),
        (["--write", str(tmp_path / "reader.bin")], "safetensors"),
        (["--epochs", "0"], "at least 1"),
    ):
        with pytest.raises(SystemExit) as refused:
            training.main([str(tmp_path), *options])
        assert refused.value.code == 2
        assert reason in capsys.readouterr().err
