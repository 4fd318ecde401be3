"""The data folder, private to the user that runs pkb, and the secret key in it."""

import os
from contextlib import suppress
from pathlib import Path

from django.core.management.utils import get_random_secret_key

from pkb.env import Env

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


def read_secret_key(env: Env) -> str:
    """Return the key from the environment, else the one in the data folder.

    Raises:
        SystemExit: The data folder cannot be written.
    """
    if env.PKB_SECRET_KEY is not None:
        return env.PKB_SECRET_KEY.get_secret_value()
    path = env.PKB_DATA_DIR / "secret_key"
    try:
        if not path.exists():
            # When several processes start at once, the first link wins.
            draft = path.with_name(f"{path.name}.{os.getpid()}")
            draft.touch(mode=0o600)
            draft.write_text(get_random_secret_key(), encoding="ascii")
            with suppress(FileExistsError):
                path.hardlink_to(draft)
            draft.unlink()
        return path.read_text(encoding="ascii")
    except OSError as exc:
        raise SystemExit(f"pkb: bad setting PKB_DATA_DIR: {exc}") from exc
