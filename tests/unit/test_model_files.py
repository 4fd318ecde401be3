"""Finding models and reading what their folders say."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corpus.embedders import onnx
from corpus.embedders.model_files import (
    PACKAGED_MODELS,
    PackagedModel,
    packaged_model,
    read_model_facts,
)
from corpus.embedders.model_sources import find_model
from corpus.embedders.onnx import OnnxEmbedder
from corpus.embedders.tokens import load_tokenizer, tokenize
from corpus.errors import BackendError

TRANSFORMER = {"path": "", "type": "sentence_transformers.models.Transformer"}
POOLING = {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}
DENSE = {"path": "2_Dense", "type": "sentence_transformers.models.Dense"}
CONFIG = {"hidden_size": 8, "max_position_embeddings": 512}


def write_folder(folder: Path, **files: object) -> Path:
    """Write ``name=value`` as ``name.json``; two underscores stand for a slash."""
    for name, value in files.items():
        path = folder / f"{name.replace('__', '/')}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value))
    return folder


def packaged(**changes: str) -> PackagedModel:
    return replace(PACKAGED_MODELS["all-MiniLM-L6-v2"], **changes)


class TestPackagedModel:
    @pytest.mark.parametrize("name", PACKAGED_MODELS)
    def test_each_has_a_tokenizer(self, name: str) -> None:
        assert (packaged_model(name) / "tokenizer.json").is_file()

    @pytest.mark.parametrize("module", ["no_such_module", "json"], ids=["package", "folder"])
    def test_missing_part_is_named_by_its_package(
        self, module: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        missing = {"small": packaged(package="small-model==1.0", module=module, folder="no/such")}
        monkeypatch.setattr("corpus.embedders.model_files.PACKAGED_MODELS", missing)
        with pytest.raises(BackendError, match=r"small-model"):
            packaged_model("small")

    def test_weights_of_another_hash_are_refused(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        folder = tmp_path / "carrier_of_weights" / "model"
        folder.mkdir(parents=True)
        (folder.parent / "__init__.py").touch()
        (folder / "w").write_bytes(b"weights")
        monkeypatch.syspath_prepend(tmp_path)
        sha256 = hashlib.sha256(b"weights").hexdigest()
        models = {
            name: packaged(module="carrier_of_weights", weights="w", sha256=wanted)
            for name, wanted in (("same", sha256), ("other", "0" * 64))
        }
        monkeypatch.setattr("corpus.embedders.model_files.PACKAGED_MODELS", models)
        assert packaged_model("same") == folder
        with pytest.raises(BackendError, match=f"sha256 {sha256}, and not 0000"):
            packaged_model("other")

    def test_unknown_model_lists_the_known(self) -> None:
        with pytest.raises(BackendError, match="all-MiniLM-L6-v2"):
            packaged_model("gpt-17")

    def test_folder_is_found_by_its_path(self, tmp_path: Path) -> None:
        assert find_model(str(tmp_path)) == tmp_path
        assert find_model("all-MiniLM-L6-v2") == packaged_model("all-MiniLM-L6-v2")


class TestModelFacts:
    @pytest.mark.parametrize(
        ("stated", "length"),
        [
            ({"tokenizer_config": {"model_max_length": 128}}, 128),
            ({"tokenizer_config": {"model_max_length": 1e30}}, 512),
            ({"sentence_bert_config": {"max_seq_length": 256}}, 256),
        ],
        ids=["the least", "no limit", "stated"],
    )
    def test_length_is_stated_or_the_least_there_is(
        self, tmp_path: Path, stated: dict[str, Any], length: int
    ) -> None:
        write_folder(tmp_path, config=CONFIG, **stated)
        assert read_model_facts(tmp_path).max_length == length

    @pytest.mark.parametrize(
        ("config", "pooling"),
        [
            ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, "cls"),
            ({"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}, "mean"),
            ({"pooling_mode": "mean"}, "mean"),
        ],
    )
    def test_pooling_is_read(self, tmp_path: Path, config: dict[str, Any], pooling: str) -> None:
        modules = [TRANSFORMER, POOLING]
        write_folder(tmp_path, config=CONFIG, modules=modules, **{"1_Pooling__config": config})
        assert read_model_facts(tmp_path).pooling == pooling

    @pytest.mark.parametrize(
        "config",
        [
            {"pooling_mode_max_tokens": True},
            {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True},
            {"pooling_mode": "lasttoken"},
        ],
    )
    def test_other_pooling_is_refused(self, tmp_path: Path, config: dict[str, Any]) -> None:
        modules = [TRANSFORMER, POOLING]
        write_folder(tmp_path, config=CONFIG, modules=modules, **{"1_Pooling__config": config})
        with pytest.raises(BackendError, match="pooling"):
            read_model_facts(tmp_path)

    def test_unknown_part_is_refused(self, tmp_path: Path) -> None:
        write_folder(tmp_path, config=CONFIG, modules=[TRANSFORMER, POOLING, DENSE])
        with pytest.raises(BackendError, match="Dense"):
            read_model_facts(tmp_path)

    @pytest.mark.parametrize("text", ["", "[]", "{", '{"hidden_size": null}', '{"hidden_size": 8}'])
    def test_broken_configuration_is_a_backend_error(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "config.json").write_text(text)
        with pytest.raises(BackendError):
            read_model_facts(tmp_path)


class TestOnnxFolder:
    def test_unstated_pooling_must_be_given(self, tmp_path: Path) -> None:
        write_folder(tmp_path, config=CONFIG)
        for name in ("model.onnx", "tokenizer.json"):
            (tmp_path / name).symlink_to(packaged_model("bge-small-en-v1.5") / name)
        with pytest.raises(BackendError, match="set pooling"):
            OnnxEmbedder(str(tmp_path), str(tmp_path)).load()

    def test_broken_graph_is_a_backend_error(self, tmp_path: Path) -> None:
        write_folder(tmp_path, config=CONFIG)
        (tmp_path / "model.onnx").write_bytes(b"no graph")
        with pytest.raises(BackendError, match=r"model\.onnx failed"):
            OnnxEmbedder(str(tmp_path), str(tmp_path), pooling="cls").load()

    def test_folder_without_weights_is_a_backend_error(self, tmp_path: Path) -> None:
        write_folder(tmp_path, config=CONFIG)
        with pytest.raises(BackendError, match="neither an ONNX graph nor weights"):
            OnnxEmbedder(str(tmp_path), str(tmp_path), pooling="cls").load()

    def test_broken_tokenizer_is_a_backend_error(self, tmp_path: Path) -> None:
        (tmp_path / "tokenizer.json").write_text("{")
        with pytest.raises(BackendError, match=r"tokenizer\.json"):
            load_tokenizer(tmp_path)


class TestOnnxModel:
    FOLDER = packaged_model("bge-small-en-v1.5")
    ROWS = tokenize(
        load_tokenizer(FOLDER), [" ".join(["word"] * count) for count in (3, 1, 7, 7, 2, 30, 5)]
    )

    def model(self, *, threads: int, outputs: tuple[str, ...] = ()) -> onnx.OnnxModel:
        graph = self.FOLDER / "model.onnx"
        return onnx.OnnxModel(graph, threads=threads, batch_size=2, outputs=outputs)

    def test_several_runs_at_once_give_the_same_as_one_after_the_other(self) -> None:
        one, many = (list(self.model(threads=n).run(self.ROWS)) for n in (1, 3))
        assert [batch.rows for batch in many] == [batch.rows for batch in one]
        assert sorted(row for batch in one for row in batch.rows) == list(range(len(self.ROWS)))
        for alone, beside in zip(one, many, strict=True):
            np.testing.assert_array_equal(beside.output, alone.output)
            np.testing.assert_array_equal(beside.mask, alone.mask)

    @pytest.mark.parametrize("threads", [1, 3])
    def test_long_rows_come_first(self, threads: int) -> None:
        lengths = [batch.mask.shape[1] for batch in self.model(threads=threads).run(self.ROWS)]
        assert lengths == sorted(lengths, reverse=True)

    @pytest.mark.parametrize("threads", [1, 3])
    def test_no_rows_give_no_batches(self, threads: int) -> None:
        assert list(self.model(threads=threads).run([])) == []

    @pytest.mark.parametrize("threads", [1, 3])
    def test_an_output_that_is_not_there_is_a_backend_error(self, threads: int) -> None:
        with pytest.raises(BackendError, match=r"model\.onnx failed"):
            list(self.model(threads=threads, outputs=("no such",)).run(self.ROWS))
