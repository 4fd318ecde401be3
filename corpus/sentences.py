"""Find sentences as spans, of which chunks and quotes consist."""

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

# A full stop after these abbreviations does not end a sentence.
_ABBREVIATIONS = frozenset(
    "mr mrs ms dr prof rev gen sen rep gov capt col lt sgt st jr sr vs etc eg ie e.g i.e cf al fig"
    " figs no nos vol vols pp ed eds approx dept est inc ltd co corp jan feb mar apr jun jul aug"
    " sep sept oct nov dec mon tue wed thu fri sat sun u.s u.k a.m p.m ph.d m.d b.a m.a sec eq"
    " ch op ca".split()
)
_BOUNDARY = re.compile(
    r"""
    (?=[.!?\n\#\u3002\uff01\uff1f\u0964\u061f])(?:     # most characters begin none of these
      (?P<stop>(?<![.!?])[.!?]++["')\]\u201d\u2019]*+)(?=\s)  # a stop, closed, before white space
    | (?P<wide>[\u3002\uff01\uff1f\u0964\u061f]+["'\u300d\u300f\uff09]*)   # CJK, Devanagari, Arabic
    | (?P<gap>\n\s*\n)                                # an empty line
    | (?P<item>\n(?=\s*(?:[-*+\u2022]|\d+[.)])\s))    # before an item of a list
    | (?P<row>\n(?=\s*\|)|(?<=\|)\n)                  # around a row of a table
    | (?P<head>(?<=\n)\#{1,6}\s[^\n]*\n|\A\#{1,6}\s[^\n]*\n)  # a Markdown heading
    )""",
    re.VERBOSE,
)
# The mark of a list item, which is no sentence by itself.
_MARKER = re.compile(r"[-*+\u2022]|\(?(?:\d{1,3}|[a-zA-Z]|[ivx]{1,4})[.)]")
# Maximum indent of a mark at a line start.
_MAX_INDENT = 20
_LAST_WORD = re.compile(r"(?<![\w.])([\w.]+)\.\Z")


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return the half-open span of each sentence of ``text``, in order.

    Spans begin and end with a non-whitespace character, and cover all of them. Headings, list items
    and table rows are separate sentences; the mark of an item belongs to its text. Linear in the
    length of the text.
    """
    cuts = [0]
    for match in _BOUNDARY.finditer(text):
        if match.lastgroup == "head" and match.start() > cuts[-1]:
            cuts.append(match.start())
        if match.lastgroup == "stop" and not _ends_sentence(text, cuts[-1], match):
            continue
        if match.lastgroup in {"stop", "gap"} and _is_begun(text, cuts[-1], match.end()):
            continue
        cuts.append(match.end())
    return list(trim_spans(text, pairwise([*cuts, len(text)])))


def is_marker(text: str) -> bool:
    """Return whether a text is only the mark of a list item: "3.", "a)", "-"."""
    return _MARKER.fullmatch(text.strip()) is not None


def _is_begun(text: str, start: int, end: int) -> bool:
    """Return whether the text so far is only a mark at a line start."""
    piece = text[start:end]
    if not is_marker(piece):
        return False
    at = end - len(piece.lstrip())
    before = text[max(0, at - _MAX_INDENT) : at].rstrip(" \t")
    return before.endswith("\n") or (not before and at < _MAX_INDENT)


def _ends_sentence(text: str, start: int, match: re.Match[str]) -> bool:
    """Return whether a full stop ends a sentence, and not an abbreviation."""
    stop = match.group("stop")
    following = text[match.end() : match.end() + 40].lstrip()
    if stop[0] != ".":
        return True
    if following[:1].islower():
        return False
    word = _LAST_WORD.search(text, max(start, match.start() - 30), match.start() + 1)
    if word is None:
        return True
    last = word.group(1)
    is_initial = len(last) == 1 and last.isupper() and last != "I"
    return not is_initial and last.lower() not in _ABBREVIATIONS


def trim_spans(text: str, spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Strip whitespace from each span, and drop empty ones."""
    for start, end in spans:
        piece = text[start:end]
        left = len(piece) - len(piece.lstrip())
        size = len(piece.strip())
        if size:
            yield start + left, start + left + size


def separator_after(text: str) -> str:
    """Return the separator between ``text`` and a sentence after it."""
    if not text:
        return ""
    return " " if text.rstrip("\"')]\u201d\u2019")[-1:] in {".", "!", "?"} else "\n\n"
