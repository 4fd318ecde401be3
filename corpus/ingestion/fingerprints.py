"""By which settings a document was taken in: with others, an unchanged file is cut anew."""

import json
from collections.abc import Sequence
from hashlib import sha256

from corpus.models import Collection


def settings_sha256(collection: Collection, *, tags: Sequence[str]) -> str:
    """Return the hash of what decides how a file is cut, embedded and tagged."""
    names = [field.name for field in Collection._meta.concrete_fields]
    deciding = [name for name in names if name.startswith("chunk_") or name == "embedding_model"]
    settings = {name: getattr(collection, name) for name in deciding}
    said = json.dumps({**settings, "tags": sorted(tags)}, sort_keys=True)
    return sha256(said.encode()).hexdigest()
