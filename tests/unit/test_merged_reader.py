"""The reader's graph: merged once, whole, from files that are whole, whoever is killed."""

import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from corpus.embedders.model_files import packaged_model
from corpus.errors import BackendError
from qa.readers.adapter import LORA_SCALE, QUESTION, SPAN, merged_graph, read_adapter
from qa.readers.quantized_graph import QuantizedGraph

ROOT = Path(__file__).parents[2]
GRAPH = packaged_model("ms-marco-MiniLM-L-12-v2") / "model.onnx"
ADAPTER = ROOT / "qa" / "readers" / "minilm-l12-reader.safetensors"
LAYER = "bert.encoder.layer.3.intermediate.dense"
KILLED = """
import os, signal, sys
from pathlib import Path
from qa.readers.adapter import merged_graph
from qa.readers.quantized_graph import QuantizedGraph

def save_half(self, path):
    whole = self._model.SerializeToString()
    path.write_bytes(whole[: len(whole) // 2])
    os.kill(os.getpid(), signal.SIGKILL)

QuantizedGraph.save = save_half
merged_graph(*map(Path, sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def merged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return merged_graph(GRAPH, ADAPTER, tmp_path_factory.mktemp("models"))


def changed_adapter(path: Path, **changes: np.ndarray | None) -> Path:
    """Write the adapter with some weights changed, or left out."""
    weights = load_file(ADAPTER)
    for name, value in changes.items():
        weights.pop(name, None)
        if value is not None:
            weights[name] = value
    save_file(weights, path)
    return path


def test_a_matrix_has_its_product_added_and_its_columns_quantised(merged: Path) -> None:
    weights, before, after = read_adapter(ADAPTER), QuantizedGraph(GRAPH), QuantizedGraph(merged)
    wanted = before.matrix(f"{LAYER}.weight") + LORA_SCALE * (
        weights[f"{LAYER}.B"] @ weights[f"{LAYER}.A"]
    )
    found = after.matrix(f"{LAYER}.weight")
    step = np.abs(wanted).max(axis=1, keepdims=True) / 63
    assert (np.abs(found - wanted) <= step * 0.51).all()
    assert np.abs(before.matrix(f"{LAYER}.weight") - wanted).max() > step.max()


def test_all_matrices_of_all_layers_have_their_names() -> None:
    weights = QuantizedGraph(GRAPH).weights()
    layers = [
        name
        for name, values in weights.items()
        if name.startswith("bert.encoder.layer.") and values.ndim > 1
    ]
    assert len(layers) == 12 * 6
    assert {"bert.pooler.dense.weight", "classifier.weight"} <= weights.keys()
    assert {key.removesuffix(".A") + ".weight" for key in read_adapter(ADAPTER) if key[-1] == "A"} \
        == set(layers)  # fmt: skip


def test_the_heads_are_outputs_and_the_rest_stays(merged: Path) -> None:
    before, after = QuantizedGraph(GRAPH), QuantizedGraph(merged)
    assert [each.name for each in after._model.graph.output] == ["logits", SPAN, QUESTION]
    weights, others = before.weights(), after.weights()
    names = [name for name in weights if "embeddings" in name]
    assert [name for name in others if "embeddings" in name] == names
    for name in names:
        assert np.array_equal(others[name], weights[name])


def test_killed_merge_leaves_nothing_half_and_the_next_is_made_once(
    tmp_path: Path,
) -> None:
    paths = (GRAPH, ADAPTER, tmp_path)
    killed = subprocess.run([sys.executable, "-c", KILLED, *paths], cwd=ROOT, check=False)
    (folder,) = tmp_path.iterdir()
    assert killed.returncode == -signal.SIGKILL
    assert {path.suffix for path in folder.iterdir()} == {"", ".tmp"}  # the lock, and the half
    with ThreadPoolExecutor(3) as pool:
        found = set(pool.map(lambda _: merged_graph(*paths), range(3)))
    assert found == {folder / "model.onnx"}
    assert sorted(path.name for path in folder.iterdir()) == ["lock", "model.onnx"]
    QuantizedGraph(folder / "model.onnx")


def test_what_is_merged_is_found(merged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(QuantizedGraph, "__init__", None)
    assert merged_graph(GRAPH, ADAPTER, merged.parent.parent) == merged


def test_another_adapter_or_graph_is_merged_anew(merged: Path, tmp_path: Path) -> None:
    cache = merged.parent.parent
    other = changed_adapter(tmp_path / ADAPTER.name, **{"span.bias": np.array([1, 2], np.float16)})
    graph = tmp_path / "model.onnx"
    graph.write_bytes(GRAPH.read_bytes())
    assert merged_graph(graph, ADAPTER, cache) == merged
    again = merged_graph(GRAPH, other, cache)
    assert again != merged
    assert QuantizedGraph(again).weights()["span.bias"].tolist() == [1, 2]


@pytest.mark.parametrize("kept", [0, 1_000, 2_000_000])
def test_a_truncated_adapter_is_named(tmp_path: Path, kept: int) -> None:
    broken = tmp_path / "reader.safetensors"
    broken.write_bytes(ADAPTER.read_bytes()[:kept])
    with pytest.raises(BackendError, match=r"reader\.safetensors cannot be read"):
        merged_graph(GRAPH, broken, tmp_path / "models")
    assert not list(tmp_path.glob("models/*/model.onnx"))


@pytest.mark.parametrize("kept", [0, 20_000_000])
def test_a_truncated_graph_is_named(tmp_path: Path, kept: int) -> None:
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(GRAPH.read_bytes()[:kept])
    with pytest.raises(BackendError, match=r"broken\.onnx"):
        merged_graph(broken, ADAPTER, tmp_path / "models")
    assert not list(tmp_path.glob("models/*/model.onnx"))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (f"{LAYER}.B", None),
        (f"{LAYER}.B", np.zeros((1536, 4), np.float16)),
        (f"{LAYER}.B", np.full((1536, 16), np.nan, np.float16)),
        ("bert.encoder.layer.12.output.dense.A", np.zeros((16, 384), np.float16)),
        ("span.weight", None),
        ("cls.bias", np.zeros(2, np.float16)),
    ],
)
def test_an_adapter_that_does_not_fit_is_named(
    tmp_path: Path, name: str, value: np.ndarray | None
) -> None:
    other = changed_adapter(tmp_path / "other.safetensors", **{name: value})
    with pytest.raises(BackendError, match=r"other\.safetensors does not fit"):
        merged_graph(GRAPH, other, tmp_path / "models")
    assert not list(tmp_path.glob("models/*/model.onnx"))


def test_missing_files_and_closed_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(BackendError, match="absent"):
        merged_graph(GRAPH, tmp_path / "absent", tmp_path)
    with pytest.raises(BackendError, match="absent"):
        merged_graph(tmp_path / "absent", ADAPTER, tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(BackendError, match="file"):
        merged_graph(GRAPH, ADAPTER, tmp_path / "file")
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]
