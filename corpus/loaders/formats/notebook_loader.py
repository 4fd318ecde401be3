"""Jupyter notebooks: Markdown and code, without outputs."""

import json
from collections.abc import Iterator
from typing import Any

from corpus.errors import UnreadableFile
from corpus.loaders.blocks import Block, LoadedDocument
from corpus.loaders.charset import decode
from corpus.loaders.formats.markdown_loader import markdown_blocks
from corpus.loaders.formats.plain_text import paragraphs


def load(content: bytes, *, filename: str) -> LoadedDocument:
    """Read a notebook of format 3 or 4."""
    try:
        notebook = json.loads(decode(content))
    except ValueError as error:
        raise UnreadableFile(f"The notebook is not valid JSON: {error}.") from error
    if not isinstance(notebook, dict):
        notebook = {}
    cells, sheets = notebook.get("cells"), notebook.get("worksheets")
    if cells is None and isinstance(sheets, list):  # format 3
        cells = [
            cell for sheet in sheets if isinstance(sheet, dict) for cell in sheet.get("cells", [])
        ]
    if not isinstance(cells, list):
        raise UnreadableFile("The file is JSON but no notebook: it has no list of cells.")
    properties = notebook.get("metadata")
    if not isinstance(properties, dict):
        properties = {}
    title, authors = properties.get("title"), properties.get("authors")
    metadata: dict[str, Any] = {"authors": authors} if isinstance(authors, list) else {}
    for key in ("language_info", "kernelspec"):
        info = properties.get(key)
        language = info.get("name") if isinstance(info, dict) else None
        if isinstance(language, str):
            metadata["programming_language"] = language
            break
    return LoadedDocument(
        blocks=tuple(block for cell in cells for block in _blocks(cell)),
        title=title if isinstance(title, str) else "",
        metadata=metadata,
    )


def _blocks(cell: Any) -> Iterator[Block]:
    if not isinstance(cell, dict):
        return
    source = cell.get("source", cell.get("input", ""))
    text = "".join(map(str, source)) if isinstance(source, list) else str(source)
    kind = cell.get("cell_type")
    if kind == "markdown":
        yield from markdown_blocks(text)
    elif kind == "heading":  # format 3
        level = cell.get("level")
        title = " ".join(text.split())
        yield Block(title, level if level in range(1, 7) else 1, title)
    elif kind == "code":
        yield Block(text.strip("\n"))
    else:
        yield from map(Block, paragraphs(text))
