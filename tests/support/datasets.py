"""Data sets of evaluations, as people write them."""

import json
from pathlib import Path
from typing import Any


def write_dataset(folder: Path, **rows_of: list[dict[str, Any]]) -> Path:
    """Write the rows of each file, such as ``qa``, as JSON lines; returns the folder."""
    folder.mkdir(exist_ok=True)
    for name, rows in rows_of.items():
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder
