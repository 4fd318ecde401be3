"""What must come is waited for, and no longer than so."""

import time
from collections.abc import Callable

POLL_S = 0.02


def wait_until(
    is_so: Callable[[], bool], *, timeout_s: float = 120, what: str = "what was waited for"
) -> None:
    """Wait for what must come.

    Raises:
        AssertionError: It did not.
    """
    deadline = time.monotonic() + timeout_s
    while not is_so():
        assert time.monotonic() < deadline, f"not within {timeout_s:.0f} s: {what}"
        time.sleep(POLL_S)
