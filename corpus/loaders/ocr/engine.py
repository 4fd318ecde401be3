"""Read lines of text from a page image with rapidocr.

Only the process that reads files imports this, at the first scan. The weights are in the package;
their paths are set, so that it does not download any.
"""

import importlib
import os
from functools import cache
from math import dist, hypot
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpus.loaders.blocks import Scan, ScannedLine

if TYPE_CHECKING:
    from numpy import ndarray

_WEIGHTS = {"Det": "PP-OCRv6_det_small.onnx", "Rec": "PP-OCRv6_rec_small.onnx"}
# Lines are detected in an image of this many pixels (A4 at 109 dpi), and read from the full one.
# More pixels take more time and memory (benchmarks/results/ocr.md).
FINDING_PIXELS = 1_250_000
# An image with a shorter side than this is a clipping, whose letters may be small.
_SMALL_PX = 736
_MAX_ENLARGED = 2.0
# Narrower than any letter.
_MIN_PX = 8
# Results below this confidence are not text, but leaves, stamps or paper grain.
MIN_CONFIDENCE = 0.5
# Letters are at most twice as wide as high. A line with fewer is in a script the model does not
# know: Cyrillic gives a confident comma.
_MIN_LETTERS_A_HEIGHT = 0.5
# Confidence of pages upside down was 0.61 to 0.63, and 0.99 upright.
_TURNED_BELOW = 0.85
# A box this much higher than wide is a vertical line.
_UPRIGHT = 1.5


def load() -> None:
    """Load the weights into this process, and run each model once."""
    import numpy as np  # noqa: PLC0415 - only where a scan came

    blank = np.full((64, 320, 3), 255, np.uint8)
    _engine()(blank, use_det=True, use_cls=False, use_rec=False)
    _engine().recognize_txt([blank])


def read(picture: "ndarray[Any, Any]") -> Scan:
    """Return the lines of an image.

    Args:
        picture: Blue, green and red bytes, by row and column.
    """
    height, width = picture.shape[:2]
    boxes: Any = _find(picture) if min(height, width) >= _MIN_PX else ()
    if not len(boxes):
        return Scan(width, height, (), None)
    across = abs(boxes[:, 1] - boxes[:, 0]).max(axis=1)
    down = abs(boxes[:, 3] - boxes[:, 0]).max(axis=1)
    are_vertical = down > across * _UPRIGHT
    turns = int(down[are_vertical].sum() > across[~are_vertical].sum())
    lines = _read_turned(picture, turns, boxes=None if turns else boxes)
    if _mean_confidence(lines) < _TURNED_BELOW:
        # The image may be upside down; the confidence shows it.
        other = _read_turned(picture, turns + 2)
        if _mean_confidence(other) > _mean_confidence(lines):
            lines, turns = other, turns + 2
    upright: list[ScannedLine] = []
    for line in [line for line in lines if line.text and line.confidence >= MIN_CONFIDENCE]:
        ends = [(line.x1, line.y1), (line.x2, line.y2)]
        for turn in range(turns, 0, -1):
            # The width before this quarter turn.
            turned_width = height if turn % 2 == 0 else width
            ends = [(turned_width - y, x) for x, y in ends]
        (x1, y1), (x2, y2) = ends
        upright.append(line._replace(x1=x1, y1=y1, x2=x2, y2=y2))
    return Scan(width, height, tuple(upright), _mean_confidence(lines))


@cache
def _engine() -> Any:
    # One thread: processes read pages in parallel, and a process that forks must have one.
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    importlib.import_module("cv2").setNumThreads(1)
    rapidocr = importlib.import_module("rapidocr")
    folder = Path(str(rapidocr.__file__)).parent / "models"
    return rapidocr.RapidOCR(
        params={
            "Global.log_level": "critical",
            "Global.use_preprocess_img": False,
            "Global.use_vertical_padding": False,
            "EngineConfig.onnxruntime.intra_op_num_threads": 1,
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
            # A batch pads lines to the longest: more memory, and not faster.
            "Rec.rec_batch_num": 1,
            # Images are resized here.
            "Det.limit_type": "max",
            "Det.limit_side_len": 2**20,
            **{f"{model}.model_path": str(folder / name) for model, name in _WEIGHTS.items()},
        }
    )


def _find(picture: "ndarray[Any, Any]") -> Any:
    """Return the corners of each line, clockwise from the upper left, as rows of four points."""
    cv2 = importlib.import_module("cv2")
    height, width = picture.shape[:2]
    max_scale = _MAX_ENLARGED if min(height, width) < _SMALL_PX else 1.0
    scale = min((FINDING_PIXELS / (height * width)) ** 0.5, max_scale)
    size = max(round(width * scale), _MIN_PX), max(round(height * scale), _MIN_PX)
    method = cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC
    small = cv2.resize(picture, size, interpolation=method)
    result = _engine()(small, use_det=True, use_cls=False, use_rec=False)
    if result.boxes is None:
        return ()
    return (result.boxes * (width / size[0], height / size[1])).astype("float32")


def _read_turned(
    picture: "ndarray[Any, Any]", turns: int, *, boxes: Any = None
) -> list[ScannedLine]:
    """Read an image turned counterclockwise by quarter turns; lines are in turned coordinates."""
    import numpy as np  # noqa: PLC0415

    turned = np.ascontiguousarray(np.rot90(picture, turns))
    boxes = _find(turned) if boxes is None else boxes
    if not len(boxes):
        return []
    engine = _engine()
    result = engine.recognize_txt(engine.crop_text_regions(turned, boxes))
    return [
        _line(text.strip(), confidence, box)
        for text, confidence, box in zip(result.txts, result.scores, boxes, strict=True)
    ]


def _line(text: str, confidence: float, box: Any) -> ScannedLine:
    """Build a line; its confidence is reduced if letters do not fill it.

    Args:
        box: Its corners, clockwise from the upper left.
    """
    corners = box.tolist()
    (x1, y1), (x2, _), _, (_, y4) = corners
    if abs(y4 - y1) > abs(x2 - x1) * _UPRIGHT:  # rapidocr reads it from below
        corners = [*corners[3:], *corners[:3]]
    (x1, y1), (x2, y2), (x3, y3), (x4, y4) = corners
    start, end = ((x1 + x4) / 2, (y1 + y4) / 2), ((x2 + x3) / 2, (y2 + y3) / 2)
    height = hypot(x4 - x1, y4 - y1)
    min_letters = dist(start, end) / max(height, 1.0) * _MIN_LETTERS_A_HEIGHT
    filled = min(len(text) / max(min_letters, 1.0), 1.0)
    return ScannedLine(text, round(float(confidence) * filled, 3), *start, *end, height)


def _mean_confidence(lines: list[ScannedLine]) -> float:
    lengths = [hypot(line.x2 - line.x1, line.y2 - line.y1) for line in lines]
    weighted = sum(line.confidence * length for line, length in zip(lines, lengths, strict=True))
    return round(weighted / max(sum(lengths), 1.0), 3)
