"""What of texts and JSON can be stored, and read again."""

import math
import re
from typing import Any

# Postgres' text holds no NUL, and UTF-8 no half of a surrogate pair.
UNSTORABLE = re.compile("[\0\ud800-\udfff]")
# Lists and objects within one another; what reads them calls itself for each.
MAX_DEPTH = 32


def is_storable(value: Any, *, depth: int = MAX_DEPTH) -> bool:
    """Tell whether a JSON value, or a text, can be stored."""
    if isinstance(value, str):
        return UNSTORABLE.search(value) is None
    if isinstance(value, float):
        return math.isfinite(value)
    if not isinstance(value, dict | list):
        return True
    inner = [*value, *value.values()] if isinstance(value, dict) else value
    return depth > 0 and all(is_storable(each, depth=depth - 1) for each in inner)
