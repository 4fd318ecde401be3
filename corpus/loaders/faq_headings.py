"""
What a text asks and answers itself: each question is a heading, and names the answer it has.

A question stands in a line that ends so, or behind a mark ("Q:", "Q3.", "Q)"). What follows it goes
by it to the next question, heading or rule, and no further than answers are long: a question that
prose asks in passing would else name all that comes after it.
"""

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise

from corpus.loaders.base import Block
from corpus.loaders.labels import BULLET, LINE_LEVEL, MOST_LINE_CHARS

# The longest of 402 answers in 16 FAQs has 5,990 characters.
MOST_ANSWER_CHARS = 6_000
# Of these, so many have at most 1,531: as far goes a question that is the only one of its section.
MOST_LONE_ANSWER_CHARS = 1_500
# The longest of 415 questions in them has 274; only a mark shows that a long paragraph is one.
MOST_MARKED_CHARS = 300
# From so many marked ones on that end in "?" or have a marked answer, the others are questions too.
LEAST_MARKED = 2

_Q = r"[*_]{0,3}(?:\d{1,3}[.)][ \t]*)?(?:Q|Question|Frage)[ \t]?\d{0,3}[ \t]?[.):][*_]{0,3}"
_A = r"[*_]{0,3}(?:A|Answer|Antwort)[ \t]?\d{0,3}[ \t]?[.):][*_]{0,3}"
_QUESTION = re.compile(r"\A[\w\"'“¿(`*][^\n]*(?:\n[^\n]*)?\?[*_\"”)]*$")
_MARK = re.compile(rf"\A\s*{_Q}(?:\s+|\Z)")
_ANSWER = re.compile(rf"\A\s*{_A}(?:\s|\Z)")
# Where a turn begins in a paragraph: at the start of a line, an answer also behind its question.
_TURN = re.compile(rf"^[ \t]*(?:(?P<asks>{_Q})|{_A})[ \t]|(?<=\?)[ \t]+(?={_A}[ \t])", re.MULTILINE)
_FENCES = ("```", "~~~")
_RULE = re.compile(r"\A\s*([-=_*~#])(?:[ \t]*\1){2,}\s*\Z")


def add_question_headings(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """Make questions that are answered headings, and put their answers under them.

    Question and answer of one paragraph become two blocks, unless it was read from a picture or
    goes on over the end of a page: then parts of it have places of their own.
    """
    parts = [part for block in blocks for part in _turns(block)]
    questions = _find_questions(parts)
    sections = list(accumulate(part.heading_level is not None for part in parts))
    company = Counter(sections[at] for at, words in questions.items() if words)
    named = list(parts)
    for at, words in questions.items():
        if not words:
            continue
        is_lone = company[sections[at]] == 1 and not _MARK.match(parts[at].text)
        most_chars = MOST_LONE_ANSWER_CHARS if is_lone else MOST_ANSWER_CHARS
        for place in range(at, _answer_end(parts, at, questions, most_chars)):
            under = named[place].under
            named[place] = replace(named[place], under=under if words in under else (*under, words))
        named[at] = replace(named[at], heading_level=LINE_LEVEL, heading_text=words)
    return tuple(named)


def _turns(block: Block) -> Iterator[Block]:
    """Yield the questions and answers that a block consists of, else the block."""
    has_places = bool(block.places or block.page_starts)
    is_whole = block.heading_level is not None or has_places or block.text.startswith(_FENCES)
    starts = [] if is_whole else _turn_starts(block.text)
    if not starts:
        yield block
        return
    for start, end in pairwise([0, *starts, len(block.text)]):
        if text := block.text[start:end].strip("\n").rstrip():
            yield replace(block, text=text)


def _turn_starts(text: str) -> list[int]:
    """Return where questions and their answers begin, nothing without an answer."""
    starts: list[int] = []
    asks = is_answered = False
    for turn in _TURN.finditer(text):
        # An answer of several ("A1) ...", "A2) ...") is one.
        if turn["asks"] or asks:
            starts.append(turn.start())
            asks = bool(turn["asks"])
            is_answered |= not asks
    return starts if is_answered else []


def _find_questions(parts: Sequence[Block]) -> dict[int, str]:
    """Return the words of each question by its place, none of one that nothing answers."""
    spread = dict(filter(None, (_spread_question(parts, at) for at in range(len(parts)))))
    inside = {place for at, end in spread.items() for place in range(at + 1, end)}
    places = [at for at, part in enumerate(parts) if not part.heading_level and at not in inside]
    marked = {at for at in places if _MARK.match(parts[at].text)}
    answered = {at for at in places if _is_short(parts[at]) and _has_marked_answer(parts, at)}
    asking = {at for at in places if _is_question(parts[at])} | (marked & answered)
    # Where marks tell questions and answers apart, a question need not end in "?".
    for ones in (marked, answered):
        asking |= ones if len(asking & ones) >= LEAST_MARKED else set()
    words = {at: _words([parts[at]]) if _is_answered(parts, at, asking) else "" for at in asking}
    words |= {at: _words(parts[at + 1 : end]) for at, end in spread.items()}
    return dict(sorted(words.items()))


def _spread_question(parts: Sequence[Block], at: int) -> tuple[int, int] | None:
    """A mark that stands alone, as in a table's cell, and where the question behind it ends."""
    char_count = 0
    if parts[at].heading_level is not None or not _is_lone_mark(parts[at].text):
        return None
    for end in range(at + 1, len(parts)):
        char_count += len(parts[end].text)
        if _ANSWER.match(parts[end].text):
            return (at, end) if end > at + 1 else None
        if parts[end].heading_level is not None or char_count > MOST_MARKED_CHARS:
            return None
    return None


def _has_marked_answer(parts: Sequence[Block], at: int) -> bool:
    return at + 1 < len(parts) and _ANSWER.match(parts[at + 1].text) is not None


def _is_answered(parts: Sequence[Block], at: int, asking: Container[int]) -> bool:
    """Tell whether a question has words of its own, and text behind it that asks nothing."""
    if not _is_short(parts[at]) or _is_lone_mark(parts[at].text) or at + 1 == len(parts):
        return False
    return parts[at + 1].heading_level is None and at + 1 not in asking


def _answer_end(parts: Sequence[Block], at: int, questions: Container[int], most_chars: int) -> int:
    """Return the place behind the last block of the answer to the question ``at`` a place."""
    char_count = 0
    for end in range(at + 1, len(parts)):
        char_count += len(parts[end].text)
        is_next = parts[end].heading_level is not None or end in questions
        if is_next or _RULE.match(parts[end].text) or (char_count > most_chars and end > at + 1):
            return end
    return len(parts)


def _is_short(block: Block) -> bool:
    """Tell whether a block may be a question, were it marked as one."""
    text = block.text.strip()
    is_other = BULLET.match(text) or _ANSWER.match(text) or text.startswith(_FENCES)
    return len(text) <= MOST_MARKED_CHARS and not is_other


def _is_question(block: Block) -> bool:
    text = block.text.strip()
    is_line = len(text) <= MOST_LINE_CHARS and not BULLET.match(text)
    return is_line and _QUESTION.match(text) is not None


def _is_lone_mark(text: str) -> bool:
    mark = _MARK.match(text)
    return mark is not None and mark.end() == len(text)


def _words(parts: Iterable[Block]) -> str:
    return " ".join(" ".join(part.text for part in parts).split())
