"""The checkpoint of an interrupted run, in a file of the data folder."""

import json
from pathlib import Path
from uuid import UUID

from django.conf import settings

from corpus.invariants.run_checks import START, Checkpoint
from corpus.models import DEFAULT_COLLECTION, Collection


def read_checkpoint(*, collection: Collection | None) -> Checkpoint:
    """Return the checkpoint of this database and selection; ``START`` without interrupted run."""
    try:
        saved = json.loads(_path().read_text())
        if saved["of"] != _choice(collection):
            return START
        count = int(saved["violation_count"])
        return Checkpoint(int(saved["collection_id"]), UUID(saved["after"]), count)
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return START


def save_checkpoint(checkpoint: Checkpoint, *, collection: Collection | None) -> None:
    """Write the checkpoint to its file atomically."""
    values = {
        "of": _choice(collection),
        "collection_id": checkpoint.collection_id,
        "after": str(checkpoint.after),
        "violation_count": checkpoint.violation_count,
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
