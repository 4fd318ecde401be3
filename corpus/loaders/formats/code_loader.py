"""Source code: one block for each paragraph, labelled with the definitions around it."""

import re
from pathlib import PurePath

from corpus.loaders.blocks import Block, LoadedDocument
from corpus.loaders.charset import decode
from corpus.loaders.formats.plain_text import paragraphs

# A class, function or the like, by the keyword that most languages have for it.
_DEFINITION = re.compile(
    r"""\A(?:(?:abstract|async|data|default|export|final|internal|open|override|private
    |protected|pub|public|sealed|static|unsafe)(?:\([a-z]+\))?[ ]+)*+
    (?:class|def|enum|fn|fun|func|function|impl|interface|module|namespace|object|protocol|struct
    |sub|trait)[ ]+(?:\([^)]*\)[ ]*)?+(?P<name>[A-Za-z_$][\w$]{0,99})(?![\w$])
    \s*(?:[(<:\[{]|\S.*[:{]\s*\Z|\Z)""",
    re.VERBOSE,
)
# Definitions inside each other; deeper ones are not named.
MAX_NESTED = 8
# Lines before a definition that belong to it: decorators and comments.
_LEADS = ("@", "#", "//", "/*", "*")


def load(content: bytes, *, filename: str) -> LoadedDocument:
    """Read a source file in any encoding; its file name is its title.

    A definition ends before the next line that is not indented more, except closing brackets.
    """
    blocks: list[Block] = []
    open_ones: list[tuple[int, str]] = []
    for paragraph in paragraphs(decode(content)):
        labels: list[str] | None = None
        for line in paragraph.expandtabs().split("\n"):
            code = line.lstrip()
            indent = len(line) - len(code)
            if code and not code.startswith((")", "]", "}")):
                open_ones = [each for each in open_ones if each[0] < indent]
            if (match := _DEFINITION.match(code)) and len(open_ones) < MAX_NESTED:
                open_ones.append((indent, match["name"]))
            if labels is None and not code.startswith(_LEADS):
                labels = [name for _, name in open_ones]
        blocks.append(Block(paragraph, labels=tuple(labels or ())))
    return LoadedDocument(tuple(blocks), title=PurePath(filename).stem)
