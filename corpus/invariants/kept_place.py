"""The place that a run has reached, in a file of the data folder, so that another goes on there."""

import json
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from django.conf import settings

from corpus.invariants.runs import Place
from corpus.models import DEFAULT_COLLECTION, Collection


@dataclass(frozen=True, slots=True)
class Reached:
    """Where a run was broken off.

    Attributes:
        violation_count: What it had found by then, and not repaired.
    """

    place: Place
    violation_count: int


def read_reached(*, collection: Collection | None) -> Reached | None:
    """Return where the last run of this database and choice was broken off; None: nowhere."""
    try:
        kept = json.loads(_path().read_text())
        if kept["of"] != _choice(collection):
            return None
        place = Place(int(kept["collection_id"]), UUID(kept["after"]))
        return Reached(place, int(kept["violation_count"]))
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def keep_reached(reached: Reached, *, collection: Collection | None) -> None:
    """Write it down, whole or not at all."""
    kept = {
        "of": _choice(collection),
        "collection_id": reached.place.collection_id,
        "after": str(reached.place.after),
        "violation_count": reached.violation_count,
    }
    partial = _path().with_suffix(".partial")
    partial.write_text(json.dumps(kept))
    partial.replace(_path())


def forget_reached() -> None:
    """A run has come to its end."""
    _path().unlink(missing_ok=True)


def _path() -> Path:
    return Path(settings.DATA_DIR) / "verify-place.json"


def _choice(collection: Collection | None) -> list[str]:
    """What a place is of: another database, or another choice, has other documents behind it."""
    ownerless = Collection.objects.filter(name=DEFAULT_COLLECTION, owner=None)
    born = ownerless.values_list("created_at", flat=True)
    return [*(each.isoformat() for each in born), str(collection.pk) if collection else ""]
