"""Name, in a response header, the keys of a filter that no document has."""

import json

from django.db.models import F, Func

from corpus.filters import Filter, metadata_keys
from corpus.models import Collection, Document

NOTICE = "X-Notice"
# Keys that a notice lists: mail has a dozen.
MAX_KEYS = 30


def filter_notice(filters: Filter | None, collection: str) -> dict[str, str]:
    """Return the header, for a request that found nothing; empty if all keys are known.

    Args:
        collection: Name of the collection that was searched, or ``*`` for all.
    """
    keys = metadata_keys(filters) if filters else frozenset()
    asked = Collection.objects.get_asked(collection) if keys else []
    documents = Document.objects.filter(collection__in=asked).order_by()
    unknown = [key for key in sorted(keys) if not documents.filter(metadata__has_key=key).exists()]
    if not unknown:
        return {}
    of_each = documents.values_list(Func(F("metadata"), function="jsonb_object_keys"), flat=True)
    known = sorted(set(of_each.distinct()))[:MAX_KEYS]
    # JSON strings: a header is ASCII, of one line.
    return {
        NOTICE: f"No document has the metadata {', '.join(map(json.dumps, unknown))}."
        f" Known keys: {', '.join(map(json.dumps, known)) or 'none'}."
    }
