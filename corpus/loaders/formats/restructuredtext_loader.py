"""reStructuredText: underlined titles become headings; the text stays as written."""

import re

from corpus.loaders.blocks import MAX_LEVEL, Block, LoadedDocument
from corpus.loaders.charset import decode
from corpus.loaders.formats.plain_text import normalize_newlines, title_at

# A reference: its words, and its target.
_ROLE = re.compile(r":[a-z][a-z:+.-]{0,60}:`([^`]*?)(?:\s*<[^<`]*>)?`")
_FIELD = re.compile(r":([A-Za-z][\w -]*):[ \t]+(\S.*)$")
# A link target, which readers do not see.
_LABEL = re.compile(r"\A\.\. _[^:]+:$")
_METADATA_FIELDS = frozenset(
    ("author", "authors", "date", "language", "version", "organization", "status")
)


def load(content: bytes, *, filename: str) -> LoadedDocument:
    """Read a reST file; heading levels follow the order of underline characters."""
    lines = normalize_newlines(decode(content)).expandtabs(8).split("\n")
    blocks: list[Block] = []
    styles: list[tuple[str, bool]] = []
    pending: list[str] = []
    at = 0
    while at < len(lines):
        title = title_at(lines, at)
        line = lines[at].rstrip()
        # An indented line belongs to the block above, even after empty lines.
        begins = line and not line[0].isspace() and pending and not pending[-1]
        if title or begins:
            blocks.append(Block("\n".join(pending).strip("\n")))
            pending = []
        if title:
            if title.style not in styles:
                styles.append(title.style)
            plain = " ".join(_ROLE.sub(r"\1", title.text).replace("``", "").split())
            blocks.append(Block(title.text, min(styles.index(title.style) + 1, MAX_LEVEL), plain))
        elif not _LABEL.match(line):
            pending.append(line)
        at += title.line_count if title else 1
    blocks.append(Block("\n".join(pending).strip("\n")))
    blocks = [block for block in blocks if block.text.strip()]
    metadata: dict[str, str] = {}
    # Author, date and others are a field list below the title.
    for line in (line for block in blocks[:3] for line in block.text.split("\n")):
        field = _FIELD.match(line)
        if field and field[1].lower() in _METADATA_FIELDS:
            metadata["created" if field[1].lower() == "date" else field[1].lower()] = field[2]
    return LoadedDocument(tuple(blocks), metadata=metadata)
