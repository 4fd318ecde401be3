"""Geometry of small charts, drawn as SVG by templates; pure functions."""

from collections.abc import Sequence
from datetime import date, timedelta
from typing import NamedTuple

# Colours of the stylesheet, and pixels of the drawing.
HUES = 8
WIDTH = 640
HEIGHT = 400
MARGIN = 12


class Dot(NamedTuple):
    """A place on a map: pixels from its upper left corner; ``hue`` is one of ``HUES``."""

    x: float
    y: float
    hue: int


class DayBar(NamedTuple):
    """The ratings of one day: bars up from the axis, and down from it, in pixels."""

    day: date
    up: int
    down: int
    x: float
    width: float
    up_top: float
    up_height: float
    down_height: float


# Pixels: the axis stands in the middle, likes above it and dislikes below.
BARS_HEIGHT = 140
AXIS = 70


def place_dot(x: float, y: float, *, hue: int) -> Dot:
    """Place coordinates in [0, 1] on the map; y grows upwards."""
    return Dot(
        round(MARGIN + x * (WIDTH - 2 * MARGIN), 1),
        round(HEIGHT - MARGIN - y * (HEIGHT - 2 * MARGIN), 1),
        hue % HUES,
    )


def day_bars(counts: Sequence[tuple[date, int, int]], *, last: date, days: int) -> list[DayBar]:
    """Draw the ratings (day, up, down) of the days that end with ``last``; quiet days are empty."""
    known = {day: (up, down) for day, up, down in counts}
    most = max([1, *(max(pair) for pair in known.values())])
    step = WIDTH / days
    room = AXIS - MARGIN
    bars = []
    for number in range(days):
        day = last - timedelta(days=days - 1 - number)
        up, down = known.get(day, (0, 0))
        # Seven tenths of a day's room are bar, the rest parts it from its neighbours.
        place = round(number * step + step * 0.15, 1)
        height, depth = round(up / most * room, 1), round(down / most * room, 1)
        width = round(step * 0.7, 1)
        bars.append(DayBar(day, up, down, place, width, round(AXIS - height, 1), height, depth))
    return bars
