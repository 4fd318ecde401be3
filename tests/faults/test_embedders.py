"""Embedders in the process with damaged weights: nothing of theirs is stored, and it is told."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from corpus.embedders.hashed_words import HashingEmbedder
from corpus.embedders.model_files import exported_graph
from corpus.embedders.model_sources import find_model
from corpus.embedders.onnx import OnnxEmbedder
from corpus.errors import BackendError
from corpus.invariants import find_violations
from corpus.jobs.run import run_job_slice
from corpus.models import Document, Embedding, Job
from tests.support.client import Api
from tests.support.documents import LIGHTHOUSE
from tests.support.processes import MODELS

MODEL = "hashing-64"


class BrokenEmbedder(HashingEmbedder):
    """Counts tokens as ever, and has weights that are damaged."""

    def __init__(self, damage: str) -> None:
        super().__init__(64)
        self._whole = HashingEmbedder(64)
        self._damage = damage

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._damaged(self._whole.embed_passages(texts))

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return self._damaged(self._whole.embed_query(text))

    def _damaged(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        if self._damage == "wrong dimension":
            return vectors[..., :32]
        damaged = vectors.copy()
        damaged[..., 3] = np.nan
        return damaged


def put_in(settings: Any, backend: str, **options: Any) -> None:
    settings.PKB_EMBEDDERS = {MODEL: {"BACKEND": backend, "OPTIONS": options}}


@pytest.mark.parametrize("damage", ["NaN", "wrong dimension"])
@pytest.mark.django_db(transaction=True)
def test_broken_embedder_stores_no_vector_until_a_whole_one_completes_it(
    damage: str, api: Api, cheap_model: None, settings: Any
) -> None:
    put_in(settings, f"{__name__}.BrokenEmbedder", damage=damage)
    stored = api.post("/ingest", {"text": LIGHTHOUSE})
    assert (stored.status_code, stored.json()["status"]) == (201, "processing")
    assert not Embedding.objects.exists()
    told = api.post("/search", {"query": "Who built it?"})
    assert (told.status_code, told.json()["error"]) == (502, "backend_error")
    put_in(settings, "corpus.embedders.hashed_words.HashingEmbedder", dimension=64)
    [job] = Job.objects.all()
    assert run_job_slice(job.pk)
    assert Document.objects.get().status == Document.Status.COMPLETED
    assert list(find_violations()) == []


@pytest.mark.bare_models
def test_a_truncated_graph_is_named_and_a_whole_one_in_its_place_is_read(tmp_path: Path) -> None:
    name = "all-MiniLM-L6-v2"
    whole = exported_graph(find_model(name), MODELS, name=name, quantized=True)
    graph = tmp_path / whole.parent.name / whole.name
    graph.parent.mkdir()
    graph.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    embedder = OnnxEmbedder(name, str(tmp_path), quantized=True)
    with pytest.raises(BackendError, match=graph.name):
        embedder.embed_query("Who built it?")
    graph.unlink()
    graph.symlink_to(whole)
    assert embedder.embed_query("Who built it?").shape == (embedder.dimension,)
