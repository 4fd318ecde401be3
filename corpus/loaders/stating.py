"""Numbers that files state about themselves."""

_MAX_DIGITS = 12


def stated_number(stated: str | None, *, default: int, most: int) -> int:
    """A whole number from 0 to ``most``; the default where none is stated.

    Files may state anything: a cell that spans a billion columns, a number of 5,000 digits.
    """
    if not stated or not stated.isdecimal():
        return default
    return min(int(stated[:_MAX_DIGITS]), most)
