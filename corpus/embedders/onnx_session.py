"""Running ONNX graphs of text models on the CPU: for embedders and rerankers alike."""

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corpus.embedders.tokens import TokenRow
from corpus.errors import BackendError

_CGROUP_QUOTA = Path("/sys/fs/cgroup/cpu.max")


class Batch(NamedTuple):
    """What the model made of some rows, padded to their longest.

    Attributes:
        rows: Which rows of the input, shape (b,).
        mask: bool, shape (b, t): False where a row is padding.
        output: float32, the graph's first output, shape (b, ...).
        further: float32, what else was asked for, by its name.
    """

    rows: list[int]
    mask: NDArray[np.bool_]
    output: NDArray[np.float32]
    further: Mapping[str, NDArray[np.float32]]


class OnnxModel:
    """An open graph; safe to share between threads.

    Args:
        graph: The ``model.onnx``.
        threads: Threads of one run; 0 takes as many as the process has cores.
        batch_size: Rows of one run.
        outputs: Outputs of the graph that are given out beside its first.
        inner: A tensor inside of the graph that is given out as well.
    """

    def __init__(
        self,
        graph: Path,
        *,
        threads: int,
        batch_size: int,
        outputs: Sequence[str] = (),
        inner: str = "",
    ) -> None:
        self._graph = graph
        self._session = _open_session(graph, threads or usable_core_count(), inner)
        self._input_names = {each.name for each in self._session.get_inputs()}
        self._first = self._session.get_outputs()[0].name
        self._further = [*outputs, *filter(None, [inner])]
        # A quantized graph scales each run's activations by their range over the whole batch,
        # so that a row would depend on its neighbours (docs/decisions/0015). Alone it depends on
        # nothing else, and is no slower on a CPU.
        quantized = self._session.get_modelmeta().producer_name == "onnx.quantize"
        self._batch_size = 1 if quantized else batch_size

    def run(self, rows: Sequence[TokenRow]) -> Iterator[Batch]:
        """Run rows of like length together, longest first.

        Raises:
            BackendError: The model failed.
        """
        by_length = sorted(range(len(rows)), key=lambda i: len(rows[i].ids), reverse=True)
        for start in range(0, len(by_length), self._batch_size):
            chosen = by_length[start : start + self._batch_size]
            feed = _pad([rows[i] for i in chosen])
            with _native_errors_of(self._graph):
                output, *further = self._session.run(
                    [self._first, *self._further],
                    {name: value for name, value in feed.items() if name in self._input_names},
                )
            mask = feed["attention_mask"].astype(bool)
            yield Batch(chosen, mask, output, dict(zip(self._further, further, strict=True)))


def usable_core_count() -> int:
    """Return the cores this process may use: its affinity, or less by a container's quota."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    try:
        quota, period = _CGROUP_QUOTA.read_text().split()
        allowed = math.ceil(int(quota) / int(period))
    except (OSError, ValueError):  # no such file, or the quota "max"
        return cores or 1
    return max(1, min(cores or 1, allowed))


def _pad(rows: Sequence[TokenRow]) -> dict[str, NDArray[np.int64]]:
    shape = len(rows), max(len(row.ids) for row in rows)
    feed = {
        name: np.zeros(shape, np.int64)
        for name in ("input_ids", "attention_mask", "token_type_ids")
    }
    for i, row in enumerate(rows):
        feed["input_ids"][i, : len(row.ids)] = row.ids
        feed["attention_mask"][i, : len(row.ids)] = 1
        feed["token_type_ids"][i, : len(row.ids)] = row.type_ids
    return feed


def _open_session(graph: Path, threads: int, inner: str) -> Any:
    import onnxruntime  # noqa: PLC0415  (heavy)

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # Waiting threads would burn the cores that other workers need.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    with _native_errors_of(graph):
        source = _with_output(graph, inner) if inner else str(graph)
        return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def _with_output(graph: Path, name: str) -> bytes:
    """Return the graph with one more output: the tensor of that name inside of it."""
    import onnx  # noqa: PLC0415  (heavy)
    from google.protobuf.message import DecodeError  # noqa: PLC0415  (of onnx)

    try:
        model = onnx.load(graph)
    except (DecodeError, OSError) as exc:
        raise BackendError(f"The model {graph} cannot be read: {exc}") from exc
    model.graph.output.append(
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None)
    )
    return bytes(model.SerializeToString())


@contextmanager
def _native_errors_of(graph: Path) -> Iterator[None]:
    """Raise the runtime's errors, which share no base of their own, as ``BackendError``."""
    from onnxruntime.capi import onnxruntime_pybind11_state as native  # noqa: PLC0415

    try:
        yield
    except (
        native.EPFail,
        native.Fail,
        native.InvalidArgument,
        native.InvalidGraph,
        native.InvalidProtobuf,
        native.NoModel,
        native.NoSuchFile,
        native.NotImplemented,
        native.RuntimeException,
    ) as exc:
        raise BackendError(f"The model {graph} failed: {exc}") from exc
