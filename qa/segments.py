"""Split a text into quotable segments, each with the spans needed to understand it.

A segment is a sentence, a list item, a table row, a block of code, the header of an e-mail or a
heading. Quotes in answers and a language model's sources consist of whole segments.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from corpus.sentences import is_marker, sentence_spans, trim_spans

Span = tuple[int, int]
"""Half-open, in characters of the text."""

STEP = re.compile(r"\(?(\d{1,3})[.)]\s")
_ITEM = re.compile(r"(?:[-*+\u2022]|(?<!\d)\d++[.)])\s")
# A row of a sheet, with the names of its columns: "Room: Gannet; Beds: 2".
_RECORD = re.compile(r"[^\n:;]{1,80}: [^\n;]*+(?:; [^\n:;]{1,80}: [^\n;]*+)++")
# The row below a table's header.
_RULE = re.compile(r"\A\|(?=[:| \t]*+-)[-:| \t]*+\Z")
# The header of an e-mail, as pkb stores it.
_FIELDS = r"From: [^\n]++(?:\n(?:To|Cc|Date): [^\n]++)++"
# A line that begins a block of code, or ends it where nothing stands behind the mark; a row; or the
# header of an e-mail.
_BLOCK_LINE = re.compile(rf"^[ \t]*+(?:(```|~~~)([^\n]*+)|\|[^\n]*+|{_FIELDS})", re.MULTILINE)
# A sentence with such a beginning needs the one before it.
_REFERS_BACK = re.compile(
    r"(?:it|its|this|that|these|those|they|them|their|he|she|however|but|otherwise|so|thus"
    r"|therefore|then|also|instead|such|if not|and|or|the former|the latter|no|yes)\b",
    re.IGNORECASE,
)
# A longer line is a sentence, not a name.
MAX_NAME_WORDS = 8
# A longer block of code is split like other text.
MAX_CODE_CHARS = 1_500


def sentences_around(text: str, start: int, end: int) -> Span | None:
    """Return the span of the sentences that contain some of ``start:end``; None without any."""
    touched = [each for each in sentence_spans(text) if each[1] > start and each[0] < end]
    return (touched[0][0], touched[-1][1]) if touched else None


class Kind(StrEnum):
    """The kinds of segment in the layout of a text."""

    HEADING = "heading"
    SENTENCE = "sentence"
    ITEM = "item"
    ROW = "row"
    RULE = "rule"
    CODE = "code"
    FIELDS = "fields"


_TABLE = frozenset({Kind.ROW, Kind.RULE})


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment ``start:end`` of a text.

    Attributes:
        section: Number of headings before it.
        indent: Spaces before a list item.
        is_listed: It begins or continues an item or row.
        begins_block: It follows an empty line, or begins the text.
        refers_back: It begins with a word that refers to the text before it.
        is_lead_in: It ends in ":" or "?": the next segment completes it.
        needs: Spans before it, in order, needed to understand it: the lead-in of its list or code,
            its parent items, its table header, the name of the option it explains.
    """

    start: int
    end: int
    kind: Kind
    section: int
    indent: int = 0
    is_listed: bool = False
    begins_block: bool = True
    refers_back: bool = False
    is_lead_in: bool = False
    needs: tuple[Span, ...] = ()

    @property
    def span(self) -> Span:
        return self.start, self.end

    @property
    def begins_item(self) -> bool:
        return self.kind in {Kind.ITEM, *_TABLE}


def split_segments(text: str) -> tuple[Segment, ...]:
    """Return the segments of a text, in order; skip list marks without an item."""
    segments = list(_read(text))
    needs = _find_needs(text, segments)
    return tuple(
        replace(each, needs=each_needs) for each, each_needs in zip(segments, needs, strict=True)
    )


def _read(text: str) -> Iterator[Segment]:
    """Yield the segments, without what they need."""
    before: Segment | None = None
    section = 0
    for start, end in _spans(text):
        if is_marker(text[start:end]):
            continue
        kind = _kind_of(text, start, end)
        section += kind is Kind.HEADING
        begins_block = before is None or "\n\n" in text[before.end : start]
        begins_item = kind in {Kind.ITEM, *_TABLE}
        continues_item = before is not None and before.is_listed and not begins_block
        line = text[text.rfind("\n", 0, start) + 1 : start]
        piece = text[start:end].rstrip("*_`\"')")
        segment = Segment(
            start,
            end,
            kind,
            section,
            indent=0 if line.strip() else len(line),
            is_listed=begins_item or (continues_item and kind is not Kind.HEADING),
            begins_block=begins_block,
            refers_back=_REFERS_BACK.match(text, start) is not None,
            is_lead_in=piece.endswith(("?", ":")),
        )
        yield segment
        before = segment


def _spans(text: str) -> Iterator[Span]:
    """Yield the spans of sentences, with code blocks and rows as one each."""
    blocks = _blocks(text)
    block = next(blocks, None)
    done = 0
    for begin, end in sentence_spans(text):
        start = max(begin, done)
        while block is not None and block[0] < end:
            yield from trim_spans(text, [(start, block[0]), block])
            start = done = block[1]
            block = next(blocks, None)
        yield from trim_spans(text, [(start, end)])


def _blocks(text: str) -> Iterator[Span]:
    opened: re.Match[str] | None = None
    for line in _BLOCK_LINE.finditer(text):
        if opened is None and line[1] is None:
            yield line.span()
        elif opened is None:
            opened = line
        elif line[1] == opened[1] and not line[2].strip():
            if line.end() - opened.start() <= MAX_CODE_CHARS:
                yield opened.start(), line.end()
            opened = None


def _kind_of(text: str, start: int, end: int) -> Kind:
    if text.startswith("#", start):
        return Kind.HEADING
    if text.startswith(("```", "~~~"), start):
        return Kind.CODE
    if text.startswith("|", start):
        return Kind.RULE if _RULE.match(text[start:end]) else Kind.ROW
    if re.fullmatch(_FIELDS, text[start:end]):
        return Kind.FIELDS
    is_item = _ITEM.match(text, start) or _RECORD.fullmatch(text, start, end)
    return Kind.ITEM if is_item else Kind.SENTENCE


def _find_needs(text: str, segments: Sequence[Segment]) -> Iterator[tuple[Span, ...]]:
    lead: list[Segment] = []
    opened: list[Segment] = []  # the item that a segment is of, behind those it is nested in
    header: list[Segment] = []
    for at, segment in enumerate(segments):
        if not continues_list(segments, at):
            opened = []
            lead = _lead_of(text, segments, at) if segment.kind not in _TABLE else []
        # An item holds what is indented more; unknown for one that begins the text.
        while (
            segment.begins_item
            and opened
            and not (
                opened[-1].kind is Kind.ITEM
                and opened[-1].start > 0
                and opened[-1].indent < segment.indent
            )
        ):
            opened.pop()
        is_below_row = at > 0 and segments[at - 1].kind in _TABLE and not segment.begins_block
        if segment.kind is Kind.ROW and not is_below_row:
            names_columns = at + 1 < len(segments) and segments[at + 1].kind is Kind.RULE
            header = [segment] if names_columns else []
        is_below = segment.kind is Kind.ROW and header != [segment]
        needs = [*lead, *opened, *(header if is_below else [])]
        yield () if segment.kind is Kind.HEADING else tuple(each.span for each in needs)
        if segment.begins_item:
            opened.append(segment)


def continues_list(segments: Sequence[Segment], at: int) -> bool:
    """Return whether a segment is in the same list or table as the one before it."""
    each, before = segments[at], segments[at - 1]
    if at == 0 or not (each.is_listed and before.is_listed):
        return False
    # An empty line separates a list from a table, and two tables.
    is_table = any(one.kind in _TABLE and not one.indent for one in (each, before))
    return not (each.begins_block and is_table)


def list_start(segments: Sequence[Segment], at: int) -> int:
    """Return the index where a segment's list or table begins; its own if it has none."""
    while continues_list(segments, at):
        at -= 1
    return at


def _lead_of(text: str, segments: Sequence[Segment], at: int) -> list[Segment]:
    """Return the sentence with a colon, or the line of a name, before a list."""
    before = segments[at - 1] if at else None
    if before is None or before.kind is Kind.HEADING or before.section != segments[at].section:
        return []
    piece = text[before.start : before.end]
    if piece.rstrip("*_`\"')").endswith(":"):
        return [before]
    is_line = before.begins_block and segments[at].begins_block and before.kind is Kind.SENTENCE
    names = is_line and len(piece.split()) <= MAX_NAME_WORDS and piece[-1] not in ".!?;,"
    return [before] if names else []


def earlier_steps(text: str, segments: Sequence[Segment], at: int) -> list[Segment]:
    """Return the numbered steps before a step of its list; none unless all from 1 exist."""
    own = STEP.match(text, segments[at].start)
    if segments[at].kind is not Kind.ITEM or own is None:
        return []
    steps: list[Segment] = []
    wanted = int(own[1]) - 1
    for each in reversed(segments[:at]):
        number = STEP.match(text, each.start) if each.kind is Kind.ITEM else None
        if number and each.indent == segments[at].indent and int(number[1]) == wanted:
            steps.append(each)
            wanted -= 1
        if wanted == 0 or not each.is_listed:
            break
    return steps[::-1] if wanted == 0 else []
