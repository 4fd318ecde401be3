"""What a parser's process may not do once the filter is on."""

import platform
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
ATTEMPTS = {
    "socket": "socket.socket()",
    "unix socket": "socket.socket(socket.AF_UNIX)",
    "connect": "CONNECTED_BEFORE.connect(('127.0.0.1', 9))",
    "program": "os.execv('/bin/true', ['true'])",
    "subprocess": "subprocess.run(['/bin/true'])",
}


@pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() not in {"x86_64", "aarch64"},
    reason="the filter knows the calls of Linux on two processors",
)
@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_sockets_and_programs_are_refused(attempt: str) -> None:
    script = f"""
import os, socket, subprocess
from corpus.loaders.syscall_filter import forbid_sockets_and_programs
CONNECTED_BEFORE = socket.socket()
assert forbid_sockets_and_programs()
try:
    {ATTEMPTS[attempt]}
except PermissionError:
    print(open({str(ROOT / "manage.py")!r}).readline().strip(), os.getpid() > 0)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.stdout.endswith("True\n"), done.stderr
