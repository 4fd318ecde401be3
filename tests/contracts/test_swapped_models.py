"""Models that are not packaged: of a folder, with and without a graph, and of a hub."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corpus.embedders import Embedder, get_embedder, model_sources, onnx_export
from corpus.embedders.onnx import OnnxEmbedder
from corpus.embedders.sentence_transformer import SentenceTransformerEmbedder
from corpus.errors import BackendError
from corpus.models import Collection
from pkb.env import read_env
from pkb.product_settings import product_settings
from qa.checks import check_models
from qa.search.rerankers import rerankers
from tests.support.client import Api
from tests.support.documents import BAKERY, LIGHTHOUSE
from tests.support.hub_server import hub_of
from tests.support.processes import ROOT
from tests.support.tiny_models import WIDTH, write_embedder, write_transformer

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # torch's exporter warns

PROMPTS = {"query": "query: ", "passage": "passage: "}
TEXTS = ["Refunds are paid within ten days.", "", "東京 \U0001f600", "word " * 100]
REPOSITORY, REVISION = "acme/tiny", "v1"
HUB_MODEL = f"hf:{REPOSITORY}@{REVISION}"


@pytest.fixture(scope="module")
def torch_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of sentence-transformers without a graph."""
    return write_embedder(tmp_path_factory.mktemp("torch") / "tiny", prompts=PROMPTS)


@pytest.fixture(scope="module")
def onnx_folder(torch_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same model with a graph where exporters write it, and without weights."""
    folder = tmp_path_factory.mktemp("onnx") / "tiny"
    shutil.copytree(torch_folder, folder)
    onnx_export.export(folder, folder / "onnx" / "model.onnx")
    (folder / "model.safetensors").unlink()
    return folder


@pytest.fixture
def cross_encoder(tmp_path: Path) -> Path:
    return write_transformer(tmp_path / "cross-encoder", labels=1)


def choose(settings: Any, **environment: str) -> None:
    """Set Django's settings as these variables do."""
    env = read_env(**environment)
    for name, value in product_settings(env, settings.DATA_DIR).items():
        if name.startswith(("PKB_EMBEDD", "PKB_RERANK", "PKB_MODEL_FETCH", "PKB_ONNX")):
            setattr(settings, name, value)


def embedder_of(settings: Any, model: str, **environment: str) -> Embedder:
    choose(settings, EMBEDDING_MODEL=model, **environment)
    return get_embedder(model)


def test_a_graph_and_its_weights_give_the_same_vectors(
    settings: Any, torch_folder: Path, onnx_folder: Path
) -> None:
    torch, onnx = (embedder_of(settings, str(each)) for each in (torch_folder, onnx_folder))
    assert torch.name == str(torch_folder)
    assert (torch.dimension, onnx.dimension) == (WIDTH, WIDTH)
    # Of 64, two are special, and two those of "passage: ".
    assert (torch.max_tokens, onnx.max_tokens) == (60, 60)
    np.testing.assert_allclose(
        onnx.embed_passages(TEXTS[:3]), torch.embed_passages(TEXTS[:3]), atol=1e-5
    )
    np.testing.assert_allclose(onnx.embed_query("stone"), torch.embed_query("stone"), atol=1e-5)


@pytest.mark.parametrize("kind", ["torch_folder", "onnx_folder"])
def test_prefixes_of_settings_replace_those_of_the_folder(
    settings: Any, kind: str, request: pytest.FixtureRequest
) -> None:
    folder = str(request.getfixturevalue(kind))
    own = embedder_of(settings, folder)
    by_folder = own.embed_query("stone"), own.embed_passages(["stone"])[0]
    given = embedder_of(
        settings,
        folder,
        PKB_EMBEDDING_QUERY_PREFIX="passage: ",
        PKB_EMBEDDING_DOCUMENT_PREFIX="query: ",
    )
    np.testing.assert_allclose(given.embed_passages(["stone"])[0], by_folder[0], atol=1e-6)
    np.testing.assert_allclose(given.embed_query("stone"), by_folder[1], atol=1e-6)
    assert by_folder[0] @ by_folder[1] < 0.9999


@pytest.mark.django_db
def test_a_folder_s_models_answer_a_search(
    api: Api, settings: Any, onnx_folder: Path, cross_encoder: Path
) -> None:
    model = str(onnx_folder)
    choose(settings, EMBEDDING_MODEL=model, RERANKER_MODEL=str(cross_encoder))
    assert check_models() == []
    Collection.objects.filter(name="default").update(embedding_model=model, dimension=WIDTH)
    api.ingest(LIGHTHOUSE)
    api.ingest(BAKERY)
    (first, *_) = api.search("When was the lighthouse built?", rerank=True)
    assert first["content"].split("\n")[0] in LIGHTHOUSE


def test_the_guide_s_further_models_are_what_it_says(settings: Any, tmp_path: Path) -> None:
    guide = (ROOT / "docs" / "guides" / "language-models.md").read_text()
    backends = tmp_path / "backends.yaml"
    backends.write_text(guide.partition("```yaml\n")[2].partition("```")[0])
    choose(settings, PKB_BACKENDS=str(backends))
    nomic, graph = get_embedder("nomic"), get_embedder("graph")
    assert (nomic.name, nomic.dimension) == ("ollama/nomic-embed-text@768", 768)
    with pytest.raises(BackendError, match="'/srv/models/graph' is no folder"):
        graph.load()


def test_a_cross_encoder_scores_each_text_by_itself(settings: Any, cross_encoder: Path) -> None:
    choose(settings, RERANKER_MODEL=str(cross_encoder))
    reranker = rerankers[settings.PKB_RERANKER_MODEL]
    scores = reranker.score("How long do refunds take?", [*TEXTS, "a \ud800 b"])
    assert reranker.is_loaded
    assert len(set(scores.tolist())) == len(TEXTS) + 1
    alone = reranker.score("How long do refunds take?", TEXTS[:1])
    np.testing.assert_allclose(alone, scores[:1], atol=1e-5)
    assert reranker.score("", []).shape == (0,)


def test_a_classifier_of_two_labels_is_no_reranker(settings: Any, tmp_path: Path) -> None:
    choose(settings, RERANKER_MODEL=str(write_transformer(tmp_path / "nli", labels=2)))
    with pytest.raises(BackendError, match="no cross-encoder of one logit"):
        rerankers[settings.PKB_RERANKER_MODEL].load()


def test_a_cross_encoder_s_graph_is_no_embedder(onnx_folder: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong"
    shutil.copytree(onnx_folder, wrong)
    config = (wrong / "config.json").read_text()
    (wrong / "config.json").write_text(config.replace('"hidden_size": 32', '"hidden_size": 16'))
    with pytest.raises(BackendError, match="no vector of each token"):
        OnnxEmbedder(str(wrong), str(tmp_path)).load()


def test_a_provider_that_is_not_installed_is_told(settings: Any, onnx_folder: Path) -> None:
    embedder = embedder_of(settings, str(onnx_folder), PKB_ONNX_PROVIDERS="AcmeExecutionProvider")
    with pytest.raises(BackendError, match=r"no AcmeExecutionProvider, but .*CPUExecution"):
        embedder.load()


def test_a_device_that_is_not_there_is_told(settings: Any, torch_folder: Path) -> None:
    settings.PKB_TORCH_DEVICE = "xpu:9"
    with pytest.raises(BackendError, match="does not load"):
        SentenceTransformerEmbedder(str(torch_folder)).load()


class TestHub:
    @pytest.fixture(autouse=True)
    def _own_data(self, settings: Any, tmp_path: Path) -> None:
        settings.DATA_DIR = tmp_path / "data"

    @pytest.fixture
    def published(self, torch_folder: Path, tmp_path: Path) -> Path:
        """The model beside a program and a pickle, which no model needs."""
        folder = tmp_path / "published"
        shutil.copytree(torch_folder, folder)
        for name in ("modeling_tiny.py", "pytorch_model.bin"):
            (folder / name).write_bytes(b"never fetched")
        return folder

    def test_a_model_is_fetched_once_and_only_if_allowed(
        self, settings: Any, published: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with hub_of(published, repository=REPOSITORY, revision=REVISION) as (address, asked):
            monkeypatch.setenv("HF_ENDPOINT", address)
            with pytest.raises(BackendError, match="once with PKB_MODEL_FETCH=hub"):
                embedder_of(settings, HUB_MODEL).load()
            assert asked == []
            embedder_of(settings, HUB_MODEL, PKB_MODEL_FETCH="hub").load()
        assert {"config.json", "model.safetensors", "1_Pooling/config.json"} <= set(asked)
        assert not {"modeling_tiny.py", "pytorch_model.bin"} & set(asked)
        # The hub is gone, and must no longer be asked.
        fetched = embedder_of(settings, HUB_MODEL)
        local = embedder_of(settings, str(published))
        np.testing.assert_allclose(fetched.embed_query("stone"), local.embed_query("stone"))

    def test_a_fetched_file_that_changed_is_refused(
        self, settings: Any, published: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with hub_of(published, repository=REPOSITORY, revision=REVISION) as (address, _):
            monkeypatch.setenv("HF_ENDPOINT", address)
            embedder_of(settings, HUB_MODEL, PKB_MODEL_FETCH="hub").load()
        (config,) = settings.DATA_DIR.glob("hub/*/files/config.json")
        config.write_text(config.read_text() + " ")
        model_sources._check_hashes.cache_clear()  # as in another process
        with pytest.raises(BackendError, match=r"config.json is not the file that was fetched"):
            embedder_of(settings, HUB_MODEL).load()

    def test_a_model_that_the_hub_lacks_is_told(
        self, settings: Any, published: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with hub_of(published, repository=REPOSITORY, revision=REVISION) as (address, _):
            monkeypatch.setenv("HF_ENDPOINT", address)
            embedder = embedder_of(settings, "hf:acme/other@v1", PKB_MODEL_FETCH="hub")
            with pytest.raises(BackendError, match="acme/other could not be fetched"):
                embedder.load()

    @pytest.mark.parametrize("model", ["hf:acme/tiny", "hf:acme@v1", "hf:../../etc@v1"])
    def test_a_name_without_repository_or_revision_is_told(self, settings: Any, model: str) -> None:
        with pytest.raises(BackendError, match="hf:ORG/NAME@REVISION"):
            embedder_of(settings, model).load()


@pytest.mark.parametrize("setting", ["EMBEDDING_MODEL", "RERANKER_MODEL"])
def test_a_bare_name_of_the_hub_is_explained_at_the_start(settings: Any, setting: str) -> None:
    choose(settings, **{setting: "BAAI/bge-m3"})
    (error,) = check_models()
    assert f"{setting}: there is no 'BAAI/bge-m3'" in error.msg
    assert "hf:ORG/NAME@REVISION" in str(error.hint)
