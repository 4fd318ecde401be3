"""Labels of the text around a line: captions, and terms with their descriptions.

A passage cut out of a table or a definition lacks its subject, so the line that names it becomes
its label. The sentence before a list ("The following are supported:") is not used: it did not help.
"""

import re
from collections.abc import Sequence
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
    labeled: list[Block] = []
    # A term labels its block, and the indented blocks after it.
    term, indent = "", 0
    for block in blocks:
        own = "" if block.heading_level else _find_term(block.text)
        if own:
            term, indent = own, _indent(block.text)
        elif block.heading_level or _indent(block.text) <= indent:
            term = ""
        is_new = term and term not in block.labels
        labeled.append(replace(block, labels=(*block.labels, term)) if is_new else block)
    # A caption labels the block after it, and all rows of a table.
    for at, block in enumerate(labeled[:-1]):
        caption = normalize_label(block.text) if _CAPTION.match(block.text) else ""
        if not caption or block.heading_level or labeled[at + 1].heading_level:
            continue
        end = at + 2
        while end < len(labeled) and _ROW.match(labeled[end].text):
            end += 1
        for place in range(at, end):
            labeled[place] = replace(labeled[place], labels=(caption, *labeled[place].labels))
    return tuple(labeled)


def normalize_label(text: str) -> str:
    """Return words that name something on one line, or "" if they are too long."""
    label = _MARKUP.sub(r"\1", " ".join(text.split())).rstrip("¶").rstrip()
    return label if len(label) <= MAX_LABEL_CHARS else ""


def is_bold_heading(text: str) -> bool:
    """Return whether a bold line is a heading: short, and not a sentence or caption."""
    if len(text) > MAX_LINE_CHARS or text.endswith((".", ",", ";", ":")):
        return False
    return any(map(str.isalpha, text)) and not _CAPTION.match(text)


def _find_term(text: str) -> str:
    """Return the option a block describes, a table's header, or a line above an indented one."""
    first, _, rest = text.partition("\n")
    line = first.strip()
    if _HEADER.match(text):
        return normalize_label(line.strip("| "))
    option = _OPTION.match(line) or _DESCRIBED.match(line)
    if option:
        return normalize_label(option[option.lastindex or 0])
    is_defined = _DEFINITION.match(rest) or _indent(rest) > _indent(first)
    is_item = any(mark.match(line) for mark in (BULLET, _NUMBER, _ROW))
    if not is_defined or line.startswith("```") or is_item or len(line) > MAX_TERM_CHARS:
        return ""
    return normalize_label(line) if _TERM.match(line) else ""


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip(" \t"))
