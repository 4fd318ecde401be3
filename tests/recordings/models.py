"""The packaged models behind their ports, run only for what is not on file.

What needs no weights, like splitting a text into tokens, is done by the model itself.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any, cast

import numpy as np
from django.utils.module_loading import import_string
from numpy.typing import NDArray

from corpus.embedders import Embedder
from corpus.embedders.model_files import PACKAGED_MODELS
from corpus.embedders.model_sources import find_model
from pkb import settings as product
from pkb.model_catalogue import CROSS_ENCODER, LATE_INTERACTION
from pkb.model_catalogue import READER as READER_NAME
from qa.types import Reading
from tests.recordings.files import Recording, read

KEPT = Path(__file__).parent
# What this checkout's runs have met and the repository does not hold.
MET = Path(__file__).parents[2] / "var" / "recordings"

JUDGE, RERANKER, READER = CROSS_ENCODER, LATE_INTERACTION, READER_NAME
_CATALOGUE = {**product.PKB_EMBEDDERS, **product.PKB_RERANKERS, **product.PKB_READERS}
SPECS = {
    name: spec
    for name, spec in _CATALOGUE.items()
    if "PATTERN" not in spec and spec.get("OPTIONS", {}).get("model") in PACKAGED_MODELS
}
# Where and how it runs changes nothing of what it says.
_CIRCUMSTANCES = {"adapter", "cache_dir", "threads", "batch_size", "keeps_vectors"}

recordings: dict[str, Recording] = {}


@cache
def bare(name: str) -> Any:
    """The model itself, one for all tests of a process."""
    return import_string(SPECS[name]["BACKEND"])(**SPECS[name]["OPTIONS"])


def asked(name: str) -> Any:
    """What a recording asks: the model, by methods that return numbers."""
    return _Numbers(name) if name == READER else bare(name)


def recording_of(name: str) -> Recording:
    """What this process knows of a model."""
    if name not in recordings:
        weights = digest_of(SPECS[name]["OPTIONS"])
        known = {**read(MET / f"{name}.npz", weights), **read(KEPT / f"{name}.npz", weights)}
        recordings[name] = Recording(asked(name), weights=weights, known=known)
    return recordings[name]


def digest_of(options: Mapping[str, Any]) -> str:
    """Digest a model's files, and what else decides what it says."""
    deciding = {key: value for key, value in options.items() if key not in _CIRCUMSTANCES}
    digest = sha256(json.dumps(deciding, sort_keys=True).encode())
    files = sorted(find_model(options["model"]).rglob("*"))
    for path in [*files, *map(Path, filter(None, [options.get("adapter")]))]:
        if path.is_file():
            with path.open("rb") as file:
                digest.update(path.name.encode() + file_digest(file, "sha256").digest())
    return digest.hexdigest()


class _Recorded:
    def __init__(self, name: str) -> None:
        self.name = name
        self.is_loaded = False

    def load(self) -> None:
        self.is_loaded = True

    def _recall(self, method: str, *arguments: Any) -> NDArray[np.float32]:
        self.load()
        return recording_of(self.name).recall(method, *arguments)


class RecordedEmbedder(_Recorded):
    @property
    def dimension(self) -> int:
        return self._bare.dimension

    @property
    def max_tokens(self) -> int:
        return self._bare.max_tokens

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = [self._recall("embed_passages", [text])[0] for text in texts]
        return np.array(rows, np.float32).reshape(-1, self.dimension)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        vector: NDArray[np.float32] = self._recall("embed_query", text)[0]
        return vector

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        return self._bare.token_spans(text)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self._bare.count_tokens(texts)

    @property
    def _bare(self) -> Embedder:
        return cast("Embedder", bare(self.name))


class RecordedJudge(_Recorded):
    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([self._recall("score", query, [t])[0, 0] for t in texts], np.float32)


class RecordedReranker(_Recorded):
    """With ``direction`` -1, the worst comes first."""

    def __init__(self, name: str, *, direction: int = 1) -> None:
        super().__init__(name)
        self._direction = direction

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        scores = [self._recall("score", query, [text])[0, 0] for text in texts]
        return np.array(scores, np.float32) * self._direction


class _Numbers:
    """A reader whose readings are numbers, which can be kept."""

    def __init__(self, name: str) -> None:
        self._name = name

    def read(self, question: str, text: str, lead: str) -> list[float]:
        (reading,) = bare(self._name).read(question, [text], leads=[lead])
        return [reading.score, reading.start, reading.end, reading.margin]


class RecordedReader(_Recorded):
    def read(
        self, question: str, texts: Sequence[str], *, leads: Sequence[str] = ()
    ) -> list[Reading]:
        pairs = zip(texts, leads or [""] * len(texts), strict=True)
        return [self._read(question, text, lead) for text, lead in pairs]

    def _read(self, question: str, text: str, lead: str) -> Reading:
        score, start, end, margin = self._recall("read", question, text, lead)[0].tolist()
        return Reading(score, int(start), int(end), margin)


def _instead(specs: Mapping[str, Any], backends: Mapping[str, str]) -> dict[str, Any]:
    """The setting with other backends for the packaged models."""
    options = {
        name: {"BACKEND": path, "OPTIONS": {"name": name}} for name, path in backends.items()
    }
    return {**specs, **options}


_EMBEDDERS = [name for name in product.PKB_EMBEDDERS if name in SPECS]
RECORDED = {
    "PKB_EMBEDDERS": _instead(
        product.PKB_EMBEDDERS,
        dict.fromkeys(_EMBEDDERS, "tests.recordings.models.RecordedEmbedder"),
    ),
    "PKB_RERANKERS": _instead(
        product.PKB_RERANKERS,
        {
            JUDGE: "tests.recordings.models.RecordedJudge",
            RERANKER: "tests.recordings.models.RecordedReranker",
        },
    ),
    "PKB_READERS": _instead(
        product.PKB_READERS, {READER: "tests.recordings.models.RecordedReader"}
    ),
}
BARE = {
    setting: _instead(
        getattr(product, setting),
        dict.fromkeys(SPECS.keys() & getattr(product, setting), "tests.recordings.models.bare"),
    )
    for setting in RECORDED
}
