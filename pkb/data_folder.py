"""The data folder, private to the user that runs pkb."""

import os
from pathlib import Path

# As root, Postgres runs as a system user, who must traverse the folder without listing it.
MODE = 0o711 if os.geteuid() == 0 else 0o700


def create_data_folder(folder: Path) -> Path:
    """Create the folder unless it exists, with a fixed mode; an existing one keeps its mode.

    Returns:
        Its resolved path.

    Raises:
        SystemExit: The folder cannot be created.
    """
    folder = folder.resolve()
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=MODE, exist_ok=True)
    except OSError as exc:
        raise SystemExit(f"pkb: bad setting PKB_DATA_DIR: {exc}") from exc
    return folder
