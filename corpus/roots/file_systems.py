"""What is mounted, and which file systems tell of their changes."""

from collections.abc import Iterable
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
    kinds = _kinds()
    above = [place for place in kinds if path.is_relative_to(place)]
    own = [max(above, key=lambda place: len(place.parts))] if above else []
    return not any(is_silent(kinds[place]) for place in (*own, *mounted_in(path)))


def mounted_in(path: Path) -> list[Path]:
    """Return where something is mounted: the folder itself, and places below it."""
    return sorted(place for place in _kinds() if place.is_relative_to(path))


def unmounted_of(places: Iterable[str]) -> list[Path]:
    """Keep the places where nothing is mounted now."""
    wanted = [Path(place) for place in places]
    mounted = _kinds() if wanted else {}
    return [place for place in wanted if place not in mounted]


def is_silent(kind: str) -> bool:
    """Tell whether a file system of this kind does not tell what changes in it."""
    return kind.lower() in SILENT or kind.lower().startswith(_IN_A_PROGRAM)


def _kinds() -> dict[Path, str]:
    """Return the kind of file system at each place where one is mounted."""
    return {Path(each.mountpoint): each.fstype for each in psutil.disk_partitions(all=True)}
