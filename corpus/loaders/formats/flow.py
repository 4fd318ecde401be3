"""Headings, paragraphs, list items and table rows as blocks."""

from collections.abc import Iterable

from corpus.loaders.blocks import MAX_LEVEL, Block
from corpus.loaders.table_blocks import table_blocks


class Flow:
    """Collects the blocks of a document; consecutive items, and rows, are one block.

    Attributes:
        page: Page number of what is added.
    """

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.page: int | None = None
        self._items: list[str] = []
        self._rows: list[list[str]] = []

    def add(self, text: str, *, level: int = 0, is_item: bool = False) -> None:
        """Add a paragraph, a heading if it has a level, or an item with its mark and indent."""
        if self._rows:
            self.end_run()
        if is_item and not level:
            self._items += [text.rstrip()] if text.strip() else []
        elif text := text.strip():
            self.end_run()
            if level:
                line = " ".join(text.split())
                self.blocks.append(Block(line, min(level, MAX_LEVEL), line, self.page))
            else:
                self.blocks.append(Block(text, page=self.page))

    def add_row(self, cells: list[str]) -> None:
        """Add a row to the current table, or begin one."""
        if self._items:
            self.end_run()
        self._rows.append(cells)

    def add_blocks(self, blocks: Iterable[Block]) -> None:
        self.end_run()
        self.blocks.extend(blocks)

    def end_run(self) -> None:
        """End the current list or table; call it after the last text, too."""
        if self._items:
            self.blocks.append(Block("\n".join(self._items), page=self.page))
        self.blocks.extend(table_blocks(self._rows, page=self.page))
        self._items, self._rows = [], []
