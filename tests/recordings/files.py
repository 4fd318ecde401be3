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
# By key, what was asked, as JSON: the method and its arguments.
Calls = dict[bytes, str]
KEY_BYTES = 16
# Of this share of all calls the arguments are kept, so that they can be made again.
_SAMPLE = 1 / 64


Dumped = tuple[str, bytes, bytes, Calls]


class Recording:
    """What a model said, and what it is asked for the first time.

    Args:
        model: Does what is not known; not loaded before that.
        weights: Its digest.
        known: What it said before, float32, of two dimensions each.

    Attributes:
        used: Keys of all that it was asked.
        new: What was not known.
        calls: Some of the calls.
    """

    def __init__(self, model: Any, *, weights: str, known: Outputs) -> None:
        self._model = model
        self._known = known
        self.weights = weights
        self.used: set[bytes] = set()
        self.new: Outputs = {}
        self.calls: Calls = {}

    def recall(self, method: str, *arguments: Any) -> NDArray[np.float32]:
        """Return what the model's method returns for the arguments, of two dimensions."""
        call = json.dumps([method, *arguments])
        key = sha256(call.encode()).digest()[:KEY_BYTES]
        self.used.add(key)
        if key[0] < 256 * _SAMPLE:
            self.calls[key] = call
        if key not in self._known:
            returned = getattr(self._model, method)(*arguments)
            self._known[key] = self.new[key] = np.atleast_2d(np.array(returned, np.float32))
        return self._known[key].copy()

    def heard(self) -> "Heard":
        return Heard(self.weights, self.used, self.new, self.calls)


class Heard(NamedTuple):
    """What the tests of one process, or of several, have asked a model."""

    weights: str
    used: set[bytes]
    new: Outputs
    calls: Calls

    def __or__(self, other: "Heard") -> "Heard":
        return Heard(
            self.weights,
            self.used | other.used,
            {**self.new, **other.new},
            {**self.calls, **other.calls},
        )

    def dump(self) -> Dumped:
        """Return it as what goes from process to process."""
        return self.weights, b"".join(self.used), dump(self.weights, self.new, {}), self.calls

    @classmethod
    def load(cls, dumped: Dumped) -> "Heard":
        weights, used, new, calls = dumped
        keys = {used[at : at + KEY_BYTES] for at in range(0, len(used), KEY_BYTES)}
        return cls(weights, keys, _load(BytesIO(new), weights)[0], calls)


def read(path: Path, weights: str) -> Outputs:
    """Return what the file holds of the model with these weights: nothing if it is another's."""
    return _load(path, weights)[0] if path.exists() else {}


def read_calls(path: Path, weights: str) -> Calls:
    """Return the calls that the file keeps, of those whose outputs it holds."""
    return _load(path, weights)[1] if path.exists() else {}


def _load(file: Path | BytesIO, weights: str) -> tuple[Outputs, Calls]:
    with np.load(file) as arrays:
        if str(arrays["weights"]) != weights:
            return {}, {}
        keys, shapes, values = arrays["keys"], arrays["shapes"], arrays["values"]
        calls = {bytes.fromhex(key): call for key, call in json.loads(str(arrays["calls"])).items()}
    edges = pairwise([0, *np.cumsum(shapes.prod(axis=1)).tolist()])
    outputs = {
        key.tobytes(): values[start:end].reshape(shape)
        for key, shape, (start, end) in zip(keys, shapes, edges, strict=True)
    }
    return outputs, calls


def dump(weights: str, outputs: Mapping[bytes, NDArray[np.float32]], calls: Calls) -> bytes:
    """Return the outputs as bytes, the same for the same ones.

    They are sorted and not compressed: such numbers hardly can be, and of a file like this git
    stores only what has changed.
    """
    keys = sorted(outputs)
    packed = BytesIO()
    np.savez(
        packed,
        weights=np.array(weights),
        calls=np.array(json.dumps({key.hex(): calls[key] for key in keys if key in calls})),
        keys=np.frombuffer(b"".join(keys), np.uint8).reshape(-1, KEY_BYTES),
        shapes=np.array([outputs[key].shape for key in keys], np.int32).reshape(-1, 2),
        values=np.concatenate([np.empty(0, np.float32), *(outputs[key].ravel() for key in keys)]),
    )
    return packed.getvalue()
