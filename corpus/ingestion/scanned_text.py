"""Where text that OCR read stands on its pages, and how sure it is. Pure."""

import struct
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil

from corpus.characters import folded
from corpus.loaders.base import Place
from corpus.loaders.formats.pdf.page import MAX_BOXES, Box

# Places are whole ten-thousandths of the page's width.
_PARTS = 10_000
# Start, length, four coordinates, height, percent.
_RUN = struct.Struct("<IHHHHHHB")
_MOST = 2**16 - 1
# A mark on a line that climbs by more than this share of its height is made of several.
_STEP = 0.5


@dataclass(frozen=True, slots=True)
class ScannedRun:
    """The part ``start:end`` of a text that OCR read from one place."""

    start: int
    end: int
    place: Place


def runs_of(places: Sequence[Place], piece: str, *, start: int) -> Iterator[ScannedRun]:
    """Yield where runs are in a block that was normalized, by counting letters.

    Args:
        places: Of the block's runs, in order.
        piece: The block's text as it is stored.
        start: Of the block in the document.
    """
    if not places:
        return
    letters = [at for at, character in enumerate(piece) for _ in folded(character)]
    first = 0
    for place in places:
        last = first + place.letter_count
        if first < last <= len(letters):
            yield ScannedRun(start + letters[first], start + letters[last - 1] + 1, place)
        first = last


def pack_runs(runs: Iterable[ScannedRun]) -> str:
    """Return runs as text, 23 characters each."""
    packed = b"".join(
        _RUN.pack(
            run.start,
            min(run.end - run.start, _MOST),
            *(min(max(number, 0), _MOST) for number in run.place[2:]),
            round(run.place.confidence * 100),
        )
        for run in runs
    )
    return b64encode(packed).decode()


def unpack_runs(packed: str) -> tuple[ScannedRun, ...]:
    """Return what was packed; the places have no count of letters any more."""
    rows = _RUN.iter_unpack(b64decode(packed))
    return tuple(
        ScannedRun(start, start + length, Place(0, percent / 100, *numbers))
        for start, length, *numbers, percent in rows
    )


def find_runs(runs: Iterable[ScannedRun], start: int, end: int) -> list[ScannedRun]:
    """Return the runs that characters ``start:end`` touch."""
    return [run for run in runs if run.start < end and start < run.end]


def least_confidence(runs: Iterable[ScannedRun]) -> float | None:
    """Return how sure OCR is where it is least sure; None where there is nothing of it."""
    return min((run.place.confidence for run in runs), default=None)


def confidence_of(packed: str | None, start: int, end: int) -> float | None:
    """Return how sure OCR is of characters ``start:end``; None where it did not read them."""
    return least_confidence(find_runs(unpack_runs(packed or ""), start, end))


def boxes_of(runs: Iterable[ScannedRun], start: int, end: int, *, width: int) -> list[Box]:
    """Return where characters ``start:end`` stand on a picture of their page.

    Args:
        width: Of the picture, in pixels.
    """
    scale = width / _PARTS
    boxes: list[Box] = []
    for run in find_runs(runs, start, end):
        length = run.end - run.start
        # Letters are about equally wide.
        first = max(start - run.start, 0) / length
        last = min(end - run.start, length) / length
        boxes += _boxes(run.place, first, last, scale)
    return boxes[:MAX_BOXES]


def _boxes(place: Place, first: float, last: float, scale: float) -> Iterator[Box]:
    """Boxes over a part of a line, from one share of it to another."""
    across, down = place.x2 - place.x1, place.y2 - place.y1
    lesser = min(abs(across), abs(down)) * (last - first)
    count = min(max(ceil(lesser / max(place.height * _STEP, 1)), 1), MAX_BOXES)
    is_level = abs(across) >= abs(down)
    thick = (0, place.height / 2) if is_level else (place.height / 2, 0)
    for step in range(count):
        ends = [first + (last - first) * at / count for at in (step, step + 1)]
        xs = sorted(place.x1 + across * at for at in ends)
        ys = sorted(place.y1 + down * at for at in ends)
        left, right = (xs[0] - thick[0]) * scale, (xs[1] + thick[0]) * scale
        top, bottom = (ys[0] - thick[1]) * scale, (ys[1] + thick[1]) * scale
        yield Box(round(left), round(top), max(round(right - left), 1), max(round(bottom - top), 1))
