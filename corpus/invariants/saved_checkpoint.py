"""The checkpoint of an interrupted run, in a file of the data folder."""

import json
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from django.conf import settings

from corpus.invariants.run_checks import Checkpoint
from corpus.models import DEFAULT_COLLECTION, Collection


@dataclass(frozen=True, slots=True)
class SavedCheckpoint:
    """The checkpoint of an interrupted run.

    Attributes:
        violation_count: Violations that it had found and not repaired.
    """

    checkpoint: Checkpoint
    violation_count: int


def read_checkpoint(*, collection: Collection | None) -> SavedCheckpoint | None:
    """Return the checkpoint of this database and selection; None if no run was interrupted."""
    try:
        saved = json.loads(_path().read_text())
        if saved["of"] != _choice(collection):
            return None
        checkpoint = Checkpoint(int(saved["collection_id"]), UUID(saved["after"]))
        return SavedCheckpoint(checkpoint, int(saved["violation_count"]))
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def save_checkpoint(saved: SavedCheckpoint, *, collection: Collection | None) -> None:
    """Write the checkpoint to its file atomically."""
    values = {
        "of": _choice(collection),
        "collection_id": saved.checkpoint.collection_id,
        "after": str(saved.checkpoint.after),
        "violation_count": saved.violation_count,
    }
    partial = _path().with_suffix(".partial")
    partial.write_text(json.dumps(values))
    partial.replace(_path())


def delete_checkpoint() -> None:
    """Delete the checkpoint of a run that has ended."""
    _path().unlink(missing_ok=True)


def _path() -> Path:
    return Path(settings.DATA_DIR) / "verify-place.json"


def _choice(collection: Collection | None) -> list[str]:
    """Identify the database and the selection of a checkpoint."""
    ownerless = Collection.objects.filter(name=DEFAULT_COLLECTION, owner=None)
    times = ownerless.values_list("created_at", flat=True)
    return [*(each.isoformat() for each in times), str(collection.pk) if collection else ""]
