"""Find the names of a claim that its evidence lacks, in any spelling."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from qa.grounding.support.polarity import LIMITS
from qa.grounding.support.words import MONTHS, Word, read_words

_WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_CALENDAR = frozenset([*(month for month in MONTHS if month not in {"may", "march"}), *_WEEKDAYS])

# Words of a name whose first letters are taken together.
_MAX_ROW = 8
# Endings that a name at the beginning of a sentence hardly has.
_COMMON = re.compile(
    r"(?:ly|ing|tion|ness|ity|ism|ous|ive|able|ments|tions|ers|ors|ists|ants|ents|ies)$"
)


class Evidence(NamedTuple):
    """All evidence of a claim; ``plain`` stems appear in lower case within a sentence."""

    words: Sequence[Word]
    stems: frozenset[str]
    plain: frozenset[str]


def read_evidence(texts: Iterable[str]) -> Evidence:
    sentences = [read_words(text) for text in texts]
    words = [word for sentence in sentences for word in sentence]
    plain = {word.stem for sentence in sentences for word in sentence[1:] if not word.is_name}
    return Evidence(words, frozenset(word.stem for word in words), frozenset(plain))


def mark_first(words: Sequence[Word], evidence: Evidence) -> Sequence[Word]:
    """Mark the first word of a sentence as a name if it may be one, since it is capitalized."""
    if not words or not words[0].is_content or words[0].text in LIMITS:
        return words
    is_set_off = len(words) > 1 and words[1].opens_clause
    is_common = words[0].stem in evidence.plain or _COMMON.search(words[0].text)
    return words if is_set_off or is_common else [words[0]._replace(is_name=True), *words[1:]]


def find_unknown_names(claim: Sequence[Word], source: Sequence[Word]) -> list[Word]:
    """Return the names of the claim that the source lacks.

    The source has a name also if it is joined or split ("CO 2", "U.S."), or if one of the two has
    its initials only ("LA" and "Los Angeles").
    """
    known = {word.stem for word in source} | {text for _, text in _join(source)}
    known |= {text for _, text in _shorten(source)}
    # "At" is not short for Alan Turing.
    initials = known - {word.stem for word in source if not word.is_name}
    spelled = {at for places, text in _join(claim) if text in known for at in places}
    spelled |= {at for places, text in _shorten(claim) if text in initials for at in places}
    return [
        word
        for at, word in enumerate(claim)
        if (word.is_name or word.text in _CALENDAR) and word.stem not in known and at not in spelled
    ]


def are_one_name(one: Sequence[Word], other: Sequence[Word]) -> bool:
    """Return whether one is the other's initials, or the other in one word."""
    short, long = sorted((one, other), key=len)
    together = "".join(word.text for word in short)
    return together in {"".join(w.text for w in long), "".join(w.text[0] for w in long)}


def _join(words: Sequence[Word]) -> Iterator[tuple[range, str]]:
    """Join each two adjacent words of which one is a name."""
    for at, (word, following) in enumerate(pairwise(words)):
        if word.is_name or following.is_name:
            yield range(at, at + 2), word.text + following.text


def _shorten(words: Sequence[Word]) -> Iterator[tuple[range, str]]:
    """Return the initials of each sequence of names, without function words.

    The first word of a clause may be a name: its capital does not show it.
    """
    for start, word in enumerate(words):
        if not (word.is_name or (word.opens_clause and word.is_content)):
            continue
        letters = word.text[0]
        for end, following in enumerate(words[start + 1 : start + _MAX_ROW], start + 2):
            if following.opens_clause or (following.is_content and not following.is_name):
                break
            if following.is_name:
                letters += following.text[0]
                yield range(start, end), letters
