"""Memory settings of the embedded Postgres."""

import os
from contextlib import suppress
from pathlib import Path

MIB = 2**20


def scaled_settings(memory_bytes: int) -> dict[str, str]:
    """Return memory settings for a machine of this size that also runs other programs."""

    def share(divisor: int, min_mib: int, max_mib: int) -> int:
        return min(max(memory_bytes // divisor // MIB, min_mib), max_mib)

    maintenance_mib = share(16, 64, 1024)
    # A parallel HNSW build needs maintenance_work_mem in /dev/shm, which has 64 MB in Docker.
    shared_memory = "posix"
    with suppress(FileNotFoundError):
        shm = os.statvfs("/dev/shm")  # noqa: S108 -- no file is made there
        if shm.f_blocks * shm.f_frsize <= 2 * maintenance_mib * MIB:
            shared_memory = "sysv"
    return {
        "shared_buffers": f"{share(8, 64, 1024)}MB",
        "work_mem": f"{share(1024, 4, 32)}MB",
        "maintenance_work_mem": f"{maintenance_mib}MB",
        "effective_cache_size": f"{share(2, 256, 2**20)}MB",
        "dynamic_shared_memory_type": shared_memory,
    }


def machine_memory_bytes() -> int:
    """Return the memory this process may use: the machine's, or its container's if that is less."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for name in ("memory.max", "memory/memory.limit_in_bytes"):  # cgroup v2, v1
        with suppress(OSError, ValueError):  # no such file, or "max"
            limits.append(int((Path("/sys/fs/cgroup") / name).read_text()))
    return min(limits)
