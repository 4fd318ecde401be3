"""Transcripts as plain text, with times in their lines."""

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import PurePath

from corpus.loaders.base import Block
from corpus.loaders.formats.speech.times import TIME, seconds_of, time_label

# "[00:12:31] Words", "12:31 - Ann: Words"; or "Ann  00:12:31" above the words.
_BEGINS = re.compile(rf"\A[ \t]*+[\[(]?({TIME})(?:[.,]\d{{1,3}})?[\])]?(?:[ \t]*[-–—:>]*[ \t]|$)")
_ENDS = re.compile(rf"\A[^\n:]{{0,59}}[^\s:][ \t]++[\[(]?({TIME})(?:[.,]\d{{1,3}})?[\])]?:?[ \t]*$")
_MIN_TIMES = 4
# Minimum share of lines with times; with fewer, the times mean something else.
_MIN_SHARE = 0.125
# A first time without hours is near the start of a recording, else a time of day.
_MAX_START_S = 120
_HAS_HOURS = 2
_BLOCK_CHARS = 400
# Formats whose lines begin with times but are not speech.
_NO_SPEECH = frozenset((".log",))


def transcript_blocks(text: str, *, filename: str) -> list[Block]:
    """Return the blocks of a transcript with their times; none for other text.

    Args:
        text: With one kind of line break.
        filename: Its extension may rule out speech.
    """
    lines = [line.rstrip() for line in text.split("\n")]
    stated = [_time_of(line) for line in lines]
    times = [time for time in stated if time]
    is_speech = PurePath(filename).suffix.lower() not in _NO_SPEECH
    if not is_speech or len(times) < max(_MIN_TIMES, _MIN_SHARE * sum(map(bool, lines))):
        return []
    return list(_blocks(lines, stated)) if _go_on(times) else []


def _go_on(times: list[str]) -> bool:
    """Return whether times increase like those of a recording."""
    seconds = [seconds_of(time) for time in times]
    has_hours = all(time.count(":") == _HAS_HOURS for time in times)
    begins = has_hours or seconds[0] <= _MAX_START_S
    ascends = all(sooner <= later for sooner, later in pairwise(seconds))
    return begins and ascends and seconds[0] < seconds[-1]


def _time_of(line: str) -> str:
    found = _BEGINS.match(line) or _ENDS.match(line)
    return found[1] if found else ""


def _blocks(lines: list[str], stated: list[str]) -> Iterator[Block]:
    """Yield blocks of lines between times, up to the usual block length."""
    pending: list[str] = []
    time = now = ""
    for line, said in zip(lines, stated, strict=True):
        if said and sum(map(len, pending)) >= _BLOCK_CHARS:
            yield _block(pending, time)
            pending = []
        now = said or now
        if not any(pending):
            time = now
        pending.append(line)
    yield _block(pending, time)


def _block(lines: list[str], time: str) -> Block:
    label = time_label(seconds_of(time)) if time else ""
    return Block("\n".join(lines).strip("\n"), labels=(label,) if label else ())
