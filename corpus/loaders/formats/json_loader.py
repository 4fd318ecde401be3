"""JSON: each value on a line with its path; one block for each object of a list."""

import json
from collections.abc import Iterator
from typing import Any

from corpus.errors import UnreadableFile
from corpus.loaders.blocks import Block, LoadedDocument
from corpus.loaders.charset import decode


def load(content: bytes, *, filename: str) -> LoadedDocument:
    """Read one JSON value, or one value for each line.

    Raises:
        UnreadableFile: It is not JSON.
    """
    text = decode(content)
    try:
        value = parse_json(text)
    except ValueError as error:
        values = _lines(text)
        if values is None:
            raise UnreadableFile(f"The file is not valid JSON: {error}.") from error
        value = values
    stated = value.get("title") if isinstance(value, dict) else None
    return LoadedDocument(
        blocks=tuple(value_blocks(value)), title=stated if isinstance(stated, str) else ""
    )


def parse_json(text: str) -> Any:
    """Parse a JSON value; numbers stay text, digit by digit as in the file."""
    return json.loads(text, parse_int=str, parse_float=str, parse_constant=str)


def value_blocks(value: Any) -> Iterator[Block]:
    """Return one block for each list item, or member that contains others."""
    if isinstance(value, dict):
        simple = {key: item for key, item in value.items() if not _is_nested(item)}
        yield from _block(_flat(simple, ""))
        for key, item in value.items():
            if key not in simple:
                yield from _member_blocks(str(key), item)
    elif _is_nested(value):
        for item in value:
            yield from _block(_flat(item, ""))
    else:
        yield from _block(_flat(value, ""))


def _member_blocks(key: str, value: Any) -> Iterator[Block]:
    if isinstance(value, list):
        for ordinal, item in enumerate(value):
            yield from _block(_flat(item, f"{key}[{ordinal}]"))
    else:
        yield from _block(_flat(value, key))


def _is_nested(value: Any) -> bool:
    """Return whether a value contains values that have members."""
    if isinstance(value, list):
        return any(isinstance(item, dict | list) for item in value)
    return isinstance(value, dict)


def _lines(text: str) -> list[Any] | None:
    """Return the values of JSON Lines, or None if it is not JSON Lines."""
    try:
        values = [parse_json(line) for line in text.splitlines() if line.strip()]
    except ValueError:
        return None
    return values if len(values) > 1 else None


def _block(lines: Iterator[str]) -> Iterator[Block]:
    text = "\n".join(lines)
    if text:
        yield Block(text)


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
