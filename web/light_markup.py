"""Read reStructuredText and AsciiDoc line by line, with source positions. Pure.

No parser of these formats tells source positions, which marks need. So only what a line shows by
itself becomes an element: code, emphasis, links, names of directives. All else is shown as written.
"""

import re
from collections.abc import Iterator
from itertools import groupby

from corpus.loaders.registry import ASCIIDOC, RESTRUCTUREDTEXT
from web.markdown import SAFE_ADDRESS, Element, Part, Piece, link_to

LIGHT = frozenset({RESTRUCTUREDTEXT, ASCIIDOC})
# Within a paragraph; longer ones are shown as they are written.
_IN_TICKS = r"(?:[^`\n]|\n(?!\s*\n)){1,150}?"
_REST = re.compile(
    rf"(?P<code>``)(?P<code_text>(?:[^\n]|\n(?!\s*\n)){{1,150}}?)``"
    rf"|:(?P<role>[a-z][\w:+.-]{{0,40}}):`~?!?(?P<role_text>{_IN_TICKS})`"
    rf"|(?<![\w`])`(?P<link_text>{_IN_TICKS})`(?P<link>__?|(?![\w`]))"
    r"|(?<![\w*])\*\*(?P<strong_text>(?=\S)[^*\n]{1,150}?(?<=\S))\*\*(?![\w*])"
    r"|(?<![\w*])\*(?P<em_text>(?=\S)[^*\n]{1,150}?(?<=\S))\*(?![\w*])"
)
_ASCIIDOC = re.compile(
    r"(?P<code>(?<![\w`])`)(?P<code_text>(?=\S)[^`\n]{1,150}?(?<=\S))`(?![\w`])"
    r"|(?:link:|(?<![\w:/]))(?P<link>(?:https?|mailto):[^\s\[\]]{1,500})\[(?P<link_text>[^\]\n]{1,150})\]"
    r"|<<[^<>,\n]{1,200},(?P<role_text>[^<>\n]{1,150})>>"
    r"|(?<![\w*])\*(?P<strong_text>(?=\S)[^*\n]{1,150}?(?<=\S))\*(?![\w*])"
    r"|(?<![\w_])_(?P<em_text>(?=\S)[^_\n]{1,150}?(?<=\S))_(?![\w_])"
)
_WORDS_ONLY = frozenset(("ref", "doc", "term", "numref", "any", "title"))
_DIRECTIVE = re.compile(r"\A([ \t]*)\.\. ([\w:+-]+)::(?=[ \t]|$)")
_CODE_DIRECTIVES = frozenset(("code", "code-block", "sourcecode", "highlight", "parsed-literal"))
_HEADING = re.compile(r"\A(={1,6}|#{1,6}|\.(?=\w))[ \t]*(?=\S)(.*)")
_FENCE = re.compile(r"\A(?:-{4,}|\.{4,}|\+{4,}|={4,}|\*{4,}|_{4,}|--)[ \t]*\Z")
_LISTING_FENCES = ("-", ".", "+")
_ATTRIBUTES = re.compile(r"\A(?:\[[\w#.,%\"'=\[\] -]*\][ \t]*|\+[ \t]*)\Z")


# Half-open characters of the source to show, with the element around them, or none. Those of a
# ``_TEXT`` have inline markup, also across lines.
_Span = tuple[int, int, str]
_TEXT = "text"


def read_light_markup(source: str, media_type: str) -> list[Part]:
    """Return what is shown of a text in reStructuredText or AsciiDoc; any text is read."""
    is_rest = media_type == RESTRUCTUREDTEXT
    pattern = _REST if is_rest else _ASCIIDOC
    spans = _rest_spans(source) if is_rest else _asciidoc_spans(source)
    parts: list[Part] = []
    for is_text, group in groupby(spans, key=lambda span: span[2] == _TEXT):
        run = list(group)
        if is_text:
            place, end = run[0][0], run[-1][1]
            for match in pattern.finditer(source, place, end):
                parts += [*_tagged(source, place, match.start(), ""), *_marked_up(source, match)]
                place = match.end()
            parts += _tagged(source, place, end, "")
        else:
            parts += [part for span in run for part in _tagged(source, *span)]
    return parts


def _rest_spans(source: str) -> Iterator[_Span]:
    """Yield literal blocks as written, directives by their names, and all else as text."""
    margin: int | None = None
    for start, end, line in _numbered(source):
        indent = len(line) - len(line.lstrip())
        if margin is not None and (not line.strip() or indent > margin):
            yield start, end, ""
            continue
        margin = None
        directive = _DIRECTIVE.match(line)
        if directive and directive[2] in _CODE_DIRECTIVES:
            margin = indent
            yield end, end, ""
        elif directive:
            yield start, start + indent, ""
            yield start + directive.start(2), start + directive.end(2), "strong"
            yield start + directive.end(2) + len("::"), end, _TEXT
        elif line.rstrip().endswith("::"):
            margin = indent
            yield start, start + len(line.rstrip()) - 1, _TEXT
            yield start + len(line), end, ""
        else:
            yield start, end, _TEXT


def _asciidoc_spans(source: str) -> Iterator[_Span]:
    """Yield listings as written, titles in bold, no fences or attributes, and all else as text."""
    fence = ""
    for start, end, line in _numbered(source):
        bare = line.rstrip()
        if _FENCE.match(bare) and bare in (fence or bare):
            fence = "" if fence else bare
            yield end, end, ""
        elif fence.startswith(_LISTING_FENCES):
            yield start, end, ""
        elif title := _HEADING.match(line):
            yield start + title.start(2), start + len(line), "strong"
            yield start + len(line), end, ""
        elif _ATTRIBUTES.match(line):
            yield end, end, ""
        else:
            yield start, end, _TEXT


def _numbered(source: str) -> Iterator[tuple[int, int, str]]:
    start = 0
    for line in source.split("\n"):
        end = min(start + len(line) + 1, len(source))
        yield start, end, line
        start = end


def _marked_up(source: str, match: re.Match[str]) -> Iterator[Part]:
    kind = next(name for name in _KINDS if match[f"{name}_text"] is not None)
    start, end = match.span(f"{kind}_text")
    groups = match.groupdict()
    address = groups.get("link") or ""
    words, bracket, target = match[f"{kind}_text"].rpartition("<")
    # Words before an address or name in angle brackets are shown without it.
    if kind in {"role", "link"} and bracket and words.strip() and target.endswith(">"):
        end, address = start + len(words.rstrip()), target[:-1]
    if kind == "link" and SAFE_ADDRESS.match(address):
        yield link_to(address)
        yield from _tagged(source, start, end, "")
        yield Element("</a>")
        return
    role = groups.get("role")
    is_code = role is not None and role.rpartition(":")[2] not in _WORDS_ONLY
    yield from _tagged(source, start, end, "code" if is_code else _TAGS.get(kind, ""))


_TAGS = {"code": "code", "strong": "strong", "em": "em"}
_KINDS = ("code", "role", "link", "strong", "em")


def _tagged(source: str, start: int, end: int, tag: str) -> Iterator[Part]:
    if start < end:
        yield from [Element(f"<{tag}>")] * bool(tag)
        yield Piece(start, end, source[start:end])
        yield from [Element(f"</{tag}>")] * bool(tag)
