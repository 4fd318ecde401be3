"""JSON Lines: one block for each record."""

from corpus.errors import UnreadableFile
from corpus.loaders.blocks import Block, LoadedDocument
from corpus.loaders.charset import decode
from corpus.loaders.formats.json_loader import parse_json, value_blocks


def load(content: bytes, *, filename: str) -> LoadedDocument:
    """Read one JSON value for each line; an error names the line."""
    blocks: list[Block] = []
    for number, line in enumerate(decode(content).split("\n"), start=1):
        if line.strip():
            try:
                record = parse_json(line)
            except ValueError as error:
                raise UnreadableFile(f"Line {number} is not valid JSON: {error}.") from error
            blocks.extend(value_blocks([record]))
    return LoadedDocument(tuple(blocks))
