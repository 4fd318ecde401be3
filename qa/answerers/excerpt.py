"""What is said of a passage: the sentences that answer, with those that they need."""

import re
from collections.abc import Sequence

from corpus.sentences import sentence_spans

# A sentence that begins so says little without the one before it.
_LEANING = re.compile(
    r"(?:it|its|this|that|these|those|they|them|their|he|she|however|but|otherwise|so|thus"
    r"|therefore|then|also|instead|such|if not|and|or|the former|the latter|no|yes)\b",
    re.IGNORECASE,
)
# One that ends so says little without the one behind it: an FAQ's question, a list's lead-in.
_LEADING_ON = ("?", ":")
_ITEM = re.compile(r"(?:[-*+\u2022]|(?<!\d)\d++[.)])\s|\|")
# What a sentence that is needed may have over the most words.
NEEDED_WORDS = 15

Span = tuple[int, int]


def find_excerpt(text: str, answer: Span, *, most_words: int) -> Span:
    """Return the span of the sentences around the part that answers.

    The sentences behind it come before those in front of it, as long as there is room. A heading
    is not crossed; an item of a list or a row of a table goes without its neighbours.

    Args:
        answer: Where the part that answers stands in the text, half-open.
        most_words: Of all sentences together; those that the answer touches come whole.
    """
    spans = _section_around(text, answer)
    if not spans:
        return 0, len(text)
    touched = [i for i, span in enumerate(spans) if span[1] > answer[0] and span[0] < answer[1]]
    first, last = (touched[0], touched[-1]) if touched else (0, 0)

    def has_room(start: int, end: int, *, words: int = most_words) -> bool:
        fits = start >= 0 and end < len(spans)
        return fits and len(text[spans[start][0] : spans[end][1]].split()) <= words

    needed = most_words + NEEDED_WORDS
    if _LEANING.match(text, spans[first][0]) and has_room(first - 1, last, words=needed):
        first -= 1
    if text[: spans[last][1]].endswith(_LEADING_ON) and has_room(first, last + 1, words=needed):
        last += 1
    is_item = _is_in_item(text, spans, first)
    while has_room(first, last + 1) and not (is_item and _begins_item(text, spans[last + 1])):
        last += 1
    while has_room(first - 1, last) and not _is_neighbour(text, spans, first - 1):
        first -= 1
    return spans[first][0], spans[last][1]


def _begins_item(text: str, span: Span) -> bool:
    return _ITEM.match(text, span[0]) is not None


def _is_neighbour(text: str, spans: Sequence[Span], at: int) -> bool:
    """Tell whether an item begins behind a sentence that is of another item."""
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

    A Markdown heading says what is spoken of, not what is said.
    """
    sections: list[list[Span]] = [[]]
    for span in sentence_spans(text):
        if text.startswith("#", span[0]):
            sections.append([])
        else:
            sections[-1].append(span)
    said = [section for section in sections if section]
    reaching = [section for section in said if section[-1][1] > answer[0]]
    return next(iter(reaching or said[-1:]), [])
