"""Mounted file systems and their change events."""

from collections.abc import Iterable
from pathlib import Path

import psutil  # type: ignore[import-untyped]

# The kernel gets no events for changes that other machines make.
WITHOUT_CHANGE_EVENTS = {
    "9p", "afs", "afpfs", "beegfs", "ceph", "cifs", "davfs", "drvfs", "gpfs", "glusterfs", "lustre",
    "ncpfs", "nfs", "nfs4", "prl_fs", "smb2", "smb3", "smbfs", "vboxsf", "virtiofs", "vmhgfs",
    "webdav",
}  # fmt: skip
_USERSPACE = "fuse."


def reports_changes(path: Path) -> bool:
    """Return whether the kernel reports all changes of a folder and of mounts below it."""
    kinds = _kinds()
    above = [mount for mount in kinds if path.is_relative_to(mount)]
    own = [max(above, key=lambda mount: len(mount.parts))] if above else []
    return not any(lacks_change_events(kinds[mount]) for mount in (*own, *mount_points_in(path)))


def mount_points_in(path: Path) -> list[Path]:
    """Return the mount points at and below a folder."""
    return sorted(mount for mount in _kinds() if mount.is_relative_to(path))


def filter_unmounted(mounts: Iterable[str]) -> list[Path]:
    """Return the mount points where nothing is mounted now."""
    wanted = [Path(mount) for mount in mounts]
    mounted = _kinds() if wanted else {}
    return [mount for mount in wanted if mount not in mounted]


def lacks_change_events(kind: str) -> bool:
    """Return whether a file system of this kind reports no changes."""
    return kind.lower() in WITHOUT_CHANGE_EVENTS or kind.lower().startswith(_USERSPACE)


def _kinds() -> dict[Path, str]:
    """Return the kind of the file system at each mount point."""
    return {Path(each.mountpoint): each.fstype for each in psutil.disk_partitions(all=True)}
