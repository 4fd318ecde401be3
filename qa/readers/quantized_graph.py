"""Read and write the int8 weights of a BERT graph with numpy and onnx alone."""

from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from corpus.errors import BackendError

LAST_STATES: Final = "/bert/encoder/layer.11/output/LayerNorm/Add_1_output_0"
_QUANTIZED, _SCALE, _ZERO_POINT = "_quantized", "_scale", "_zero_point"
_MIN_SCALE = 1e-8
# Symmetric, so that the zero point is 0. With eight bits instead of seven, sums overflow on
# processors without VNNI (docs/decisions/0015).
_MAX_INT8 = 63


class QuantizedGraph:
    """The weights of a graph as floats, by their names in a BERT model.

    The quantizer renames a matrix; it is identified by the bias added to its product.

    Args:
        path: A ``model.onnx`` that onnxruntime quantized dynamically.

    Raises:
        BackendError: The file is missing or no graph.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        import onnx  # noqa: PLC0415  (heavy)
        from google.protobuf.message import DecodeError  # noqa: PLC0415  (of onnx)

        try:
            self._model: Any = onnx.load(path)
        except (DecodeError, OSError) as exc:
            raise BackendError(f"The graph {path} cannot be read: {exc}") from exc
        self._tensors = {tensor.name: tensor for tensor in self._model.graph.initializer}
        self._stored_names = self._find_matrices()

    def weights(self) -> dict[str, NDArray[np.float32]]:
        """Return all weights by name: matrices, embedding tables, and vectors of shape (d,)."""
        vectors = [name for name in self._tensors if name.endswith((".bias", "LayerNorm.weight"))]
        quantized = [
            name.removesuffix(_QUANTIZED) for name in self._tensors if name.endswith(_QUANTIZED)
        ]
        return {
            **{name: self._dequantized(name) for name in quantized if "embeddings" in name},
            **{name: self._array(name) for name in vectors},
            **{name: self.matrix(name) for name in self._stored_names},
        }

    def matrix(self, name: str) -> NDArray[np.float32]:
        """Return shape (out, in), as torch has it."""
        return np.ascontiguousarray(self._dequantized(self._stored_name(name)).T)

    def set_matrix(self, name: str, values: NDArray[np.float32]) -> None:
        """Quantize a matrix with one scale per output, and replace the old one.

        Raises:
            BackendError: Its shape differs from the old one's, or it is not finite.
        """
        stored = self._stored_name(name)
        columns = values.T
        self._check_fit(name, columns, like=stored + _QUANTIZED)
        largest = np.abs(columns).max(axis=0)
        scale = (np.maximum(largest, _MIN_SCALE) / _MAX_INT8).astype(np.float32)
        rounded = np.clip(np.round(columns / scale), -_MAX_INT8, _MAX_INT8).astype(np.int8)
        self._put(stored + _QUANTIZED, rounded)
        self._put(stored + _SCALE, scale)
        self._put(stored + _ZERO_POINT, np.zeros(len(scale), np.int8))

    def set_vector(self, name: str, values: NDArray[np.float32]) -> None:
        """Replace a vector.

        Raises:
            BackendError: Its shape differs from the old one's, or it is not finite.
        """
        self._check_fit(name, values, like=name)
        self._put(name, values)

    def add_head(self, name: str, weight: NDArray[np.float32], bias: NDArray[np.float32]) -> None:
        """Add an output: a linear layer, shape (out, in), over each token's last state.

        Raises:
            BackendError: Its width differs from the states', or it is not finite.
        """
        from onnx import TensorProto, helper  # noqa: PLC0415  (heavy)

        width = len(self._array("bert.embeddings.LayerNorm.weight"))
        if weight.shape != (len(bias), width) or not _are_finite(weight, bias):
            raise self._misfit(name)
        matrix, vector, product = f"{name}.weight", f"{name}.bias", f"{name}.product"
        graph = self._model.graph
        graph.initializer.extend([_tensor(matrix, weight.T), _tensor(vector, bias)])
        graph.node.append(helper.make_node("MatMul", [LAST_STATES, matrix], [product]))
        graph.node.append(helper.make_node("Add", [product, vector], [name]))
        shape: list[str | int | None] = ["batch", "tokens", len(bias)]
        graph.output.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))

    def save(self, path: Path) -> None:
        path.write_bytes(self._model.SerializeToString())

    def _find_matrices(self) -> dict[str, str]:
        """Map each matrix's name to its stored name without suffix."""
        makers = {output: node for node in self._model.graph.node for output in node.output}
        stored_names = {}
        for node in self._model.graph.node:
            bias = next((i for i in node.input if i.endswith(".bias") and i in self._tensors), "")
            product = _follow_back(makers, node, ("Mul", "Cast", "MatMulInteger")) if bias else None
            if product is not None:
                name = f"{bias.removesuffix('.bias')}.weight"
                stored_names[name] = str(product.input[1]).removesuffix(_QUANTIZED)
        return stored_names

    def _stored_name(self, name: str) -> str:
        if name not in self._stored_names:
            raise self._misfit(name)
        return self._stored_names[name]

    def _dequantized(self, stored: str) -> NDArray[np.float32]:
        whole, zero = self._array(stored + _QUANTIZED), self._array(stored + _ZERO_POINT)
        scale: NDArray[np.float32] = self._array(stored + _SCALE)
        return (whole.astype(np.float32) - zero.astype(np.float32)) * scale

    def _array(self, name: str) -> NDArray[Any]:
        from onnx import numpy_helper  # noqa: PLC0415  (heavy)

        if name not in self._tensors:
            raise self._misfit(name)
        array: NDArray[Any] = numpy_helper.to_array(self._tensors[name])
        return array

    def _check_fit(self, name: str, values: NDArray[np.float32], *, like: str) -> None:
        if values.shape != self._array(like).shape or not _are_finite(values):
            raise self._misfit(name)

    def _put(self, name: str, values: NDArray[Any]) -> None:
        self._tensors[name].CopyFrom(_tensor(name, values))

    def _misfit(self, name: str) -> BackendError:
        return BackendError(f"The graph {self._path} has no weights {name!r} of that shape.")


def _follow_back(makers: dict[str, Any], node: Any, kinds: tuple[str, ...]) -> Any:
    """Return the node that leads to this one through nodes of these kinds, or None."""
    for kind in kinds:
        before = [makers[name] for name in node.input if name in makers]
        node = next((each for each in before if each.op_type == kind), None)
        if node is None:
            return None
    return node


def _are_finite(*arrays: NDArray[np.float32]) -> bool:
    return all(bool(np.isfinite(array).all()) for array in arrays)


def _tensor(name: str, values: NDArray[Any]) -> Any:
    from onnx import numpy_helper  # noqa: PLC0415  (heavy)

    return numpy_helper.from_array(np.ascontiguousarray(values), name)
