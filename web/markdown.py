"""Read Markdown as elements and pieces of text with their source positions. Pure."""

import re
from collections.abc import Callable, Iterator
from functools import cache
from html import escape
from itertools import groupby
from typing import NamedTuple

from markdown_it import MarkdownIt, rules_inline
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token


class Piece(NamedTuple):
    """Shown text, and the characters ``start:end`` of the source that it comes from.

    Each shown character equals its source character (a line break within code becomes a space),
    unless the piece is whole (an entity, an escape): then it maps to the span as one.
    """

    start: int
    end: int
    text: str
    is_whole: bool = False


class Element(NamedTuple):
    """An opening, closing or empty element; the only text of the source in it is a link's URL."""

    html: str


Part = Piece | Element

# A wide table scrolls in its own box, which the keyboard can reach.
TABLE = Element('<div class="table-scroll" tabindex="0"><table>')
TABLE_END = Element("</table></div>")

# Parsing hostile blocks takes time quadratic in their length (.15 s for 5,000 characters of "![");
# longer blocks are shown unparsed.
MAX_INLINE_CHARS = 5_000
# The place of a space that a tab was expanded to.
_NOWHERE = -1
SAFE_ADDRESS = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)
_TAG_NAME = re.compile(r"</?([a-z][a-z0-9]*)\b", re.IGNORECASE)
# Tags of pure form; any other tag may be what a text is about, and is shown as written.
_DROPPED_TAGS = frozenset(
    "a abbr b big blockquote br center cite code dd del details div dl dt em font h1 h2 h3 h4 h5 h6"
    " hr i img ins kbd li mark ol p picture pre q s samp small source span strike strong sub"
    " summary sup table tbody td tfoot th thead tr tt u ul var wbr".split()
)


def link_to(address: str) -> Element:
    """Return the opening element of a link that tells the other site nothing."""
    rest = 'rel="noreferrer noopener nofollow" target="_blank"'
    return Element(f'<a href="{escape(address)}" {rest}>')


def read_markdown(source: str) -> list[Part]:
    """Return the elements and text of any Markdown, in order."""
    # The parser replaces these characters; stored texts have none.
    plain = source.replace("\r", " ").replace("\0", "\ufffd")
    parts: list[Part] = []
    for part in _Reader(plain).read():
        last = parts[-1] if parts else None
        if (
            isinstance(last, Piece)
            and isinstance(part, Piece)
            and not (last.is_whole or part.is_whole)
            and last.end == part.start
        ):
            parts[-1] = Piece(last.start, part.end, last.text + part.text)
        else:
            parts.append(part)
    return parts


class _Reader:
    def __init__(self, source: str) -> None:
        self._source = source
        self._lines = source.split("\n")
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line) + 1)
        # Where to search for the next cell, by the number of its row.
        self._row_places: dict[int, int] | None = None

    def read(self) -> Iterator[Part]:
        for token in _parser().parse(self._source):
            first = token.map[0] if token.map else 0
            match token.type:
                case "inline":
                    yield from self._read_lines(token.content, first)
                case "html_block":
                    yield Element("<div>")
                    lines = token.content.rstrip("\n").split("\n")
                    text = "\n".join(line.lstrip(" \t") for line in lines)
                    yield from self._read_lines(text, first)
                    yield Element("</div>")
                case "fence" | "code_block":
                    yield Element("<pre><code>")
                    yield from self._read_code(token.content, first + (token.type == "fence"))
                    yield Element("</code></pre>")
                case "table_open":
                    self._row_places = {}
                    yield TABLE
                case "table_close":
                    self._row_places = None
                    yield TABLE_END
                case "heading_open":
                    yield Element(f'<p class="heading is-{token.tag}">')
                case "heading_close":
                    yield Element("</p>")
                case "ordered_list_open":
                    yield Element(f'<ol start="{int(token.attrs.get("start", 1))}">')
                case _ if not token.hidden:
                    yield _element(token)

    def _read_code(self, content: str, first: int) -> Iterator[Part]:
        lines = content.removesuffix("\n").split("\n") if content else []
        for number, bare in enumerate(lines, first):
            begin, end = self._starts[number], self._starts[number + 1] - 1
            # Tabs that indent a block are expanded: the line is then not in the source.
            is_there = self._lines[number].endswith(bare)
            if bare:
                start = end - len(bare) if is_there else begin
                yield Piece(start, end, bare, is_whole=not is_there)
            if end < len(self._source):
                yield Piece(end, end + 1, "\n")

    def _read_lines(self, content: str, first: int) -> Iterator[Part]:
        lines = enumerate(content.split("\n"), first)
        places = [place for number, line in lines for place in self._find(line, number)]
        if len(content) > MAX_INLINE_CHARS:
            yield from _pieces(content, places)
        else:
            yield from _read_inline(content, places)

    def _find(self, line: str, number: int) -> list[int]:
        """Return the place of each character of a parsed line, and where the line ends."""
        begin, source = self._starts[number], self._lines[number]
        end = begin + len(source)
        if self._row_places is not None:
            places = _find_cell(line, source, self._row_places.get(number, 0))
            if places:
                self._row_places[number] = places[-1] + 1
            return [*(begin + place for place in places), end]
        # Tabs that indent it may have been expanded.
        words = line if source.endswith(line) else line.lstrip(" \t")
        at = len(source) - len(words) if source.endswith(words) else max(source.find(words), 0)
        lead = [_NOWHERE] * (len(line) - len(words))
        return [*lead, *range(begin + at, begin + at + len(words)), end]


def _find_cell(cell: str, row: str, after: int) -> list[int]:
    """Return where the characters of a cell stand in its row, in which bars are escaped."""
    spelt = list(cell)
    at = row.find(cell, after)
    if at < 0:
        spelt = [f"\\{letter}" if letter == "|" else letter for letter in cell]
        at = max(row.find("".join(spelt), after), 0)
    ends = [at := at + len(letter) for letter in spelt]
    return [end - 1 for end in ends]


def _element(token: Token) -> Element:
    return Element(f"<{'/' if token.nesting < 0 else ''}{token.tag}>")


def _read_inline(content: str, places: list[int]) -> Iterator[Part]:
    parser = _parser()
    links: list[bool] = []
    for token in parser.inline.parse(content, parser, {}, []):
        at = token.meta.get("at", 0)
        match token.type:
            case "link_open" | "link_close":
                yield from _link(token, links)
            case "text" if token.meta.get("is_url"):  # the parser normalizes URLs
                end = places[token.meta["to"] - 1]
                yield Piece(places[at + 1], end, token.content, is_whole=True)
            case "text":
                yield from _pieces(token.content, places, at)
            case "text_special":
                end = places[at] + len(token.markup)
                yield Piece(places[at], end, token.content, is_whole=True)
            case "image":  # only its text: pages load nothing from other sites
                yield from _pieces(token.content, places, at + len("!["))
            case "code_inline":
                yield from _code(token, content, places)
            case "html_inline":
                yield from _html(token, places)
            case "softbreak":
                yield Piece(places[at], places[at] + 1, "\n")
            case _:
                yield _element(token)


def _link(token: Token, links: list[bool]) -> Iterator[Element]:
    """Yield a link if its address is safe to follow; else only its text is shown."""
    if token.nesting < 0:
        if links.pop():
            yield Element("</a>")
        return
    address = str(token.attrs.get("href", ""))
    links.append(bool(SAFE_ADDRESS.match(address)))
    if links[-1]:
        yield link_to(address)


def _code(token: Token, content: str, places: list[int]) -> Iterator[Part]:
    fence = len(token.markup)
    start, end = token.meta["at"] + fence, token.meta["to"] - fence
    inside = content[start:end].replace("\n", " ")
    if inside[0] == inside[-1] == " " and inside.strip():
        start, inside = start + 1, inside[1:-1]
    yield Element("<code>")
    yield from _pieces(inside, places, start)
    yield Element("</code>")


def _html(token: Token, places: list[int]) -> Iterator[Part]:
    tag = _TAG_NAME.match(token.content)
    name = tag[1].lower() if tag else ""
    if name == "br":
        yield Element("<br>")
    elif name not in _DROPPED_TAGS and not token.content.startswith("<!--"):
        yield from _pieces(token.content, places, token.meta["at"])


def _pieces(text: str, places: list[int], at: int = 0) -> Iterator[Piece]:
    """Yield a text, whose characters are at ``places[at:]``, in contiguous pieces."""
    letters = zip(places[at : at + len(text)], text, strict=False)
    numbered = enumerate(letter for letter in letters if letter[0] != _NOWHERE)
    for _, run in groupby(numbered, key=lambda each: each[1][0] - each[0]):
        placed = [letter for _, letter in run]
        start = placed[0][0]
        yield Piece(start, start + len(placed), "".join(letter for _, letter in placed))


_Rule = Callable[[StateInline, bool], bool]


@cache
def _parser() -> MarkdownIt:
    """Return a parser that notes where each inline token begins ("at") and ends ("to").

    Link definitions are shown: one may be prose, or its use outside the excerpt. Text is never left
    pending, which would lose its place.
    """
    parser = MarkdownIt("commonmark").enable("table")
    parser.disable(["inline", "text_join", "reference", "fragments_join"])
    rules: list[tuple[str, _Rule]] = [
        ("text", _take_text), ("newline", rules_inline.newline), ("escape", rules_inline.escape),
        ("backticks", rules_inline.backtick), ("emphasis", rules_inline.emphasis.tokenize),
        ("link", rules_inline.link), ("image", rules_inline.image),
        ("autolink", rules_inline.autolink), ("html_inline", rules_inline.html_inline),
        ("entity", rules_inline.entity),
    ]  # fmt: skip
    for name, rule in rules:
        parser.inline.ruler.at(name, _placed(rule))
    parser.inline.ruler.push("letter", _placed(_take_letter))
    return parser


def _placed(rule: _Rule) -> _Rule:
    def placed(state: StateInline, silent: bool) -> bool:
        begin, count = state.pos, len(state.tokens)
        if not rule(state, silent):
            return False
        if state.pending:
            state.pushPending()
        at = begin
        for token in state.tokens[count:] if not silent else ():
            if "at" not in token.meta:
                token.meta |= {"at": at, "to": state.pos}
                token.meta["is_url"] = rule is rules_inline.autolink
            at += len(token.content)
        return True

    return placed


def _take_text(state: StateInline, silent: bool) -> bool:
    match = state.md.inline.terminator_re.search(state.src, state.pos, state.posMax)
    return _take(state, match.start() if match else state.posMax, silent)


def _take_letter(state: StateInline, silent: bool) -> bool:
    return _take(state, state.pos + 1, silent)


def _take(state: StateInline, end: int, silent: bool) -> bool:
    if end == state.pos:
        return False
    if not silent:
        state.push("text", "", 0).content = state.src[state.pos : end]
    state.pos = end
    return True
