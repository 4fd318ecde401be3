"""Plain text: one block for each paragraph, and underlined titles."""

from pathlib import PurePath

from corpus.loaders.blocks import MAX_LEVEL, Block, LoadedDocument
from corpus.loaders.charset import decode
from corpus.loaders.formats.plain_text import column_count, normalize_newlines, paragraphs, title_at
from corpus.loaders.formats.transcripts import transcript_blocks

# Columns that a rule may differ from its title in width.
_MAX_RULE_DIFFERENCE = 2


def load(content: bytes, *, filename: str) -> LoadedDocument:
    """Read a text file in any encoding; its file name is its title."""
    # The first heading is not used as title: it is often "Overview", and in the heading path.
    text = normalize_newlines(decode(content))
    blocks = transcript_blocks(text, filename=filename)
    styles: list[tuple[str, bool]] = []
    for paragraph in () if blocks else paragraphs(text):
        lines = paragraph.split("\n")
        title = title_at(lines, 0)
        # In plain text, only a rule as long as the line above makes a title.
        if title and abs(title.rule_width - column_count(title.text)) <= _MAX_RULE_DIFFERENCE:
            if title.style not in styles:
                styles.append(title.style)
            level = min(styles.index(title.style) + 1, MAX_LEVEL)
            blocks.append(Block("\n".join(lines[: title.line_count]), level, title.text))
            lines = lines[title.line_count :]
        blocks.append(Block("\n".join(lines)))
    return LoadedDocument(tuple(blocks), title=PurePath(filename).stem)
