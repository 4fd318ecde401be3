"""JSON: each value on a line with its path; one block for each object of a list."""

import json
from collections.abc import Iterator
from typing import Any

from corpus.errors import UnreadableFile
from corpus.loaders.blocks import Block, LoadedDocument
from corpus.loaders.charset import decode

# A single line that is not JSON is no list of lines.
_MIN_LINES = 2


def load(content: bytes, *, filename: str) -> LoadedDocument:
    """Read one JSON value, or one value for each line."""
    text = decode(content)
    try:
        value = parse_json(text)
    except ValueError as error:
        try:
            value = [parse_json(line) for line in text.splitlines() if line.strip()]
        except ValueError:
            value = []
        if len(value) < _MIN_LINES:
            raise UnreadableFile(f"The file is not valid JSON: {error}.") from error
    title = value.get("title") if isinstance(value, dict) else None
    return LoadedDocument(
        blocks=tuple(value_blocks(value)), title=title if isinstance(title, str) else ""
    )


def parse_json(text: str) -> Any:
    """Parse a JSON value; numbers stay text, digit by digit as in the file."""
    return json.loads(text, parse_int=str, parse_float=str, parse_constant=str)


def value_blocks(value: Any) -> Iterator[Block]:
    """Yield one block for each list item, or member that contains others."""
    # Values by their paths, each of which becomes a block.
    parts: list[tuple[str, Any]] = []
    if isinstance(value, dict):
        parts.append(("", {key: item for key, item in value.items() if not _is_nested(item)}))
        for key, item in value.items():
            if isinstance(item, list) and _is_nested(item):
                parts += [(f"{key}[{ordinal}]", inner) for ordinal, inner in enumerate(item)]
            elif _is_nested(item):
                parts.append((str(key), item))
    elif _is_nested(value):
        parts += [("", item) for item in value]
    else:
        parts.append(("", value))
    for path, part in parts:
        if text := "\n".join(_flat(part, path)):
            yield Block(text)


def _is_nested(value: Any) -> bool:
    """Return whether a value contains values that have members."""
    if isinstance(value, list):
        return any(isinstance(item, dict | list) for item in value)
    return isinstance(value, dict)


def _flat(value: Any, path: str) -> Iterator[str]:
    """Yield ``path: value`` lines, depth first."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _flat(item, f"{path}.{key}" if path else str(key))
    elif _is_nested(value):
        for ordinal, item in enumerate(value):
            yield from _flat(item, f"{path}[{ordinal}]")
    else:
        text = ", ".join(map(_shown, value)) if isinstance(value, list) else _shown(value)
        if text:
            yield f"{path}: {text}" if path else text


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value)
