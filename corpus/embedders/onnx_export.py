"""Export a transformers model to ONNX: ``python -m corpus.embedders.onnx_export FOLDER TARGET``.

``exported_graph`` runs it in a process of its own, so that the serving process never loads torch
(docs/decisions/0015). A target called ``model-int8.onnx`` is quantized.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from corpus.atomic_files import write_once
from corpus.embedders.model_files import QUANTIZED_GRAPH
from corpus.embedders.onnx import OnnxModel
from corpus.embedders.tokens import load_tokenizer, tokenize
from corpus.errors import BackendError

if TYPE_CHECKING:
    import torch

# Minimum cosine of a token's vector by the graph and by the model; docs/decisions/0015.
MIN_COSINE = 0.9999
MIN_COSINE_QUANTIZED = 0.95
# Of a classifier, the maximum difference of a logit: a reranker's go from about -11 to 11.
MAX_DIFFERENCE = 0.01
MAX_DIFFERENCE_QUANTIZED = 1.0

# Dimensions of a classifier's output, (b, n); of one of token vectors it has three.
CLASSIFIER_RANK = 2
_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
_PROBES = ("", "What is the refund period?", "naïve 東京 \U0001f600 " + "token " * 60)


def export(folder: Path, graph: Path) -> None:
    """Write the graph if it is missing; a concurrent call waits.

    The weights of a quantized graph have 7 bits, because products of 8 overflow on CPUs without
    VNNI, and one scale for each channel. One scale for each matrix would be less exact
    (docs/decisions/0015).

    Raises:
        BackendError: The graph does not agree with the model.
    """

    def write(path: Path) -> None:
        model = load_model(folder)
        _write_graph(model, path)
        check_agreement(model, folder, path)
        if graph.name == QUANTIZED_GRAPH:
            import onnx  # noqa: PLC0415  (heavy)
            from onnxruntime.quantization import QuantType, quantize_dynamic  # noqa: PLC0415  (heavy)

            floats = onnx.load(path)
            # The shapes that torch notes of a classifier's head contradict those that onnx infers.
            # Of others they must stay: without them the vectors differ from stored ones.
            if len(floats.graph.output[0].type.tensor_type.shape.dim) == CLASSIFIER_RANK:
                floats.graph.ClearField("value_info")
                onnx.save(floats, path)
            quantize_dynamic(
                path, path, per_channel=True, reduce_range=True, weight_type=QuantType.QInt8
            )
            check_agreement(model, folder, path, quantized=True)

    write_once(graph, write)


def load_model(folder: Path) -> "torch.nn.Module":
    """Load a model of token vectors, shape (b, t, d), or a classifier of logits, shape (b, n)."""
    import torch  # noqa: PLC0415  (heavy)
    from transformers import (  # noqa: PLC0415  (heavy)
        AutoConfig,
        AutoModel,
        AutoModelForSequenceClassification,
    )

    kinds = AutoConfig.from_pretrained(folder, local_files_only=True).architectures or []
    is_classifier = any(kind.endswith("ForSequenceClassification") for kind in kinds)
    loader = AutoModelForSequenceClassification if is_classifier else AutoModel

    class FirstOutput(torch.nn.Module):
        """The model with arrays as inputs and one array as output, like a graph."""

        def __init__(self) -> None:
            super().__init__()
            # Has fewer nodes than fused attention, and runs faster.
            self.model = loader.from_pretrained(
                folder, local_files_only=True, attn_implementation="eager"
            )

        def forward(
            self,
            input_ids: torch.Tensor,
            attention_mask: torch.Tensor,
            token_type_ids: torch.Tensor,
        ) -> torch.Tensor:
            inputs = (input_ids, attention_mask, token_type_ids)
            output: torch.Tensor = self.model(**dict(zip(_INPUTS, inputs, strict=True)))[0]
            return output

    return FirstOutput().eval()


def _write_graph(model: "torch.nn.Module", path: Path) -> None:
    import torch  # noqa: PLC0415  (heavy)

    # The export treats sizes of 0 or 1 as constants, and one tensor given three times as one input:
    # the graph would be silently wrong.
    shape = (2, 16)
    example = (
        torch.arange(100, 132).reshape(shape),
        torch.tensor([[1] * 16, [1] * 9 + [0] * 7]),
        torch.zeros(shape, dtype=torch.int64),
    )
    sizes = {0: torch.export.Dim("batch"), 1: torch.export.Dim("sequence")}
    with torch.no_grad():
        torch.onnx.export(
            model,
            example,
            path,
            input_names=list(_INPUTS),
            output_names=["output"],
            dynamic_shapes=dict.fromkeys(_INPUTS, sizes),
            dynamo=True,
            external_data=False,
            verbose=False,
        )


def check_agreement(
    model: "torch.nn.Module", folder: Path, graph: Path, *, quantized: bool = False
) -> str:
    """Return how far a graph's outputs are from the model's, in words.

    Raises:
        BackendError: Too far.
    """
    import torch  # noqa: PLC0415  (heavy)

    min_cosine = MIN_COSINE_QUANTIZED if quantized else MIN_COSINE
    max_difference = MAX_DIFFERENCE_QUANTIZED if quantized else MAX_DIFFERENCE
    rows = tokenize(load_tokenizer(folder), _PROBES)
    cosines, differences = [], []
    for batch in OnnxModel(graph, threads=1, batch_size=len(rows)).run(rows):
        for i, output, mask in zip(batch.rows, batch.output, batch.mask, strict=True):
            ids = torch.from_numpy(rows[i].ids.astype(np.int64))[None]
            with torch.no_grad():
                own = model(ids, torch.ones_like(ids), torch.zeros_like(ids))[0].numpy()
            if own.ndim == 1:
                differences.append(float(np.abs(own - output).max()))
                continue
            exported = output[mask]
            norms = np.linalg.norm(own, axis=1) * np.linalg.norm(exported, axis=1)
            cosines.append(float(((own * exported).sum(axis=1) / norms).min()))
    # Written so that NaN fails too.
    if not all(cosine >= min_cosine for cosine in cosines):
        raise BackendError(f"The exported graph differs from the model: cosine {min(cosines):.6f}.")
    if not all(difference <= max_difference for difference in differences):
        raise BackendError(
            f"The exported graph differs from the model: logits by {max(differences):.6f}."
        )
    if differences:
        return f"logits differ by {max(differences):.2g} at most"
    return f"cosine of token vectors {min(cosines):.4f} at least"


if __name__ == "__main__":
    export(Path(sys.argv[1]), Path(sys.argv[2]))
