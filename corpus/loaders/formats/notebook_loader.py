"""Jupyter notebooks: Markdown and code, without outputs."""

import json
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
    blocks: list[Block] = []
    for cell in (cell for cell in cells if isinstance(cell, dict)):
        source, kind = cell.get("source", cell.get("input", "")), cell.get("cell_type")
        text = "".join(map(str, source)) if isinstance(source, list) else str(source)
        if kind == "markdown":
            blocks.extend(markdown_blocks(text))
        elif kind == "heading":  # format 3
            level, words = cell.get("level"), " ".join(text.split())
            blocks.append(Block(words, level if level in range(1, 7) else 1, words))
        elif kind == "code":
            blocks.append(Block(text.strip("\n")))
        else:
            blocks.extend(map(Block, paragraphs(text)))
    return LoadedDocument(
        tuple(blocks), title=title if isinstance(title, str) else "", metadata=metadata
    )
