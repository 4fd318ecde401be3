"""The package of the default models is made from published weights, and loads by its manifest."""

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from corpus.embedders import model_files
from corpus.embedders.model_files import MANIFEST, PACKAGED_MODELS, PackagedModel
from corpus.embedders.onnx import OnnxEmbedder
from corpus.embedders.sentence_transformer import SentenceTransformerEmbedder
from corpus.errors import BackendError
from qa.search.rerankers.cross_encoder_reranker import CrossEncoderReranker
from tests.support.processes import ROOT
from tests.support.tiny_models import write_embedder, write_transformer
from training import build_models

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # torch's exporter warns

QUESTION, TEXTS = "How long do refunds take?", ["Refunds take ten days.", "Bananas are yellow."]


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders of an embedder and of a cross-encoder, as they are published."""
    folder = tmp_path_factory.mktemp("published")
    write_embedder(folder / "small-embedder")
    write_transformer(folder / "small-cross-encoder", labels=1)
    return folder


@pytest.fixture(autouse=True)
def small_models(weights: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put these models in place of the default ones."""
    model = PACKAGED_MODELS["all-MiniLM-L6-v2"]
    published = sha256((weights / "small-embedder" / "model.safetensors").read_bytes()).hexdigest()
    models = {
        "small-embedder": replace(model, published_sha256=published),
        "small-cross-encoder": replace(model, published_sha256=None, pooling=None),
    }
    monkeypatch.setattr(build_models, "PACKAGED_MODELS", models)


def read_manifest(path: Path) -> Mapping[str, PackagedModel]:
    return {name: PackagedModel(**entry) for name, entry in json.loads(path.read_text()).items()}


def test_the_package_loads_by_its_manifest_and_agrees_with_the_weights(
    weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build_models.build(tmp_path / "target", version="1.2.3", weights=weights)
    built = read_manifest(tmp_path / "target" / MANIFEST.name)
    assert {model.package for model in built.values()} == {"pkb-models==1.2.3"}
    assert "cosine of token vectors" in built["small-embedder"].compared
    assert "logits differ by" in built["small-cross-encoder"].compared

    wheels = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--no-index",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
    ]
    subprocess.run([*wheels, "-w", "wheels", "./target"], cwd=tmp_path, check=True)
    (wheel,) = (tmp_path / "wheels").glob("pkb_models-1.2.3-*.whl")
    shutil.unpack_archive(wheel, tmp_path / "site", "zip")
    monkeypatch.syspath_prepend(tmp_path / "site")
    for module in (model_files, sys.modules["corpus.embedders.onnx"]):
        monkeypatch.setattr(module, "PACKAGED_MODELS", built)

    packaged = OnnxEmbedder("small-embedder", str(tmp_path))
    floats = SentenceTransformerEmbedder(str(weights / "small-embedder"))
    assert (packaged.embed_passages(TEXTS) * floats.embed_passages(TEXTS)).sum(axis=1).min() > 0.98
    np.testing.assert_allclose(
        CrossEncoderReranker("small-cross-encoder").score(QUESTION, TEXTS),
        CrossEncoderReranker(str(weights / "small-cross-encoder")).score(QUESTION, TEXTS),
        atol=0.5,
    )


def test_weights_other_than_the_published_ones_are_refused(weights: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(weights, other)
    (other / "small-embedder" / "model.safetensors").write_bytes(b"other weights")
    with pytest.raises(BackendError, match="and not"):
        build_models.build(tmp_path / "target", version="1", weights=other)
    shutil.rmtree(other / "small-embedder")
    with pytest.raises(BackendError, match="cannot be read"):
        build_models.build(tmp_path / "target", version="1", weights=other)


def test_each_packaged_model_is_installed_and_its_licence_told() -> None:
    locked, notice = ((ROOT / name).read_text() for name in ("pyproject.toml", "NOTICE"))
    for name, model in PACKAGED_MODELS.items():
        assert f'"{model.package}"' in locked
        told = " ".join(notice.partition(f"  {name} ")[2].split()[:8])
        assert f"{model.package.replace('==', ' ')}, models/" in told or model.folder in told
        assert model.licence in told
