"""Circuit breaker for language models."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

# One timeout is enough, since it costs the caller the whole time limit; other failures are quick.
FAILURES_IN_A_ROW = 3


@dataclass(slots=True)
class CircuitBreaker:
    """Stops calls to one model after failures; safe to share between threads.

    After a timeout, or ``FAILURES_IN_A_ROW`` failures, no call is allowed for ``pause_s``. Then one
    call probes the model; once it succeeds, all are allowed again.

    Attributes:
        pause_s: Seconds; 0 always allows calls.
        clock: A monotonic clock in seconds.
    """

    pause_s: float
    clock: Callable[[], float] = time.monotonic
    _failure_count: int = 0
    _reason: str = ""
    _closed_until: float = float("-inf")
    _is_probing: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def ask(self) -> str:
        """Return why the model must not be called; empty if it may be.

        A caller that was allowed must report ``succeeded``, ``failed`` or ``abandoned``.
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
        """Record that the model replied, even with a refusal: all calls are allowed."""
        with self._lock:
            self._failure_count, self._reason, self._is_probing = 0, "", False

    def abandoned(self) -> None:
        """Record that the reply was not awaited: the next call may probe."""
        with self._lock:
            self._is_probing = False

    def failed(self, reason: str, *, is_timeout: bool) -> None:
        """Record a failure; ``reason`` completes "since it ..."."""
        with self._lock:
            self._failure_count += 1
            is_enough = is_timeout or self._is_probing or self._failure_count >= FAILURES_IN_A_ROW
            self._is_probing = False
            if is_enough and self.pause_s:
                self._reason = reason
                self._closed_until = self.clock() + self.pause_s
