"""Markdown: one block for each top-level part, headings H1 to H6, front matter."""

import datetime as dt
import re
from typing import TYPE_CHECKING, Any

from corpus.errors import UnreadableFile
from corpus.loaders.blocks import Block, LoadedDocument
from corpus.loaders.charset import decode
from corpus.loaders.formats.plain_text import normalize_newlines
from corpus.loaders.labels import LINE_LEVEL, is_bold_heading

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?\n)??(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.S)
_TOML_FRONT_MATTER = re.compile(r"\A\+\+\+[ \t]*\n(.*?\n)??\+\+\+[ \t]*(?:\n|\Z)", re.S)
# Longer than any front matter; without an end by then it is text.
_MAX_FRONT_MATTER_CHARS = 64 * 1024
# Maximum nesting of quotes and lists, for which the parser recurses.
_MAX_NESTING = 50
_BOLD_LINE = re.compile(r" {0,3}(\*\*|__)((?:(?!\1).)+)\1[ \t]*$")
_TAG_KEYS = ("tags", "keywords", "categories")
_CREATED_KEYS = ("created", "created_at", "date")
# These have fields of their own and are not metadata too.
_STATED = frozenset(("title", "chapter", "section", *_TAG_KEYS))


def load(content: bytes, *, filename: str) -> LoadedDocument:
    """Read a Markdown file; its text stays as written, without front matter."""
    text = normalize_newlines(decode(content))
    stated, body = split_front_matter(text)
    return LoadedDocument(
        blocks=markdown_blocks(body),
        title=_string(stated.get("title")),
        metadata=_metadata(stated),
        tags=_tags(stated),
        chapter=_string(stated.get("chapter")),
        section=_string(stated.get("section")),
    )


def markdown_blocks(text: str) -> tuple[Block, ...]:
    """Cut Markdown into top-level blocks by lines; keep every line with text."""
    parser = _block_parser()
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
        if token.type == "heading_open":
            blocks.append(_heading(lines[start:end], token, tokens[position + 1]))
        elif token.type == "paragraph_open" and (title := _bold_line(lines[start:end])):
            blocks.append(Block("\n".join(lines[start:end]).strip(), LINE_LEVEL, title))
        else:
            _append(blocks, lines[start:end])
        done = max(end, done)
    _append(blocks, lines[done:])
    return tuple(block for block in blocks if block.text.strip())


def split_front_matter(text: str) -> tuple[dict[str, Any], str]:
    """Return the values of the front matter (YAML or TOML), and the text after it.

    Raises:
        UnreadableFile: It begins like front matter that cannot be read.
    """
    for pattern, parse in ((_FRONT_MATTER, _yaml), (_TOML_FRONT_MATTER, _toml)):
        found = pattern.match(text[:_MAX_FRONT_MATTER_CHARS])
        if found:
            values = parse(found.group(1) or "")
            # A rule at the start of a text, with another below, is not front matter.
            if isinstance(values, dict):
                stated = {str(key): _json_value(value) for key, value in values.items()}
                return stated, text[found.end() :]
    return {}, text


def _block_parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt  # noqa: PLC0415 - not needed for other formats

    # Inline markup is not parsed: nothing needs it, and it may take quadratic time.
    return MarkdownIt("commonmark").enable("table").disable("inline")


def _heading(lines: list[str], opening: "Token", inline: "Token") -> Block:
    source = "\n".join(lines).strip("\n")
    title = _without_markup(inline.content)
    return Block(source, int(opening.tag[1]), title) if title else Block(source)


def _bold_line(lines: list[str]) -> str:
    """Return the words of a paragraph that is a bold heading line, else ""."""
    found = _BOLD_LINE.match(lines[0]) if len(lines) == 1 else None
    title = _without_markup(found[2]) if found else ""
    return title if is_bold_heading(title) else ""


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


def _yaml(source: str) -> Any:
    import yaml  # noqa: PLC0415 - only for files with front matter

    try:
        if _nesting(source) > _MAX_NESTING:
            raise UnreadableFile("The front matter is nested too deeply.")
        # Aliases are rejected: they can expand exponentially.
        if any(isinstance(token, yaml.AliasToken) for token in yaml.scan(source)):
            raise UnreadableFile("The front matter holds YAML aliases, which are refused.")
        return yaml.safe_load(source)
    except (yaml.YAMLError, ValueError):  # ValueError: a date such as 2024-13-45
        return None


def _nesting(source: str) -> int:
    """Return how deep brackets nest: the scanner takes quadratic time in that."""
    depth = deepest = 0
    for bracket in re.findall(r"[\[\]{}]", source):
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


def _toml(source: str) -> Any:
    import tomllib  # noqa: PLC0415 - only for files with front matter

    try:
        return tomllib.loads(source)
    except tomllib.TOMLDecodeError:
        return None


def _json_value(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _json_value(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set):
        return [_json_value(inner) for inner in value]
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    finite = not isinstance(value, float) or value - value == 0
    return value if isinstance(value, str | int | float | bool | None) and finite else str(value)


def _metadata(stated: dict[str, Any]) -> dict[str, Any]:
    metadata = {key: value for key, value in stated.items() if key not in _STATED}
    for key in _CREATED_KEYS:
        if metadata.get(key):
            metadata["created"] = str(metadata.pop(key))
            break
    return metadata


def _tags(stated: dict[str, Any]) -> tuple[str, ...]:
    found: list[str] = []
    for key in _TAG_KEYS:
        value = stated.get(key) or ()
        items = value.split(",") if isinstance(value, str) else value
        if isinstance(items, list | tuple):
            found.extend(str(item).strip() for item in items)
    return tuple(dict.fromkeys(tag for tag in found if tag))


def _string(value: Any) -> str:
    return "" if value is None or isinstance(value, dict | list) else str(value).strip()
