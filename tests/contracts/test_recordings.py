"""What most tests take for a model's word is what the model says."""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.recordings.files import Recording, dump, read, read_calls
from tests.recordings.models import KEPT, SPECS, asked, digest_of

pytestmark = pytest.mark.slow

# Quantized graphs differ from one kind of CPU to the next; unit vectors this far apart have a
# cosine of .98.
FAR = 0.2


class Echo:
    """Says how often it was asked."""

    def __init__(self) -> None:
        self.count = 0

    def say(self, text: str) -> list[float]:
        self.count += 1
        return [float(self.count), float(len(text))]


@pytest.mark.parametrize("name", SPECS)
def test_what_is_on_file_is_said_again(name: str) -> None:
    weights = digest_of(SPECS[name]["OPTIONS"])
    path = KEPT / f"{name}.npz"
    kept = read(path, weights)
    for key, call in read_calls(path, weights).items():
        method, *arguments = json.loads(call)
        said = np.atleast_2d(np.array(getattr(asked(name), method)(*arguments), np.float32))
        assert said.shape == kept[key].shape, call
        assert is_near(said, kept[key]), call


def is_near(said: NDArray[np.float32], kept: NDArray[np.float32]) -> bool:
    scale = np.maximum(np.linalg.norm(kept, axis=1), 1)
    return bool((np.linalg.norm(said - kept, axis=1) <= FAR * scale).all())


def test_a_model_is_asked_once_and_answers_for_good(tmp_path: Path) -> None:
    model = Echo()
    recording = Recording(model, weights="w", known={})
    first = recording.recall("say", "hello")
    first[0, 0] = 99  # its own copy
    assert recording.recall("say", "hello").tolist() == [[1, 5]]
    assert recording.recall("say", "bye").tolist() == [[2, 3]]
    path = tmp_path / "echo.npz"
    path.write_bytes(dump("w", recording.new, {}))
    again = Recording(model, weights="w", known=read(path, "w"))
    assert again.recall("say", "bye").tolist() == [[2, 3]]
    assert (model.count, again.new) == (2, {})
    assert read(path, "other weights") == {}
