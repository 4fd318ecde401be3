"""Take away from a process, for good, what a parser never needs: sockets, and other programs."""

import ctypes
import errno
import platform
import struct
import sys
from typing import Final

# The names of linux/prctl.h, linux/seccomp.h, linux/audit.h and linux/bpf_common.h.
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 38, 22, 2
_LOAD_WORD, _JUMP_IF_EQUAL, _JUMP_IF_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _KILL = 0x7FFF0000, 0x80000000
_REFUSE = 0x00050000 | errno.EPERM
# Offsets in struct seccomp_data.
_NUMBER, _ARCHITECTURE = 0, 4
# Of x86-64, a second way to make the same calls.
_X32_CALLS = 0x40000000
# By machine: its architecture, and the numbers of socket, connect, ptrace, execve, execveat and
# io_uring_setup, which makes the others another way.
_CALLS: Final = {
    "x86_64": (0xC000003E, (41, 42, 101, 59, 322, 425)),
    "aarch64": (0xC00000B7, (198, 203, 117, 221, 281, 425)),
}


def forbid_sockets_and_programs() -> bool:
    """Have the kernel refuse these calls with EPERM to this thread and all it starts.

    Returns:
        False where the system has no such filter: not Linux, another processor, a kernel without.
    """
    machine = _CALLS.get(platform.machine())
    if sys.platform != "linux" or machine is None:
        return False
    architecture, numbers = machine
    count = len(numbers)
    program = b"".join(
        struct.pack("HBBI", *instruction)
        for instruction in (
            (_LOAD_WORD, 0, 0, _ARCHITECTURE),
            (_JUMP_IF_EQUAL, 1, 0, architecture),
            (_RETURN, 0, 0, _KILL),
            (_LOAD_WORD, 0, 0, _NUMBER),
            # Jumps count the instructions to skip: to the last one, which refuses.
            (_JUMP_IF_AT_LEAST, count + 1, 0, _X32_CALLS),
            *((_JUMP_IF_EQUAL, count - at, 0, number) for at, number in enumerate(numbers)),
            (_RETURN, 0, 0, _ALLOW),
            (_RETURN, 0, 0, _REFUSE),
        )
    )
    code = ctypes.create_string_buffer(program, len(program))
    pointer = ctypes.addressof(code)
    filter_program = ctypes.create_string_buffer(struct.pack("@HP", len(program) // 8, pointer))
    libc = ctypes.CDLL(None, use_errno=True)
    zero = ctypes.c_ulong(0)
    # Without new privileges, the kernel lets everybody set a filter.
    refused = libc.prctl(_PR_SET_NO_NEW_PRIVS, ctypes.c_ulong(1), zero, zero, zero)
    mode = ctypes.c_ulong(_SECCOMP_MODE_FILTER)
    return not (refused or libc.prctl(_PR_SET_SECCOMP, mode, filter_program))
