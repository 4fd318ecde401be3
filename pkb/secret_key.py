"""Django's secret key: from the environment, or created once and stored."""

import os
from contextlib import suppress
from pathlib import Path

from django.core.management.utils import get_random_secret_key

from pkb.env import Env


def read_secret_key(env: Env) -> str:
    """Return the key from the environment, else the one in the data folder.

    Raises:
        SystemExit: The data folder cannot be written.
    """
    if env.pkb_secret_key is not None:
        return env.pkb_secret_key.get_secret_value()
    path = env.pkb_data_dir / "secret_key"
    try:
        if not path.exists():
            _write_once(path)
        return path.read_text(encoding="ascii")
    except OSError as exc:
        raise SystemExit(f"pkb: bad setting PKB_DATA_DIR: {exc}") from exc


def _write_once(path: Path) -> None:
    """Create the key file; when several processes start at once, the first link wins."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    draft.touch(mode=0o600)
    draft.write_text(get_random_secret_key(), encoding="ascii")
    with suppress(FileExistsError):
        path.hardlink_to(draft)
    draft.unlink()
