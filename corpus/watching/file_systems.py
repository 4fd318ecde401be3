"""Which file systems tell of their changes."""

from pathlib import Path

import psutil  # type: ignore[import-untyped]

# What another machine writes to these, this one's kernel does not hear of.
SILENT = {
    "9p", "afs", "afpfs", "beegfs", "ceph", "cifs", "davfs", "drvfs", "gpfs", "glusterfs", "lustre",
    "ncpfs", "nfs", "nfs4", "prl_fs", "smb2", "smb3", "smbfs", "vboxsf", "virtiofs", "vmhgfs",
    "webdav",
}  # fmt: skip
_IN_A_PROGRAM = "fuse."


def tells_changes(path: Path) -> bool:
    """Tell whether the kernel hears of every change of a folder and of what is mounted below it."""
    kinds = {Path(each.mountpoint): each.fstype for each in psutil.disk_partitions(all=True)}
    above = [place for place in kinds if path.is_relative_to(place)]
    own = [max(above, key=lambda place: len(place.parts))] if above else []
    below = [place for place in kinds if place.is_relative_to(path)]
    return not any(is_silent(kinds[place]) for place in (*own, *below))


def is_silent(kind: str) -> bool:
    return kind.lower() in SILENT or kind.lower().startswith(_IN_A_PROGRAM)
