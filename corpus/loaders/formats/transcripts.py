"""Transcripts as plain text with times in their lines, and times in a recording."""

import re
from itertools import pairwise
from pathlib import PurePath

from corpus.loaders.blocks import Block

# A time in a recording. Hours may be left out, and fractions of a second follow.
TIME = r"(?:\d{1,3}:)?[0-5]?\d:[0-5]\d"
_DAY_S = 86_400
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


def seconds_of(time: str) -> int:
    """Return the whole seconds of a time that ``TIME`` matches."""
    seconds = 0
    for part in re.findall(r"\d+", time)[:3]:
        seconds = seconds * 60 + int(part)
    return seconds


def time_label(seconds: int) -> str:
    """Return a time as citations show it, HH:MM:SS, or "" for an impossible one."""
    if not 0 <= seconds < _DAY_S:
        return ""
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def transcript_blocks(text: str, *, filename: str) -> list[Block]:
    """Return the blocks of a transcript with their times; none for other text."""
    lines = [line.rstrip() for line in text.split("\n")]
    matches = [_BEGINS.match(line) or _ENDS.match(line) for line in lines]
    time_of_line = [match[1] if match else "" for match in matches]
    times = [time for time in time_of_line if time]
    is_speech = PurePath(filename).suffix.lower() not in _NO_SPEECH
    if not is_speech or len(times) < max(_MIN_TIMES, _MIN_SHARE * sum(map(bool, lines))):
        return []
    # The times of a recording begin near zero, and increase.
    seconds = [seconds_of(time) for time in times]
    has_hours = all(time.count(":") == _HAS_HOURS for time in times)
    begins = has_hours or seconds[0] <= _MAX_START_S
    ascends = all(sooner <= later for sooner, later in pairwise(seconds))
    if not (begins and ascends and seconds[0] < seconds[-1]):
        return []
    # Blocks begin at a time, from the usual length on, and have the time of their first line.
    groups: list[tuple[str, list[str]]] = [("", [])]
    now = ""
    for line, time in zip(lines, time_of_line, strict=True):
        now = time or now
        if time and sum(map(len, groups[-1][1])) >= _BLOCK_CHARS:
            groups.append((now, []))
        elif not any(groups[-1][1]):
            groups[-1] = (now, groups[-1][1])
        groups[-1][1].append(line)
    blocks: list[Block] = []
    for time, group in groups:
        label = time_label(seconds_of(time)) if time else ""
        blocks.append(Block("\n".join(group).strip("\n"), labels=(label,) if label else ()))
    return blocks
