"""Control statements, known to be true or false, that test whether a model can check claims.

A model that accepts a false one, or rejects a true one, is not trusted. A model that answers "true"
to everything fails the first check.
"""

import re
from collections.abc import Sequence

from qa.grounding.support.words import read_words

# With more digits a float is not exact: the sum could be the same number.
_NUMBER = re.compile(r"(?<![\w.])\d{1,15}+(?:\.\d{1,15}+)?+(?!\.*+\w)")
_AUXILIARY = re.compile(
    r"\b(is|are|was|were|can|could|should|must|(?-i:may)|will|would|has|have|does|do)\b"
    r"(?!['\u2019])(\s+not\b)?",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.!?](?=\s|\Z)")
# Added to a number, so that it is another one in any unit.
_OFF_BY = 37
# Words that a statement about something else may share with the evidence.
_MAX_SHARED = 2


def falsify(text: str) -> str:
    """Return the text with another number or negated; empty if neither is possible."""
    number = _NUMBER.search(text)
    if number:
        return f"{text[: number.start()]}{int(float(number[0])) + _OFF_BY}{text[number.end() :]}"
    for verb in _AUXILIARY.finditer(text):
        end = _SENTENCE_END.search(text, verb.end())
        if end is None or end[0] != "?":  # a negated question is no statement
            turned = verb[1] if verb[2] else f"{verb[1]} not"
            return text[: verb.start()] + turned + text[verb.end() :]
    return ""


def find_unrelated(evidence: str, others: Sequence[str]) -> str:
    """Return the first other sentence with next to no words in common with the evidence."""
    known = {word.stem for word in read_words(evidence) if word.is_content}
    for other in others:
        words = {word.stem for word in read_words(other) if word.is_content}
        if len(words) > 2 * _MAX_SHARED and len(words & known) <= _MAX_SHARED:
            return other
    return ""
