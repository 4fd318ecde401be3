"""The CPU cores of this process."""

import math
import os
from pathlib import Path


def usable_core_count(quota_file: Path = Path("/sys/fs/cgroup/cpu.max")) -> int:
    """Return the usable cores: the affinity, or less by a container's quota."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    try:
        quota, period = quota_file.read_text().split()
        allowed = math.ceil(int(quota) / int(period))
    except (OSError, ValueError):  # no such file, or the quota "max"
        return cores or 1
    return max(1, min(cores or 1, allowed))
