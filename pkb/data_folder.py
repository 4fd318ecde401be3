"""The folder of all that is kept, closed to other users of the machine."""

import os
from pathlib import Path

# Root's Postgres runs as a system user, who has to pass through; only names that are known lead on.
MODE = 0o711 if os.geteuid() == 0 else 0o700


def create_data_folder(folder: Path) -> Path:
    """Make the folder unless it is there, whatever the umask; one that is keeps its mode.

    Returns:
        Its path without links and relative parts.

    Raises:
        SystemExit: It cannot be made.
    """
    folder = folder.resolve()
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=MODE, exist_ok=True)
    except OSError as exc:
        raise SystemExit(f"pkb: bad setting PKB_DATA_DIR: {exc}") from exc
    return folder
