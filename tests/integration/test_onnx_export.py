"""The export: once, whole, and equal to the model, whoever is killed and whenever."""

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from corpus.embedders import model_files, onnx_export
from corpus.embedders.onnx import OnnxEmbedder
from corpus.errors import BackendError
from tests.support.tiny_models import write_transformer

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of one layer with random weights: its export takes seconds."""
    return write_transformer(tmp_path_factory.mktemp("tiny"))


def exported_to(folder: Path, cache: Path) -> Path:
    """Return the path that an embedder's export of this folder has."""
    return cache / f"{folder.name}-{model_files._digest(folder)}" / "model.onnx"


def start_export(folder: Path, graph: Path) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-m", "corpus.embedders.onnx_export", str(folder), str(graph)],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@pytest.mark.campaign
def test_killed_export_leaves_nothing_half_and_the_next_is_made_once(
    tiny_model: Path, tmp_path: Path
) -> None:
    graph = exported_to(tiny_model, tmp_path)
    killed = start_export(tiny_model, graph)
    deadline = time.monotonic() + 60
    while not list(graph.parent.glob("*.tmp")) and time.monotonic() < deadline:
        time.sleep(0.002)
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait(10)
    assert not graph.exists()
    embedders = [OnnxEmbedder(str(tiny_model), str(tmp_path), pooling="mean") for _ in range(2)]
    with ThreadPoolExecutor(2) as pool:
        vectors = list(pool.map(lambda e: e.embed_query("stone"), embedders))
    assert list(tmp_path.iterdir()) == [graph.parent]
    assert sorted(path.name for path in graph.parent.iterdir()) == ["lock", "model.onnx"]
    assert all(np.array_equal(vector, vectors[0]) for vector in vectors)


def test_second_export_keeps_the_first(tiny_model: Path, tmp_path: Path) -> None:
    graph = tmp_path / "export" / "model.onnx"
    graph.parent.mkdir()
    graph.write_bytes(b"kept")
    onnx_export.export(tiny_model, graph)
    assert graph.read_bytes() == b"kept"


@pytest.mark.campaign
@pytest.mark.filterwarnings("ignore")  # torch's exporter warns of its own doings
def test_graph_that_differs_is_refused(
    tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onnx_export, "MIN_COSINE", 1.1)
    graph = tmp_path / "export" / "model.onnx"
    with pytest.raises(BackendError, match="differs"):
        onnx_export.export(tiny_model, graph)
    assert not graph.exists()


def test_other_weights_are_exported_anew(tiny_model: Path, tmp_path: Path) -> None:
    first = tmp_path / "first"
    first.mkdir()
    (first / "model.safetensors").write_bytes(b"1")
    (first / "config.json").write_text("{}")
    before = model_files._digest(first)
    (first / "model.safetensors").write_bytes(b"2")
    after_weights = model_files._digest(first)
    (first / "config.json").write_text(json.dumps({"hidden_act": "relu"}))
    assert len({before, after_weights, model_files._digest(first)}) == 3


def test_broken_weights_are_a_backend_error(tiny_model: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    for name in ("config.json", "tokenizer.json"):
        (broken / name).write_bytes((tiny_model / name).read_bytes())
    (broken / "model.safetensors").write_bytes(b"no weights")
    with pytest.raises(BackendError, match="export of"):
        OnnxEmbedder(str(broken), str(tmp_path / "cache"), pooling="mean").load()
