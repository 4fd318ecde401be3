"""Markdown: one block for each top-level part, headings H1 to H6, front matter."""

import datetime as dt
import re
from contextlib import suppress
from itertools import accumulate
from typing import Any

from corpus.errors import UnreadableFile
from corpus.loaders.blocks import Block, LoadedDocument
from corpus.loaders.charset import decode
from corpus.loaders.formats.plain_text import normalize_newlines
from corpus.loaders.labels import LINE_LEVEL, is_bold_heading

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?\n)??(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.S)
_TOML_FRONT_MATTER = re.compile(r"\A\+\+\+[ \t]*\n(.*?\n)??\+\+\+[ \t]*(?:\n|\Z)", re.S)
# Longer than any front matter; without an end by then it is text.
_MAX_FRONT_MATTER_CHARS = 64 * 1024
# Maximum nesting of quotes and lists, for which the parser recurses.
_MAX_NESTING = 50
_BOLD_LINE = re.compile(r" {0,3}(\*\*|__)((?:(?!\1).)+)\1[ \t]*$")
_TAG_KEYS = ("tags", "categories")
_CREATED_KEYS = ("created", "created_at", "date")
# These have fields of their own and are not metadata too.
_OWN_FIELDS = frozenset(("title", "chapter", "section", *_TAG_KEYS))


def load(content: bytes, *, filename: str) -> LoadedDocument:
    """Read a Markdown file; its text stays as written, without front matter."""
    text = normalize_newlines(decode(content))
    values, body = split_front_matter(text)
    metadata = {key: value for key, value in values.items() if key not in _OWN_FIELDS}
    created_keys = [key for key in _CREATED_KEYS if metadata.get(key)]
    if created_keys:
        metadata["created"] = str(metadata.pop(created_keys[0]))
    tags: list[str] = []
    for key in _TAG_KEYS:
        value = values.get(key) or ()
        words = value.split(",") if isinstance(value, str) else value
        if isinstance(words, list | tuple):
            tags.extend(str(word).strip() for word in words)
    return LoadedDocument(
        blocks=markdown_blocks(body),
        title=_string(values.get("title")),
        metadata=metadata,
        tags=tuple(dict.fromkeys(tag for tag in tags if tag)),
        chapter=_string(values.get("chapter")),
        section=_string(values.get("section")),
    )


def markdown_blocks(text: str) -> tuple[Block, ...]:
    """Cut Markdown into top-level blocks by lines; keep every line with text."""
    from markdown_it import MarkdownIt  # noqa: PLC0415 - not needed for other formats

    # Inline markup is not parsed: nothing needs it, and it may take quadratic time.
    parser = MarkdownIt("commonmark").enable("table").disable("inline")
    lines = text.split("\n")
    blocks: list[Block] = []
    done = 0
    tokens = parser.parse(text)
    for position, token in enumerate(tokens):
        if token.level or token.map is None or token.nesting < 0:
            continue
        start, end = max(token.map[0], done), token.map[1]
        # Link definitions have no token, and may be prose that looks like one.
        _append(blocks, lines[done:start])
        done = max(end, done)
        part = lines[start:end]
        if token.type == "heading_open":
            title = _without_markup(tokens[position + 1].content)
            level = int(token.tag[1]) if title else None
            blocks.append(Block("\n".join(part).strip("\n"), level, title))
        else:
            is_line = token.type == "paragraph_open" and len(part) == 1
            bold = _BOLD_LINE.match(part[0]) if is_line else None
            title = _without_markup(bold[2]) if bold else ""
            if is_bold_heading(title):
                blocks.append(Block(part[0].strip(), LINE_LEVEL, title))
            else:
                _append(blocks, part)
    _append(blocks, lines[done:])
    return tuple(block for block in blocks if block.text.strip())


def split_front_matter(text: str) -> tuple[dict[str, Any], str]:
    """Return the values of the front matter (YAML or TOML), and the text after it.

    Raises:
        UnreadableFile: It begins like front matter that cannot be read.
    """
    import tomllib  # noqa: PLC0415 - only for files with front matter

    head = text[:_MAX_FRONT_MATTER_CHARS]
    values: Any = None
    if match := _FRONT_MATTER.match(head):
        import yaml  # noqa: PLC0415 - only for files with front matter

        source = match[1] or ""
        # The scanner takes quadratic time in how deep brackets nest.
        depths = accumulate(1 if each in "[{" else -1 for each in re.findall(r"[\[\]{}]", source))
        if max(depths, default=0) > _MAX_NESTING:
            raise UnreadableFile("The front matter is nested too deeply.")
        with suppress(yaml.YAMLError, ValueError):  # ValueError: a date such as 2024-13-45
            # Aliases are rejected: they can expand exponentially.
            if any(isinstance(token, yaml.AliasToken) for token in yaml.scan(source)):
                raise UnreadableFile("The front matter holds YAML aliases, which are refused.")
            values = yaml.safe_load(source)
    elif match := _TOML_FRONT_MATTER.match(head):
        with suppress(tomllib.TOMLDecodeError):
            values = tomllib.loads(match[1] or "")
    # A rule at the start of a text, with another below, is not front matter.
    if match is None or not isinstance(values, dict):
        return {}, text
    return {str(key): _json_value(value) for key, value in values.items()}, text[match.end() :]


def _without_markup(title: str) -> str:
    from markdown_it import MarkdownIt  # noqa: PLC0415 - not needed for other formats

    (inline,) = MarkdownIt("commonmark").parseInline(title[:1000])
    shown = (
        child.content if child.content else " "
        for child in inline.children or ()
        if child.type in ("text", "code_inline", "softbreak", "hardbreak", "image")
    )
    return " ".join("".join(shown).split())


def _append(blocks: list[Block], lines: list[str]) -> None:
    text = "\n".join(lines).strip("\n")
    if text.strip():
        blocks.append(Block(text.rstrip()))


def _json_value(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _json_value(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set):
        return [_json_value(inner) for inner in value]
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    finite = not isinstance(value, float) or value - value == 0
    return value if isinstance(value, str | int | float | bool | None) and finite else str(value)


def _string(value: Any) -> str:
    return "" if value is None or isinstance(value, dict | list) else str(value).strip()
