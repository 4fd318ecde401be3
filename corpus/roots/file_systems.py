"""What is mounted, and which file systems tell of their changes."""

from collections.abc import Iterable
from pathlib import Path

import psutil  # type: ignore[import-untyped]

# What another machine writes to these, this one's kernel does not hear of.
WITHOUT_CHANGE_EVENTS = {
    "9p", "afs", "afpfs", "beegfs", "ceph", "cifs", "davfs", "drvfs", "gpfs", "glusterfs", "lustre",
    "ncpfs", "nfs", "nfs4", "prl_fs", "smb2", "smb3", "smbfs", "vboxsf", "virtiofs", "vmhgfs",
    "webdav",
}  # fmt: skip
_IN_A_PROGRAM = "fuse."


def reports_changes(path: Path) -> bool:
    """Tell whether the kernel hears of every change of a folder and of what is mounted below it."""
    kinds = _kinds()
    above = [mount for mount in kinds if path.is_relative_to(mount)]
    own = [max(above, key=lambda mount: len(mount.parts))] if above else []
    return not any(lacks_change_events(kinds[mount]) for mount in (*own, *mount_points_in(path)))


def mount_points_in(path: Path) -> list[Path]:
    """Return where something is mounted: the folder itself, and mounts below it."""
    return sorted(mount for mount in _kinds() if mount.is_relative_to(path))


def filter_unmounted(mounts: Iterable[str]) -> list[Path]:
    """Keep the mounts where nothing is mounted now."""
    wanted = [Path(mount) for mount in mounts]
    mounted = _kinds() if wanted else {}
    return [mount for mount in wanted if mount not in mounted]


def lacks_change_events(kind: str) -> bool:
    """Tell whether a file system of this kind does not tell what changes in it."""
    return kind.lower() in WITHOUT_CHANGE_EVENTS or kind.lower().startswith(_IN_A_PROGRAM)


def _kinds() -> dict[Path, str]:
    """Return the kind of file system at each mount where one is mounted."""
    return {Path(each.mountpoint): each.fstype for each in psutil.disk_partitions(all=True)}
