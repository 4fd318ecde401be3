"""Labels of the text around a line: captions, and terms with their descriptions.

A passage cut out of a table or a definition lacks its subject, so the line that names it becomes
its label. The sentence before a list ("The following are supported:") is not used: it did not help.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from corpus.loaders.blocks import Block

# The level below every heading of the source.
LINE_LEVEL = 6
# A longer line is a sentence that ends as a question, or in bold.
MAX_LINE_CHARS = 150
# Each chunk under a label repeats it.
MAX_LABEL_CHARS = 160

# A longer line is a sentence.
MAX_TERM_CHARS = 60

BULLET = re.compile(r"\A\s*[-*+•◦▪●○■–‣·o]\s")
_NUMBER = re.compile(r"\A\s*\(?(?:\d{1,3}|[a-zA-Z]|[ivx]{1,4})[.)]\s")
_ROW = re.compile(r"\A\s*(?:\||[+=-]{3})")
# Options with an argument, if separated from the description.
_OPTION = re.compile(
    rf"\A--?[A-Za-z](?:[^\n]{{0,{MAX_TERM_CHARS}}}?(?=\s{{2}}|$)|[\w-]*(?:,? --?[\w-]+)*)"
)
# A Sphinx directive that describes an object named after its colons.
_DESCRIBED = re.compile(
    r"\A\.\. (?:\w+:)*(?:option|envvar|confval|setting|describe|object|function|method|class|"
    r"attribute|data|exception|module|directive|role|type|macro)::[ \t]+(\S.*)$"
)
_DEFINITION = re.compile(r"\A[ \t]{0,3}:[ \t]+\S")
# The rule below the header row of a Markdown table.
_HEADER = re.compile(r"\A\|[^\n]*\|\n\|[ \t]*:?-[-:| \t]*\|(?:\n|$)")
# A term is not a sentence or a line of code.
_TERM = re.compile(r"\A[\w*[(<\"'`$%@](?:(?!: )[^\n])*[\w)\]>\"'`*?]$")
_CAPTION = re.compile(r"\A(?:Table|Figure|Fig\.|Example|Listing)\s+[\dA-Z]+\b")
_MARKUP = re.compile(r"\[([^\[\]\n]{1,500}+)\]\([^)\s]{0,1000}+\)|\*\*|``")


def label_blocks(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """Add the labels of neighboring lines to each block."""
    return tuple(_label_by_caption(list(_label_by_term(blocks))))


def normalize_label(text: str) -> str:
    """Return words that name something on one line, or "" if they are too long."""
    label = _MARKUP.sub(r"\1", " ".join(text.split())).rstrip("¶").rstrip()
    return label if len(label) <= MAX_LABEL_CHARS else ""


def is_bold_heading(text: str) -> bool:
    """Return whether a bold line is a heading: short, and not a sentence or caption."""
    if len(text) > MAX_LINE_CHARS or text.endswith((".", ",", ";", ":")):
        return False
    return any(map(str.isalpha, text)) and not _CAPTION.match(text)


def _label_by_term(blocks: Iterable[Block]) -> Iterator[Block]:
    """Label blocks that begin with a term, and the indented blocks after them, with the term."""
    name, indent = "", 0
    for block in blocks:
        own = "" if block.heading_level else _find_term(block.text)
        if own:
            name, indent = own, _indent(block.text)
        elif block.heading_level or _indent(block.text) <= indent:
            name = ""
        is_new = name and name not in block.labels
        yield replace(block, labels=(*block.labels, name)) if is_new else block


def _find_term(text: str) -> str:
    """Return the option a block describes, a table's header, or a line above an indented one."""
    first, _, rest = text.partition("\n")
    line = first.strip()
    if _HEADER.match(text):
        return normalize_label(line.strip("| "))
    named = _OPTION.match(line) or _DESCRIBED.match(line)
    if named:
        return normalize_label(named[named.lastindex or 0])
    is_defined = _DEFINITION.match(rest) or _indent(rest) > _indent(first)
    if not is_defined or line.startswith("```") or _is_item(line) or len(line) > MAX_TERM_CHARS:
        return ""
    return normalize_label(line) if _TERM.match(line) else ""


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip(" \t"))


def _is_item(text: str) -> bool:
    return any(mark.match(text) for mark in (BULLET, _NUMBER, _ROW))


def _label_by_caption(blocks: list[Block]) -> list[Block]:
    """Label tables and listings with the numbered caption before them."""
    named = list(blocks)
    for at, block in enumerate(blocks[:-1]):
        caption = "" if block.heading_level else _caption(block.text)
        end = at + 2 if caption and not blocks[at + 1].heading_level else at
        while at < end < len(blocks) and _ROW.match(blocks[end].text):
            end += 1
        for place in range(at, end):
            named[place] = replace(named[place], labels=(caption, *named[place].labels))
    return named


def _caption(text: str) -> str:
    return normalize_label(text) if _CAPTION.match(text) else ""
