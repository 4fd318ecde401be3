"""Merge a reader's own weights into the graph of a cross-encoder."""

from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from corpus.atomic_files import digest_files, write_once
from corpus.embedders.onnx import OnnxModel
from corpus.errors import BackendError
from qa.readers.quantized_graph import QuantizedGraph

# Increase it when this module creates another graph from the same weights.
MERGE_VERSION = 2
# LORA_SCALE * B A is added to a matrix.
LORA_SCALE = 2.0
# The outputs beside the logit; of every token (start, end), and (value, weight).
SPAN, QUESTION = "span", "question"
# The adapter's names of two matrices that the graph has already, and the graph's.
HEADS = {"pool": "bert.pooler.dense", "cls": "classifier"}

Weights = dict[str, NDArray[np.float32]]


def merged_graph(graph: Path, adapter: Path, cache_dir: Path) -> Path:
    """Return the path of the graph with the adapter merged; merge it on first use.

    Raises:
        BackendError: A file is broken, they do not fit each other, or the disk is full.
    """
    try:
        digest = digest_files([graph, adapter], version=MERGE_VERSION)
        merged = cache_dir / f"{adapter.stem}-{digest}" / "model.onnx"
        if not merged.is_file():
            write_once(merged, partial(_merge, graph, adapter))
    except OSError as exc:
        raise BackendError(f"The reader {adapter} cannot be merged into {graph}: {exc}") from exc
    return merged


def read_adapter(path: Path) -> Weights:
    """Read an adapter's weights: ``X.A`` and ``X.B`` for a matrix ``X.weight``, and the heads.

    Raises:
        BackendError: The file is missing or broken.
    """
    from safetensors import SafetensorError  # noqa: PLC0415  (heavy)
    from safetensors.numpy import load_file  # noqa: PLC0415  (heavy)

    try:
        return {name: array.astype(np.float32) for name, array in load_file(path).items()}
    except (SafetensorError, OSError) as exc:
        raise BackendError(f"The reader {path} cannot be read: {exc}") from exc


def _merge(graph: Path, adapter: Path, target: Path) -> None:
    weights, merged = read_adapter(adapter), QuantizedGraph(graph)
    try:
        _add_products(merged, weights)
        for ours, theirs in HEADS.items():
            merged.set_matrix(f"{theirs}.weight", weights[f"{ours}.weight"])
            merged.set_vector(f"{theirs}.bias", weights[f"{ours}.bias"])
        for head in (SPAN, QUESTION):
            merged.add_head(head, weights[f"{head}.weight"], weights[f"{head}.bias"])
    except (KeyError, ValueError, BackendError) as exc:
        raise BackendError(f"The reader {adapter} does not fit {graph}: {exc}") from exc
    merged.save(target)
    # Do not store a graph that does not open.
    OnnxModel(target, threads=1, batch_size=1, outputs=(SPAN, QUESTION))


def _add_products(graph: QuantizedGraph, weights: Weights) -> None:
    for key in weights:
        if key.endswith(".A"):
            layer = key.removesuffix(".A")
            product = LORA_SCALE * (weights[f"{layer}.B"] @ weights[key])
            before = graph.matrix(f"{layer}.weight")
            if product.shape != before.shape:
                raise ValueError(f"the product of {layer!r} has the shape {product.shape}")
            graph.set_matrix(f"{layer}.weight", before + product)
