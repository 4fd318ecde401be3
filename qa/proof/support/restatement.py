"""Tell whether a sentence says no more than another one, in other words or in another order.

Strict on purpose: what fails costs no truth, since the source's own sentence is said in its place.
"""

from collections.abc import Iterator, Sequence

from qa.proof.support.language import is_english
from qa.proof.support.numbers import find_strange_numbers
from qa.proof.support.omissions import PREPOSITIONS, may_leave_out_rest
from qa.proof.support.quotes import MAX_ALIGNED_WORDS, align, without_free
from qa.proof.support.synonyms import Unit, meaning_of, read_units
from qa.proof.support.words import Word, read_words

# What a restatement may have that the source has not: none of them says anything of its own.
_LIGHT = frozenset(
    "is are was were be been being am has have had having do does did it its they their them this"
    " these that which who whose his her he she and of in on at as there where".split()
)
# Words of content without which a sentence says too little to be compared.
_FEWEST = 2
_BEING = frozenset("is are was were be been being".split())
# Words between a passive's form of "be" and its "by".
_PASSIVE_REACH = 5
# Its object, in units, that a recommendation is turned around with.
_LONGEST_OBJECT = 8
_SHOULD = meaning_of("should")
# A clause further on is not moved to the front, nor a longer phrase to the end.
_MOST_TURNS = 4


def find_departure(claim: str, source: str) -> str:  # noqa: PLR0911  (a reason each)
    """Say where a claim goes beyond a source sentence; empty where that holds all of it up.

    Each word of content must be in the source, as itself, another form or a synonym, and in the
    source's order, but for the passive voice and for clauses and phrases that change places. What
    the claim leaves out must bear on nothing that it keeps.
    """
    whole = read_words(source)
    said, given = without_free(read_words(claim)), without_free(whole)
    if not is_english(whole):
        return "the source is not English, of which nothing is said in other words"
    if max(len(said), len(given)) > MAX_ALIGNED_WORDS:
        return "it is too long to be compared"
    units, others = read_units(said), read_units(given)
    if sum(unit.is_content and not unit.first.is_number for unit in units) < _FEWEST:
        return "it says too little to be compared"
    if added := _find_added(units, others):
        return f"not in the source: {', '.join(_spell(unit, said) for unit in added)}"
    strange = find_strange_numbers(said, given)
    return "a number has another unit" if strange else _find_reordered(units, others, given)


def _find_added(units: Sequence[Unit], others: Sequence[Unit]) -> list[Unit]:
    """Return what the claim says and the source does not, in any order."""
    known = {unit.key for unit in others} | ({"by"} if _activate(units) else set())
    return [unit for unit in units if not _is_light(unit) and unit.key not in known]


def _spell(unit: Unit, words: Sequence[Word]) -> str:
    return " ".join(words[place].text for place in unit.places)


def _find_reordered(units: Sequence[Unit], others: Sequence[Unit], given: Sequence[Word]) -> str:
    turned = list(_orders(others))
    kept = [found for a in _orders(units) for b in turned if (found := _keep(a, b, len(given)))]
    if not kept:
        return "its words are in another order"
    if not any(may_leave_out_rest(given, kept=each) for each in kept):
        return "what it leaves out of the source bears on the rest"
    return ""


def _is_light(unit: Unit) -> bool:
    return unit.first.text in _LIGHT and len(unit.places) == 1


def _orders(units: Sequence[Unit]) -> Iterator[list[Unit]]:
    """Yield the sentence in the orders that say the same, each in its own voice and the active."""
    for turned in _turns(units):
        yield turned
        active = _activate(turned)
        if active:
            yield active
        yield from _demand(turned)


def _turns(units: Sequence[Unit]) -> Iterator[list[Unit]]:
    """Yield it as it is, and with a phrase or clause that it begins with put to the end."""
    yield list(units)
    if units[0].first.text not in PREPOSITIONS:
        return
    starts = [at for at, unit in enumerate(units) if at and unit.first.opens_clause]
    starts = starts or list(range(2, len(units) - 1))
    for at in starts[:_MOST_TURNS]:
        yield [*units[at:], *units[:at]]


def _activate(units: Sequence[Unit]) -> list[Unit]:
    """Turn "A was done by B" into "B done A"; empty where there is no passive."""
    by = next((at for at, unit in enumerate(units) if unit.first.text == "by"), 0)
    near = range(max(by - _PASSIVE_REACH, 1), by - 1)
    be = next((at for at in reversed(near) if units[at].first.text in _BEING), 0)
    if not be:
        return []
    ends = (at for at in range(by + 2, len(units)) if _ends_phrase(units[at].first))
    start, end = _clause_start(units, be), next(ends, len(units))
    doer, done_to = units[by + 1 : end], units[start:be]
    # "was built in 1874 by her": when, where and how stand behind whom it was done to.
    spots = (at for at in range(be + 2, by) if units[at].first.text in PREPOSITIONS)
    aside = next(spots, by)
    deed, aside_units = units[be + 1 : aside], units[aside:by]
    if not (doer and done_to):
        return []
    return [*units[:start], *doer, *deed, *done_to, *aside_units, *units[end:]]


def _demand(units: Sequence[Unit]) -> Iterator[list[Unit]]:
    """Turn "we recommend doing A" and "we recommend A" into "A should do" and "A is advised"."""
    should = next((at for at, unit in enumerate(units) if unit.key == _SHOULD), -1)
    if should < 0 or units[should].first.text == "should":
        return
    verb_count = int(_is_gerund(units[should + 1 : should + 2]))
    begin = should + 1 + verb_count
    for end in range(begin + 1, min(begin + _LONGEST_OBJECT, len(units)) + 1):
        yield [*units[begin:end], *units[should:begin], *units[end:], *units[:should]]


def _is_gerund(units: Sequence[Unit]) -> bool:
    return bool(units) and units[0].first.text.endswith("ing")


def _ends_phrase(word: Word) -> bool:
    return word.opens_clause or word.text in PREPOSITIONS or word.text in {"and", "but", "which"}


def _clause_start(units: Sequence[Unit], at: int) -> int:
    opening = (i for i in range(at, 0, -1) if units[i].first.opens_clause)
    return next(opening, 0)


def _keep(said: Sequence[Unit], given: Sequence[Unit], word_count: int) -> set[int]:
    """Return the places of the source's words that the claim has; none if it has others."""
    if not _stand_in_order(said, given):  # most do not, and an alignment takes long
        return set()
    pairs = align([unit.key for unit in said], [unit.key for unit in given])
    found = {i for i, _ in pairs}
    if not all(_is_light(unit) for i, unit in enumerate(said) if i not in found):
        return set()
    there = {place for unit in given for place in unit.places}
    # What makes a voice passive is in no active order, and goes with its verb.
    return {place for _, j in pairs for place in given[j].places} | (set(range(word_count)) - there)


def _stand_in_order(said: Sequence[Unit], given: Sequence[Unit]) -> bool:
    keys = iter([unit.key for unit in given])
    return all(unit.key in keys for unit in said if not _is_light(unit))
