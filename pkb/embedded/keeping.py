"""Keep the embedded server running, without asking it at every turn whether it does."""

import time

from pkb.postgres import EmbeddedPostgres

TRUSTED_S = 1.0


class Keeper:
    """Starts a server again that somebody has stopped or killed.

    For a second after it answered the server is trusted: to ask takes 5 ms, since it forks a
    process for whoever asks, and every request would.
    """

    def __init__(self, server: EmbeddedPostgres) -> None:
        self._server = server
        self._answered_at = -TRUSTED_S

    def keep_running(self) -> None:
        """Start the server if it no longer runs.

        Raises:
            PostgresDidNotStart: with the reason, and the end of the server's log.
        """
        if time.monotonic() - self._answered_at > TRUSTED_S:
            self._server.start()
            self._answered_at = time.monotonic()
