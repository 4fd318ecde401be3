"""Validate the fields of a rule, and convert patterns to SQL."""

import re
from collections.abc import Mapping
from typing import Any

from corpus.characters import is_storable, normalize
from corpus.errors import InvalidInput
from corpus.models import NAME_PATTERN
from corpus.tags import normalize_tags

CONDITIONS = ("path", "title", "words", "sender")
ACTS = ("tags", "collection")
FIELDS = ("name", *CONDITIONS, *ACTS)
_LISTS = {"title", "words", "tags"}

MAX_NAME_CHARS = 100
MAX_PATTERN_CHARS = 500
# Limits patterns: Postgres matches in time of pattern length times text length.
MAX_STARS = 10
MAX_PHRASES = 20
MAX_PHRASE_CHARS = 200
MAX_RULE_TAGS = 20

_STARS = re.compile(r"\*+")
_SPECIAL = re.compile(r"[\\%_]")


def validate_rule(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a rule, each of ``FIELDS``, validated.

    A text for a list field is split at commas.

    Raises:
        InvalidInput: A field is unknown, has a wrong type or value, or the rule has no name,
            condition or action; the message names the field.
    """
    unknown = sorted(map(str, values.keys() - set(FIELDS)))
    if unknown:
        detail = f"A rule has no such field; it has {', '.join(FIELDS)}."
        raise InvalidInput(detail, field=unknown[0])
    fields = {field: _validate(field, values.get(field)) for field in FIELDS}
    if not fields["name"]:
        raise InvalidInput("Enter a name for the rule.", field="name")
    if not any(fields[field] for field in CONDITIONS):
        raise InvalidInput(
            "Enter at least one condition: a path, title, words or sender.", field="path"
        )
    if not any(fields[field] for field in ACTS):
        raise InvalidInput("Enter a tag or a collection.", field="tags")
    return fields


def _validate(field: str, value: Any) -> Any:
    if field in _LISTS:
        parts = value.split(",") if isinstance(value, str) else value or []
        if not isinstance(parts, list | tuple) or not all(isinstance(part, str) for part in parts):
            raise InvalidInput("Must be a list of texts.", field=field)
        phrases = list(dict.fromkeys(filter(None, (_clean(field, part) for part in parts))))
        max_count = MAX_RULE_TAGS if field == "tags" else MAX_PHRASES
        if len(phrases) > max_count:
            raise InvalidInput(f"Must have at most {max_count} parts.", field=field)
        if any(len(phrase) > MAX_PHRASE_CHARS for phrase in phrases):
            raise InvalidInput(
                f"Each part must have at most {MAX_PHRASE_CHARS} characters.", field=field
            )
        try:
            return list(normalize_tags(phrases)) if field == "tags" else phrases
        except InvalidInput as exc:
            raise InvalidInput(exc.detail, field="tags") from exc
    if not isinstance(value, str | None):
        raise InvalidInput("Must be text.", field=field)
    text = _clean(field, value or "")
    max_chars = MAX_NAME_CHARS if field in {"name", "collection"} else MAX_PATTERN_CHARS
    if len(text) > max_chars:
        raise InvalidInput(f"Must have at most {max_chars} characters.", field=field)
    if field == "collection" and text and not re.match(NAME_PATTERN, text):
        raise InvalidInput("This is not a valid collection name.", field=field)
    if len(_STARS.findall(text)) > MAX_STARS and field in {"path", "sender"}:
        raise InvalidInput(f"Must have at most {MAX_STARS} stars.", field=field)
    return text


def _clean(field: str, text: str) -> str:
    """Return a text normalized like documents, with single spaces."""
    if not is_storable(text):
        raise InvalidInput("Contains a character that cannot be stored.", field=field)
    return normalize("NFC", " ".join(text.split()))


def like_pattern(pattern: str) -> str:
    """Convert ``*`` (any characters, also ``/``) and ``?`` (one) to LIKE."""
    escaped = _SPECIAL.sub(r"\\\g<0>", _STARS.sub("*", pattern))
    return escaped.replace("*", "%").replace("?", "_")
