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
        model = _load_model(folder)
        _write_graph(model, path)
        _check_agreement(model, folder, path, min_cosine=MIN_COSINE)
        if graph.name == QUANTIZED_GRAPH:
            from onnxruntime.quantization import QuantType, quantize_dynamic  # noqa: PLC0415  (heavy)

            quantize_dynamic(
                path, path, per_channel=True, reduce_range=True, weight_type=QuantType.QInt8
            )
            _check_agreement(model, folder, path, min_cosine=MIN_COSINE_QUANTIZED)

    write_once(graph, write)


def _load_model(folder: Path) -> "torch.nn.Module":
    import torch  # noqa: PLC0415  (heavy)
    from transformers import AutoModel  # noqa: PLC0415  (heavy)

    class TokenVectors(torch.nn.Module):
        """The model with arrays as inputs and one array as output, like a graph."""

        def __init__(self) -> None:
            super().__init__()
            # Has fewer nodes than fused attention, and runs faster.
            self.model = AutoModel.from_pretrained(
                folder, local_files_only=True, attn_implementation="eager"
            )

        def forward(
            self,
            input_ids: torch.Tensor,
            attention_mask: torch.Tensor,
            token_type_ids: torch.Tensor,
        ) -> torch.Tensor:
            inputs = (input_ids, attention_mask, token_type_ids)
            hidden: torch.Tensor = self.model(
                **dict(zip(_INPUTS, inputs, strict=True))
            ).last_hidden_state
            return hidden

    return TokenVectors().eval()


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
            output_names=["last_hidden_state"],
            dynamic_shapes=dict.fromkeys(_INPUTS, sizes),
            dynamo=True,
            external_data=False,
            verbose=False,
        )


def _check_agreement(
    model: "torch.nn.Module", folder: Path, graph: Path, *, min_cosine: float
) -> None:
    """Reject a graph whose token vectors differ from the model's."""
    import torch  # noqa: PLC0415  (heavy)

    rows = tokenize(load_tokenizer(folder), _PROBES)
    for batch in OnnxModel(graph, threads=1, batch_size=len(rows)).run(rows):
        for i, output, mask in zip(batch.rows, batch.output, batch.mask, strict=True):
            ids = torch.from_numpy(rows[i].ids.astype(np.int64))[None]
            with torch.no_grad():
                own = model(ids, torch.ones_like(ids), torch.zeros_like(ids))[0].numpy()
            exported = output[mask]
            norms = np.linalg.norm(own, axis=1) * np.linalg.norm(exported, axis=1)
            least = float(((own * exported).sum(axis=1) / norms).min())
            if not least >= min_cosine:  # written so that NaN fails too
                raise BackendError(
                    f"The exported graph differs from the model: cosine {least:.6f}."
                )


if __name__ == "__main__":
    export(Path(sys.argv[1]), Path(sys.argv[2]))
