"""Running ONNX graphs of text models on the CPU: for embedders and rerankers alike."""

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, partial
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
        threads: Runs at once, each of one thread; 0 takes as many as the process has cores. Two
            threads inside of one run are slower than two runs.
        batch_size: Rows of one run.
        outputs: Outputs of the graph that are given out beside its first.
    """

    def __init__(
        self,
        graph: Path,
        *,
        threads: int,
        batch_size: int,
        outputs: Sequence[str] = (),
    ) -> None:
        self._graph = graph
        self._threads = threads or usable_core_count()
        self._session = _open_session(graph)
        self._input_names = {each.name for each in self._session.get_inputs()}
        self._first = self._session.get_outputs()[0].name
        self._further = list(outputs)
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
        starts = range(0, len(by_length), self._batch_size)
        batches = [by_length[start : start + self._batch_size] for start in starts]
        run = partial(self._run_batch, rows)
        if self._threads == 1 or len(batches) == 1:
            return map(run, batches)
        return _threads(self._threads).map(run, batches)

    def _run_batch(self, rows: Sequence[TokenRow], chosen: list[int]) -> Batch:
        feed = _pad([rows[i] for i in chosen])
        with _native_errors_of(self._graph):
            output, *further = self._session.run(
                [self._first, *self._further],
                {name: value for name, value in feed.items() if name in self._input_names},
            )
        mask = feed["attention_mask"].astype(bool)
        return Batch(chosen, mask, output, dict(zip(self._further, further, strict=True)))


@cache
def _threads(count: int) -> ThreadPoolExecutor:
    """The threads that the runs of all models of this process share."""
    return ThreadPoolExecutor(count, thread_name_prefix="model")


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


def _open_session(graph: Path) -> Any:
    import onnxruntime  # noqa: PLC0415  (heavy)

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # Else a plan of its buffers is kept for each length of text, 13 to 15 kB, and what was planned
    # is one piece, for which the arena is doubled. It is no faster (docs/decisions/0014).
    options.enable_mem_pattern = False
    with _native_errors_of(graph):
        return onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])


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
