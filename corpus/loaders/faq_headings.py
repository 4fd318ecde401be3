"""Turn the questions of a FAQ into headings of their answers.

A question is a line that ends in a question mark, or begins with a mark ("Q:", "Q3.", "Q)"). It is
the heading of the text up to the next question, heading or rule, limited to the usual length of an
answer: a rhetorical question must not name all that follows.
"""

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise

from corpus.loaders.blocks import Block
from corpus.loaders.labels import BULLET, LINE_LEVEL, MAX_LINE_CHARS

# The longest of 402 answers in 16 FAQs has 5,990 characters.
MAX_ANSWER_CHARS = 6_000
# 397 of them have at most 1,531: the limit for the only question of a section.
MAX_LONE_ANSWER_CHARS = 1_500
# The longest of 415 questions has 274; a long paragraph needs a mark to be a question.
MAX_MARKED_CHARS = 300
# With at least this many marked questions, the others need a mark too.
MIN_MARKED = 2

_Q = r"[*_]{0,3}(?:\d{1,3}[.)][ \t]*)?(?:Q|Question|Frage)[ \t]?\d{0,3}[ \t]?[.):][*_]{0,3}"
_A = r"[*_]{0,3}(?:A|Answer|Antwort)[ \t]?\d{0,3}[ \t]?[.):][*_]{0,3}"
_QUESTION = re.compile(r"\A[\w\"'“¿(`*][^\n]*(?:\n[^\n]*)?\?[*_\"”)]*$")
_MARK = re.compile(rf"\A\s*{_Q}(?:\s+|\Z)")
_ANSWER = re.compile(rf"\A\s*{_A}(?:\s|\Z)")
# The start of a turn in a paragraph: a line start, for an answer also after its question.
_TURN = re.compile(rf"^[ \t]*(?:(?P<asks>{_Q})|{_A})[ \t]|(?<=\?)[ \t]+(?={_A}[ \t])", re.MULTILINE)
_FENCES = ("```", "~~~")
_RULE = re.compile(r"\A\s*([-=_*~#])(?:[ \t]*\1){2,}\s*\Z")


def add_question_headings(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """Turn answered questions into headings, and label their answers with them.

    Question and answer in one paragraph become two blocks, unless OCR read the paragraph or it
    spans pages.
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
        most_chars = MAX_LONE_ANSWER_CHARS if is_lone else MAX_ANSWER_CHARS
        for place in range(at, _answer_end(parts, at, questions, most_chars)):
            labels = named[place].labels
            named[place] = replace(
                named[place], labels=labels if words in labels else (*labels, words)
            )
        named[at] = replace(named[at], heading_level=LINE_LEVEL, heading_text=words)
    return tuple(named)


def _turns(block: Block) -> Iterator[Block]:
    """Yield the questions and answers in a block, or the block itself."""
    has_positions = bool(block.ocr_boxes or block.page_starts)
    is_whole = block.heading_level is not None or has_positions or block.text.startswith(_FENCES)
    starts = [] if is_whole else _turn_starts(block.text)
    if not starts:
        yield block
        return
    for start, end in pairwise([0, *starts, len(block.text)]):
        if text := block.text[start:end].strip("\n").rstrip():
            yield replace(block, text=text)


def _turn_starts(text: str) -> list[int]:
    """Return the offsets of questions and answers, or nothing without an answer."""
    starts: list[int] = []
    asks = is_answered = False
    for turn in _TURN.finditer(text):
        # Several answers in a row ("A1) ...", "A2) ...") count as one.
        if turn["asks"] or asks:
            starts.append(turn.start())
            asks = bool(turn["asks"])
            is_answered |= not asks
    return starts if is_answered else []


def _find_questions(parts: Sequence[Block]) -> dict[int, str]:
    """Return the words of each answered question by block index."""
    spread = dict(filter(None, (_spread_question(parts, at) for at in range(len(parts)))))
    inside = {place for at, end in spread.items() for place in range(at + 1, end)}
    places = [at for at, part in enumerate(parts) if not part.heading_level and at not in inside]
    marked = {at for at in places if _MARK.match(parts[at].text)}
    answered = {at for at in places if _is_short(parts[at]) and _has_marked_answer(parts, at)}
    asking = {at for at in places if _is_question(parts[at])} | (marked & answered)
    # If marks separate questions and answers, a question need not end in "?".
    for ones in (marked, answered):
        asking |= ones if len(asking & ones) >= MIN_MARKED else set()
    words = {at: _words([parts[at]]) if _is_answered(parts, at, asking) else "" for at in asking}
    words |= {at: _words(parts[at + 1 : end]) for at, end in spread.items()}
    return dict(sorted(words.items()))


def _spread_question(parts: Sequence[Block], at: int) -> tuple[int, int] | None:
    """Return a mark that stands alone, and the end of the question after it."""
    char_count = 0
    if parts[at].heading_level is not None or not _is_lone_mark(parts[at].text):
        return None
    for end in range(at + 1, len(parts)):
        char_count += len(parts[end].text)
        if _ANSWER.match(parts[end].text):
            return (at, end) if end > at + 1 else None
        if parts[end].heading_level is not None or char_count > MAX_MARKED_CHARS:
            return None
    return None


def _has_marked_answer(parts: Sequence[Block], at: int) -> bool:
    return at + 1 < len(parts) and _ANSWER.match(parts[at + 1].text) is not None


def _is_answered(parts: Sequence[Block], at: int, asking: Container[int]) -> bool:
    """Return whether a question has words, and text other than a question after it."""
    if not _is_short(parts[at]) or _is_lone_mark(parts[at].text) or at + 1 == len(parts):
        return False
    return parts[at + 1].heading_level is None and at + 1 not in asking


def _answer_end(parts: Sequence[Block], at: int, questions: Container[int], most_chars: int) -> int:
    """Return the index after the last block of the answer to question ``at``."""
    char_count = 0
    for end in range(at + 1, len(parts)):
        char_count += len(parts[end].text)
        is_next = parts[end].heading_level is not None or end in questions
        if is_next or _RULE.match(parts[end].text) or (char_count > most_chars and end > at + 1):
            return end
    return len(parts)


def _is_short(block: Block) -> bool:
    """Return whether a block is short enough to be a marked question."""
    text = block.text.strip()
    is_other = BULLET.match(text) or _ANSWER.match(text) or text.startswith(_FENCES)
    return len(text) <= MAX_MARKED_CHARS and not is_other


def _is_question(block: Block) -> bool:
    text = block.text.strip()
    is_line = len(text) <= MAX_LINE_CHARS and not BULLET.match(text)
    return is_line and _QUESTION.match(text) is not None


def _is_lone_mark(text: str) -> bool:
    mark = _MARK.match(text)
    return mark is not None and mark.end() == len(text)


def _words(parts: Iterable[Block]) -> str:
    return " ".join(" ".join(part.text for part in parts).split())
