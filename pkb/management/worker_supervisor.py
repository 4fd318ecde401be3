"""Run a worker beside the server, and restart it when it fails, until the server ends.

``manage.py serve`` runs this as its own process. It does not import Django, and takes 10 MB.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from time import monotonic, sleep

POLL_S = 0.5
# Delay before a restart; doubled each time, until a worker runs longer than the longest delay.
FIRST_PAUSE_S = 2.0
MAX_PAUSE_S = 60.0


def supervise_worker(command: Sequence[str], *, parent: int) -> None:
    """Restart a command until it exits with status 0 or the parent process has ended.

    The command gets ``--parent``, the id of this process, and after a restart ``--after``, the
    status of the previous run (negative: a signal ended it).
    """
    pause_s, after = FIRST_PAUSE_S, list[str]()
    while os.getppid() == parent:
        began = monotonic()
        worker = subprocess.Popen(  # noqa: S603  (our own command)
            [*command, "--parent", str(os.getpid()), *after], stdin=subprocess.DEVNULL
        )
        while worker.poll() is None and os.getppid() == parent:
            sleep(POLL_S)
        status = worker.returncode
        if not status:  # it was told to end, or the parent has ended, and so will it
            return
        if monotonic() - began > MAX_PAUSE_S:
            pause_s = FIRST_PAUSE_S
        sleep(pause_s)
        pause_s, after = min(2 * pause_s, MAX_PAUSE_S), [f"--after={status}"]


if __name__ == "__main__":
    # A terminal's Ctrl-C reaches the server and the worker as well.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _, parent, *command = sys.argv
    supervise_worker(command, parent=int(parent))
