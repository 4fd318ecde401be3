"""Find the facts in which a claim differs from a sentence that it quotes.

Facts are numbers, names, units, negations and opposites. Whether other words mean the same is not
known here.
"""

from collections.abc import Container, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from qa.grounding.support.names import are_one_name
from qa.grounding.support.numbers import counts, is_currency, is_unit, read_numbers
from qa.grounding.support.omissions import CHOOSING, PREPOSITIONS, keep_subjects, split_clauses
from qa.grounding.support.polarity import are_opposed, is_negation, takes_back
from qa.grounding.support.words import Word

Pairs = Sequence[tuple[int, int]]

# Words that turn a part of a sentence into a sentence of its own.
LINKING = frozenset("is are was were be been being it they this these that which and".split())
# Words of a source that stand where a claim has others: as many as those, and so many more.
_PLACE_SLACK = 2
# A clause that takes something back says so in this many of its first words.
_OPENING = 3
# They take the meaning of the word away that they are written together with.
_PREFIXES = ("anti", "ex", "non", "pseudo", "quasi", "un")


class Difference(NamedTuple):
    """The kinds of facts that differ.

    Attributes:
        turns: A number, a unit, a negation, an opposite, or an omitted limit.
        renames: A name, or a word that may be one.
    """

    turns: bool = False
    renames: bool = False


class _Gap(NamedTuple):
    """The words of a claim and its source between two words that both have.

    Attributes:
        near: The source's words at the same position as the claim's, however long the gap is.
        before, after: The shared words around it; None at an end.
    """

    claim: Sequence[Word]
    source: Sequence[Word]
    near: Sequence[Word]
    before: Word | None
    after: Word | None


def find_difference(
    claim: Sequence[Word], source: Sequence[Word], pairs: Pairs, *, known: Container[str]
) -> Difference:
    """Return what differs between a claim and its source.

    Args:
        pairs: Positions of the shared words in both.
        known: Stems of all evidence: the claim may not begin with another word that may be a name.
    """
    there, here = {i for i, _ in pairs}, {j for _, j in pairs}
    added = [word for i, word in enumerate(claim) if i not in there and word.text not in LINKING]
    kept_clauses = [clause for clause in split_clauses(source) if here.intersection(clause)]
    missing = [source[j] for clause in kept_clauses for j in clause if j not in here]
    gaps = list(_find_gaps(claim, source, pairs))
    turns = (
        any(map(is_negation, added)) != any(map(is_negation, missing))
        or any(are_opposed(one.stem, other.stem) for one in added for other in missing)
        or _has_other_number(added, missing)
        or any(_measures_otherwise(gap) or _takes_prefix_off(gap) for gap in gaps)
        or (not added and _loses_limit(source, here))
    )
    return Difference(turns, renames=any(_renames(gap, known) for gap in gaps))


def swaps_names(claim: Sequence[Word], source: Sequence[Word]) -> bool:
    """Return whether the same words or names are in another order: who beat whom.

    A name after a preposition may be anywhere.
    """
    here, there = ([word.stem for word in words if word.is_content] for words in (claim, source))
    if sorted(here) == sorted(there):
        return here != there
    names = {word.stem for word in (*claim, *source) if word.is_name}.intersection(here, there)
    neighbors = [*pairwise(claim), *pairwise(source)]
    names -= {word.stem for before, word in neighbors if before.text in PREPOSITIONS}
    order = [[*dict.fromkeys(w for w in words if w in names)] for words in (here, there)]
    return order[0] != order[1]


def _loses_limit(source: Sequence[Word], here: set[int]) -> bool:
    """Return whether an omission changes what is kept: a limit or a subject of it."""
    clauses = list(split_clauses(source))
    if not keep_subjects(source, clauses, here):
        return True
    for clause in clauses:
        left_out = [source[at] for at in clause if at not in here]
        is_whole = len(left_out) == len(clause)
        if any(map(takes_back, left_out[: _OPENING if is_whole else None])):
            return True
        if is_whole and left_out[0].text in CHOOSING and not left_out[0].opens_clause:
            return True
    return any(word.is_joined and (j in here) != (j - 1 in here) for j, word in enumerate(source))


def _find_gaps(claim: Sequence[Word], source: Sequence[Word], pairs: Pairs) -> Iterator[_Gap]:
    ends = [(-1, -1), *pairs, (len(claim), len(source))]
    for (i, j), (next_i, next_j) in pairwise(ends):
        here, there = claim[i + 1 : next_i], source[j + 1 : next_j]
        if here or there:
            is_first, is_last = i < 0, next_i == len(claim)
            reach = len(here) + _PLACE_SLACK
            near = [
                word
                for at, word in enumerate(there)
                if (at < reach and not is_first) or (at >= len(there) - reach and not is_last)
            ]
            before, after = None if is_first else claim[i], None if is_last else claim[next_i]
            yield _Gap(here, there, near, before, after)


def _has_other_number(claim: Sequence[Word], source: Sequence[Word]) -> bool:
    here, there = ({number.value for number in read_numbers(words)} for words in (claim, source))
    return bool(here - there and there - here)


def _measures_otherwise(gap: _Gap) -> bool:
    """Return whether a number is replaced, or gets another sign or unit."""
    is_sign = any(word.is_sign for word in (*gap.claim, *gap.near))
    if is_sign or _has_other_number(gap.claim, gap.near):
        return True
    if gap.before and counts(gap.before):
        is_lost = any(word.is_content and not word.opens_clause for word in gap.source[:1])
        return is_lost or is_unit(gap.claim[:1])
    is_counted = gap.after is not None and counts(gap.after)
    return is_counted and any(map(is_currency, (*gap.source[-1:], *gap.claim[-1:])))


def _takes_prefix_off(gap: _Gap) -> bool:
    """Return whether "anti-war" became "war", or the reverse."""
    pairs = [sorted((one.stem, other.stem), key=len) for one in gap.claim for other in gap.near]
    return any(long == prefix + short for short, long in pairs for prefix in _PREFIXES)


def _renames(gap: _Gap, known: Container[str]) -> bool:
    """Return whether a name replaces another, except "LA" and "Los Angeles"."""
    if any(word.is_name and word.stem not in known for word in gap.claim[:1] if not gap.before):
        return True
    names, others = ([word for word in words if word.is_name] for words in (gap.claim, gap.near))
    is_shared = {word.stem for word in names} <= {word.stem for word in others}
    return bool(others) and not is_shared and not are_one_name(names, others)
