"""Parse times in a recording, and format them as HH:MM:SS."""

import re

# Hours may be left out, and fractions of a second follow.
TIME = r"(?:\d{1,3}:)?[0-5]?\d:[0-5]\d"
_DAY_S = 86_400


def seconds_of(stated: str) -> int:
    """Return the whole seconds of a time that ``TIME`` matches."""
    seconds = 0
    for part in re.findall(r"\d+", stated)[:3]:
        seconds = seconds * 60 + int(part)
    return seconds


def time_label(seconds: int) -> str:
    """Return a time as citations show it, or "" for an impossible one."""
    if not 0 <= seconds < _DAY_S:
        return ""
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
