"""Leave a model alone that does not answer, so that not everyone waits for it in vain."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

# A timeout costs the asker the whole time limit, and is enough; other failures come soon.
FAILURES_IN_A_ROW = 3


@dataclass(slots=True)
class CircuitBreaker:
    """Whether one model may be asked; safe to share between threads.

    After a timeout, or ``FAILURES_IN_A_ROW``, it may not for ``pause_s``. Then one asker may, and
    the others once that one was answered.

    Attributes:
        pause_s: Seconds; at 0 it may always be asked.
        clock: Seconds that never go back.
    """

    pause_s: float
    clock: Callable[[], float] = time.monotonic
    _failure_count: int = 0
    _reason: str = ""
    _closed_until: float = float("-inf")
    _is_probing: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def ask(self) -> str:
        """Return why the model may not be asked; empty where it may.

        Whoever may must tell how it went: ``succeeded``, ``failed`` or ``abandoned``.
        """
        with self._lock:
            if not self._reason:
                return ""
            left_s = self._closed_until - self.clock()
            if left_s > 0:
                return f"is not asked for {left_s:.0f} s more, since it {self._reason}"
            if self._is_probing:
                return f"is being tried again, since it {self._reason}"
            self._is_probing = True
            return ""

    def succeeded(self) -> None:
        """Note that the model answered, be it with a refusal: everyone may ask again."""
        with self._lock:
            self._failure_count, self._reason, self._is_probing = 0, "", False

    def abandoned(self) -> None:
        """Note that nobody waited for the answer: nothing is known, and the next may try."""
        with self._lock:
            self._is_probing = False

    def failed(self, reason: str, *, is_timeout: bool) -> None:
        """Note that the model did not answer, in words that go on "since it"."""
        with self._lock:
            self._failure_count += 1
            is_enough = is_timeout or self._is_probing or self._failure_count >= FAILURES_IN_A_ROW
            self._is_probing = False
            if is_enough and self.pause_s:
                self._reason = reason
                self._closed_until = self.clock() + self.pause_s
