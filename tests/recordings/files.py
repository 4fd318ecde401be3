"""Outputs of one model by what it was asked, in a file that changes little when few are added."""

import json
from collections.abc import Mapping
from hashlib import sha256
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Outputs = dict[bytes, NDArray[np.float32]]
KEY_BYTES = 16


class Recording:
    """What a model said, and what it is asked for the first time.

    Args:
        model: Does what is not known; not loaded before that.
        weights: Its digest.
        known: What it said before, float32, of two dimensions each.

    Attributes:
        used: Keys of all that it was asked.
        new: What was not known.
    """

    def __init__(self, model: Any, *, weights: str, known: Outputs) -> None:
        self._model = model
        self._known = known
        self.weights = weights
        self.used: set[bytes] = set()
        self.new: Outputs = {}

    def recall(self, method: str, *arguments: Any) -> NDArray[np.float32]:
        """Return what the model's method returns for the arguments, of two dimensions."""
        key = key_of(method, *arguments)
        self.used.add(key)
        if key not in self._known:
            returned = getattr(self._model, method)(*arguments)
            self._known[key] = self.new[key] = np.atleast_2d(np.array(returned, np.float32))
        return self._known[key].copy()

    def heard(self) -> "Heard":
        return Heard(self.weights, self.used, self.new)


class Heard(NamedTuple):
    """What the tests of one process, or of several, have asked a model."""

    weights: str
    used: set[bytes]
    new: Outputs

    def __or__(self, other: "Heard") -> "Heard":
        return Heard(self.weights, self.used | other.used, {**self.new, **other.new})

    def dump(self) -> tuple[str, bytes, bytes]:
        """Return it as what goes from process to process."""
        return self.weights, b"".join(self.used), dump(self.weights, self.new)

    @classmethod
    def load(cls, dumped: tuple[str, bytes, bytes]) -> "Heard":
        weights, used, new = dumped
        keys = {used[at : at + KEY_BYTES] for at in range(0, len(used), KEY_BYTES)}
        return cls(weights, keys, load(BytesIO(new), weights))


def key_of(method: str, *arguments: Any) -> bytes:
    return sha256(json.dumps([method, *arguments]).encode()).digest()[:KEY_BYTES]


def read(path: Path, weights: str) -> Outputs:
    """Return what the file holds of the model with these weights: nothing if it is another's."""
    return load(path, weights) if path.exists() else {}


def load(file: Path | BytesIO, weights: str) -> Outputs:
    with np.load(file) as arrays:
        if str(arrays["weights"]) != weights:
            return {}
        keys, shapes, values = arrays["keys"], arrays["shapes"], arrays["values"]
    edges = pairwise([0, *np.cumsum(shapes.prod(axis=1)).tolist()])
    return {
        key.tobytes(): values[start:end].reshape(shape)
        for key, shape, (start, end) in zip(keys, shapes, edges, strict=True)
    }


def dump(weights: str, outputs: Mapping[bytes, NDArray[np.float32]]) -> bytes:
    """Return the outputs as bytes, the same for the same ones.

    They are sorted and not compressed: such numbers hardly can be, and of a file like this git
    stores only what has changed.
    """
    keys = sorted(outputs)
    packed = BytesIO()
    np.savez(
        packed,
        weights=np.array(weights),
        keys=np.frombuffer(b"".join(keys), np.uint8).reshape(-1, KEY_BYTES),
        shapes=np.array([outputs[key].shape for key in keys], np.int32).reshape(-1, 2),
        values=np.concatenate([np.empty(0, np.float32), *(outputs[key].ravel() for key in keys)]),
    )
    return packed.getvalue()
