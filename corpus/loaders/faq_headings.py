"""Turn the questions of a FAQ into headings of their answers.

A question is a line that ends in a question mark, or begins with a mark ("Q:", "Q3.", "Q)"). It is
the heading of the text up to the next question, heading or rule, limited to the usual length of an
answer: a rhetorical question must not name all that follows.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
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
    question_counts = Counter(sections[at] for at, words in questions.items() if words)
    labeled = list(parts)
    for at, words in questions.items():
        if not words:
            continue
        is_lone = question_counts[sections[at]] == 1 and not _MARK.match(parts[at].text)
        max_chars = MAX_LONE_ANSWER_CHARS if is_lone else MAX_ANSWER_CHARS
        char_count = 0
        for place in range(at, len(parts)):
            part = parts[place]
            if place > at:
                char_count += len(part.text)
                is_next = part.heading_level is not None or place in questions
                is_too_long = char_count > max_chars and place > at + 1
                if is_next or is_too_long or _RULE.match(part.text):
                    break
            labels = labeled[place].labels
            if words not in labels:
                labeled[place] = replace(labeled[place], labels=(*labels, words))
        labeled[at] = replace(labeled[at], heading_level=LINE_LEVEL, heading_text=words)
    return tuple(labeled)


def _turns(block: Block) -> Iterator[Block]:
    """Yield the questions and answers in a block, or the block itself."""
    has_positions = bool(block.ocr_boxes or block.page_starts)
    is_whole = block.heading_level is not None or has_positions or block.text.startswith(_FENCES)
    starts: list[int] = []
    asks = is_answered = False
    for turn in () if is_whole else _TURN.finditer(block.text):
        # Several answers in a row ("A1) ...", "A2) ...") count as one.
        if turn["asks"] or asks:
            starts.append(turn.start())
            asks = bool(turn["asks"])
            is_answered |= not asks
    if not is_answered:
        yield block
        return
    for start, end in pairwise([0, *starts, len(block.text)]):
        if text := block.text[start:end].strip("\n").rstrip():
            yield replace(block, text=text)


def _find_questions(parts: Sequence[Block]) -> dict[int, str]:
    """Return the words of each answered question by block index."""
    spread = dict(filter(None, (_spread_question(parts, at) for at in range(len(parts)))))
    inside = {place for at, end in spread.items() for place in range(at + 1, end)}
    places = [at for at, part in enumerate(parts) if not part.heading_level and at not in inside]
    texts = [part.text.strip() for part in parts]
    marked = {at for at in places if _MARK.match(parts[at].text)}
    answered = {
        at
        for at in places
        if _is_short(texts[at]) and at + 1 < len(parts) and _ANSWER.match(parts[at + 1].text)
    }
    lines = (
        at for at in places if len(texts[at]) <= MAX_LINE_CHARS and not BULLET.match(texts[at])
    )
    asking = {at for at in lines if _QUESTION.match(texts[at])} | (marked & answered)
    # If marks separate questions and answers, a question need not end in "?".
    for ones in (marked, answered):
        asking |= ones if len(asking & ones) >= MIN_MARKED else set()
    words: dict[int, str] = {}
    for at in asking:
        is_alone = at + 1 == len(parts) or _MARK.fullmatch(parts[at].text)
        # Another question after it is no answer.
        is_answered = (
            not is_alone
            and _is_short(texts[at])
            and parts[at + 1].heading_level is None
            and at + 1 not in asking
        )
        words[at] = " ".join(texts[at].split()) if is_answered else ""
    for at, end in spread.items():
        words[at] = " ".join(" ".join(texts[at + 1 : end]).split())
    return dict(sorted(words.items()))


def _spread_question(parts: Sequence[Block], at: int) -> tuple[int, int] | None:
    """Return a mark that stands alone, and the end of the question after it."""
    char_count = 0
    if parts[at].heading_level is not None or not _MARK.fullmatch(parts[at].text):
        return None
    for end in range(at + 1, len(parts)):
        char_count += len(parts[end].text)
        if _ANSWER.match(parts[end].text):
            return (at, end) if end > at + 1 else None
        if parts[end].heading_level is not None or char_count > MAX_MARKED_CHARS:
            return None
    return None


def _is_short(text: str) -> bool:
    """Return whether a text is short enough to be a marked question."""
    is_other = BULLET.match(text) or _ANSWER.match(text) or text.startswith(_FENCES)
    return len(text) <= MAX_MARKED_CHARS and not is_other
