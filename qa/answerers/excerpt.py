"""What is said of a passage: the sentences that answer, with those that they need."""

import re
from collections.abc import Sequence

from corpus.sentences import is_marker, sentence_spans

# A sentence that begins so says little without the one before it.
_LEANING = re.compile(
    r"(?:it|its|this|that|these|those|they|them|their|he|she|however|but|otherwise|so|thus"
    r"|therefore|then|also|instead|such|if not|and|or|the former|the latter|no|yes)\b",
    re.IGNORECASE,
)
# One that ends so says little without the one behind it: an FAQ's question, a list's lead-in.
_LEADING_ON = ("?", ":")
_ITEM = re.compile(r"(?:[-*+\u2022]|(?<!\d)\d++[.)])\s|\|")
# The row below the one that names a table's columns.
_RULE = re.compile(r"\A\|(?=[:| \t]*+-)[-:| \t]*+\Z")
# What a sentence that is needed may have over the most words.
NEEDED_WORDS = 15

Span = tuple[int, int]


def find_excerpt(text: str, answer: Span, *, most_words: int, list_words: int = 0) -> Span:
    """Return the span of the sentences around the part that answers.

    The sentences behind it come before those in front of it, as long as there is room. A heading
    is not crossed; an item of a list or a row of a table goes without its neighbours.

    Args:
        answer: Where the part that answers stands in the text, half-open.
        most_words: Of all sentences together; those that the answer touches come whole.
        list_words: Of a list or table, with what leads to it, that comes whole where the answer
            stands in it or leads to it; one of more words goes without the neighbours, too.
    """
    spans = _section_around(text, answer)
    if not spans:
        return 0, len(text)
    touched = [i for i, span in enumerate(spans) if span[1] > answer[0] and span[0] < answer[1]]
    ahead = sum(span[0] < answer[1] for span in spans[1:])
    first, last = (touched[0], touched[-1]) if touched else (ahead, ahead)
    whole = _list_around(text, spans, first, last) if list_words else None
    if whole is not None and len(text[slice(*whole)].split()) <= list_words:
        return whole
    first, last = _grow(text, spans, first, last, most_words=most_words)
    return spans[first][0], spans[last][1]


def find_lead(text: str, excerpt: Span) -> Span | None:
    """Return what an excerpt that begins with an item or row needs; None where it has it.

    That is the sentence that leads to the list, if it ends in a colon, or the table's header.
    """
    spans = _section_around(text, excerpt)
    first = next((i for i, span in enumerate(spans) if span[0] == excerpt[0]), None)
    if first is None or not _begins_item(text, spans[first]):
        return None
    begin = _first_of_list(text, spans, first)
    if _is_row(text, spans[first]):
        return spans[begin] if begin < first and _is_rule(text, spans, begin + 1) else None
    leads = begin > 0 and text[: spans[begin - 1][1]].endswith(":")
    return spans[begin - 1] if leads else None


def _grow(
    text: str, spans: Sequence[Span], first: int, last: int, *, most_words: int
) -> tuple[int, int]:
    """Add what the sentences from the first to the last need, then what there is room for."""

    def has_room(start: int, end: int, *, words: int = most_words) -> bool:
        fits = start >= 0 and end < len(spans)
        return fits and len(text[spans[start][0] : spans[end][1]].split()) <= words

    needed = most_words + NEEDED_WORDS
    if _LEANING.match(text, spans[first][0]) and has_room(first - 1, last, words=needed):
        first -= 1
    if text[: spans[last][1]].endswith(_LEADING_ON) and has_room(first, last + 1, words=needed):
        last += 1
    names_columns = _is_rule(text, spans, last) or _is_rule(text, spans, last + 1)
    if _is_rule(text, spans, first - 1) and has_room(first - 2, last, words=needed):
        first -= 1
    if _is_rule(text, spans, first):
        first -= 1
    is_item = _is_in_item(text, spans, first) and not names_columns
    end = last
    while has_room(first, end + 1) and not (is_item and _begins_item(text, spans[end + 1])):
        end += 1
    last = _take_off_leads(text, spans, end, least=last)
    while has_room(first - 1, last) and not _is_neighbour(text, spans, first - 1):
        first -= 1
    return first, last


def _take_off_leads(text: str, spans: Sequence[Span], last: int, *, least: int) -> int:
    """Leave out what leads to that for which there is no room: a lead-in, a table's header."""
    while last > least and (
        text[: spans[last][1]].endswith(_LEADING_ON)
        or _is_rule(text, spans, last)
        or _is_rule(text, spans, last + 1)
    ):
        last -= 1
    return last


def _list_around(text: str, spans: Sequence[Span], first: int, last: int) -> Span | None:
    """The list or table that some of the sentences are of or lead to, with what leads to it."""
    at = next((i for i in range(first, last + 1) if _is_in_item(text, spans, i)), last + 1)
    while at < len(spans) and not _begins_item(text, spans[at]) and at > last:
        if "\n\n" in text[spans[at - 1][1] : spans[at][0]]:
            return None
        at += 1
    if at == len(spans):
        return None
    begin, end = _first_of_list(text, spans, at), max(at, last)
    while end + 1 < len(spans) and _is_in_item(text, spans, end + 1):
        end += 1
    return spans[min(first, _first_leading(text, spans, begin))][0], spans[end][1]


def _first_of_list(text: str, spans: Sequence[Span], at: int) -> int:
    """Where the list or table begins that a sentence is of."""
    while at > 0 and _is_in_item(text, spans, at - 1):
        at -= 1
    return at


def _first_leading(text: str, spans: Sequence[Span], begin: int) -> int:
    """Where that begins which leads to a list: a sentence with a colon, else its paragraph."""
    if begin == 0 or text[: spans[begin - 1][1]].endswith(":"):
        return max(0, begin - 1)
    if _is_row(text, spans[begin]):
        return begin
    at = begin - 1
    while at > 0 and "\n\n" not in text[spans[at - 1][1] : spans[at][0]]:
        at -= 1
    return at


def _is_row(text: str, span: Span) -> bool:
    return text.startswith("|", span[0])


def _is_rule(text: str, spans: Sequence[Span], at: int) -> bool:
    """Tell whether the row under a table's header is there."""
    return 0 < at < len(spans) and _RULE.match(text[slice(*spans[at])]) is not None


def _begins_item(text: str, span: Span) -> bool:
    return _ITEM.match(text, span[0]) is not None


def _is_neighbour(text: str, spans: Sequence[Span], at: int) -> bool:
    """Tell whether an item begins behind a sentence that is of another item, or a table ends."""
    if _is_row(text, spans[at]):
        return True
    return _begins_item(text, spans[at + 1]) and _is_in_item(text, spans, at)


def _is_in_item(text: str, spans: Sequence[Span], at: int) -> bool:
    """Tell whether a sentence begins an item or goes on with one."""
    while not _begins_item(text, spans[at]):
        if at == 0 or "\n\n" in text[spans[at - 1][1] : spans[at][0]]:
            return False
        at -= 1
    return True


def _section_around(text: str, answer: Span) -> list[Span]:
    """The sentences between two headings where the answer starts, or that follow it.

    A Markdown heading says what is spoken of, not what is said; a mark alone, as where a passage
    ends before its item, says nothing.
    """
    sections: list[list[Span]] = [[]]
    for span in sentence_spans(text):
        if text.startswith("#", span[0]):
            sections.append([])
        elif not is_marker(text[slice(*span)]):
            sections[-1].append(span)
    said = [section for section in sections if section]
    reaching = [section for section in said if section[-1][1] > answer[0]]
    return next(iter(reaching or said[-1:]), [])
