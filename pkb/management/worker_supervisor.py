"""Keep a worker beside the server: where one breaks off, another starts, until the server ends.

``manage.py serve`` runs it as a process of its own. It knows nothing of Django, and takes 10 MB.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from time import monotonic, sleep

POLL_S = 0.5
# Before another starts; twice as long each time, until one lives for as long as the longest.
FIRST_PAUSE_S = 2.0
LONGEST_PAUSE_S = 60.0


def supervise_worker(command: Sequence[str], *, parent: int) -> None:
    """Run a command again until it was told to end (status 0), or the parent process has ended.

    It is given ``--parent``, this process, and from the second time on ``--after``: the status of
    the one before, negative where a signal ended it.
    """
    pause_s, after = FIRST_PAUSE_S, list[str]()
    while os.getppid() == parent:
        began = monotonic()
        status = _run([*command, "--parent", str(os.getpid()), *after], parent=parent)
        if status == 0:
            return
        if monotonic() - began > LONGEST_PAUSE_S:
            pause_s = FIRST_PAUSE_S
        sleep(pause_s)
        pause_s, after = min(2 * pause_s, LONGEST_PAUSE_S), [f"--after={status}"]


def _run(command: Sequence[str], *, parent: int) -> int:
    """Return how the command ended; 0 where the parent did first: the command ends with us."""
    worker = subprocess.Popen(command, stdin=subprocess.DEVNULL)  # noqa: S603  (our own command)
    while os.getppid() == parent:
        try:
            return worker.wait(POLL_S)
        except subprocess.TimeoutExpired:
            continue
    return 0


if __name__ == "__main__":
    # A terminal's Ctrl-C reaches the server and the worker as well.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _, parent, *command = sys.argv
    supervise_worker(command, parent=int(parent))
