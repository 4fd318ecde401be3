"""Compare a claim with a sentence that it may quote: word for word, shortened, or altered."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from qa.support.numbers import find_strange_numbers, read_numbers
from qa.support.polarity import are_opposed, is_guarded, is_negation
from qa.support.words import Word

# Share of a claim's words that stand in the source in their order, from which on the claim is a
# quote of it: one word of three may be another. Claims of up to two words always are.
QUOTES_FROM = 0.66
_SHORT_CLAIM = 2
# A sentence up to this many times as long as the claim may be the claim in another order.
_REORDERED_MOST = 1.5

# Words that a quote may have or leave out as it likes.
_FREE = frozenset({"a", "an", "the"})
# What turns a part of a sentence into a sentence of its own.
_LINKING = frozenset("is are was were be been being it they this these that which and".split())
_OPENERS = frozenset(
    "but and or which who whom whose that because if unless when while whereas although though"
    " since so until where".split()
)
# A clause that one of these opens says nothing on its own when the word is left out.
_BINDING = frozenset("which who whom whose because if unless when while although though".split())
_PREPOSITIONS = frozenset(
    "of in on at by for with from to since after before during under over through when if because"
    " as within until between".split()
)
_RELATIVE = frozenset("which who".split())
# Limits of what stands before them.
_BACKWARD = frozenset("only unless except".split())


class Comparison(NamedTuple):
    """How a claim stands to a source sentence.

    Attributes:
        likeness: Share of the claim's words that stand in the source in their order, in [0, 1].
        is_quote: It is the sentence, or what is left of it when clauses are left out.
        turns: A number, a negation or a word of direction is what differs.
    """

    likeness: float
    is_quote: bool
    turns: bool

    @property
    def is_altered(self) -> bool:
        return self.likeness >= QUOTES_FROM and not self.is_quote


def compare(claim: Sequence[Word], source: Sequence[Word]) -> Comparison:
    """Align the words of a claim with those of a source sentence."""
    said, given = _without_free(claim), _without_free(source)
    if not said or not given:
        return Comparison(0.0, is_quote=False, turns=False)
    shared = Counter(w.stem for w in said) & Counter(w.stem for w in given)
    if len(said) > _SHORT_CLAIM and shared.total() < QUOTES_FROM * len(said):
        return Comparison(shared.total() / len(said), is_quote=False, turns=False)
    pairs = _align(said, given)
    is_quote = _is_shortened(said, given, pairs)
    if not is_quote and (moved := _unfront(said, given)):
        is_quote = _is_shortened(moved, given, _align(moved, given))
    likeness = len(pairs) / len(said)
    if len(said) <= _SHORT_CLAIM or _is_reordered(said, given):
        likeness = max(likeness, QUOTES_FROM)
    turns = not is_quote and _turns(said, given, pairs)
    return Comparison(likeness, is_quote=is_quote, turns=turns)


def _without_free(words: Sequence[Word]) -> list[Word]:
    """Drop the free words; the clause that one opens begins with the next word."""
    kept: list[Word] = []
    opens = False
    for word in words:
        opens = opens or word.opens_clause
        if word.text not in _FREE:
            kept.append(word._replace(opens_clause=opens))
            opens = False
    return kept


def _align(said: Sequence[Word], given: Sequence[Word]) -> list[tuple[int, int]]:
    """Return the longest common subsequence of stems as pairs of places."""
    lengths = [[0] * (len(given) + 1) for _ in range(len(said) + 1)]
    for i in reversed(range(len(said))):
        row, below = lengths[i], lengths[i + 1]
        for j in reversed(range(len(given))):
            same = said[i].stem == given[j].stem
            row[j] = below[j + 1] + 1 if same else max(below[j], row[j + 1])
    return list(_walk(said, given, lengths))


def _walk(
    said: Sequence[Word], given: Sequence[Word], lengths: Sequence[Sequence[int]]
) -> Iterator[tuple[int, int]]:
    i = j = 0
    while i < len(said) and j < len(given):
        if said[i].stem == given[j].stem:
            yield i, j
            i, j = i + 1, j + 1
        elif lengths[i + 1][j] >= lengths[i][j + 1]:
            i += 1
        else:
            j += 1


def _is_shortened(
    said: Sequence[Word], given: Sequence[Word], pairs: Sequence[tuple[int, int]]
) -> bool:
    """Tell whether nothing was put in, and nothing left out that bears on the rest."""
    matched = {i for i, _ in pairs}
    added = [word for i, word in enumerate(said) if i not in matched]
    if any(word.text not in _LINKING for word in added):
        return False
    kept = {j for _, j in pairs}
    return all(_may_leave_out(given, clause, kept) for clause in _clauses(given))


def _clauses(given: Sequence[Word]) -> Iterator[range]:
    start = 0
    for at, word in enumerate(given):
        if at > start and (word.opens_clause or word.text in _OPENERS):
            yield range(start, at)
            start = at
    yield range(start, len(given))


def _may_leave_out(given: Sequence[Word], clause: range, kept: set[int]) -> bool:
    """A clause may go as a whole; of one that stays, no word that limits or binds it may."""
    if not kept.intersection(clause):
        words = [given[at] for at in clause]
        return not all(is_negation(word) or not word.is_content for word in words) or not any(
            map(is_negation, words)
        )
    follows = clause.start - 1 in kept
    runs = _runs(at for at in clause if at not in kept)
    return all(_may_go(given, run, clause, follows=follows) for run in runs)


def _runs(places: Iterable[int]) -> Iterator[range]:
    """Put neighbouring places together."""
    start = end = -1
    for at in places:
        if at != end:
            if end > start:
                yield range(start, end)
            start = at
        end = at + 1
    if end > start:
        yield range(start, end)


def _may_go(given: Sequence[Word], run: range, clause: range, *, follows: bool) -> bool:
    """Tell whether a run of words may be left out; ``follows``: the clause, on a kept word."""
    words = [given[at] for at in run]
    if any(is_negation(word) or word.text in _BACKWARD for word in words):
        return False
    if run.stop == clause.stop:
        return True
    if run.start == clause.start and words[0].text in _BINDING:
        return follows and len(words) == 1 and words[0].text in _RELATIVE
    hangs = words[-1].text in _PREPOSITIONS
    return not hangs and not any(is_guarded(word) or word.is_number for word in words)


def _is_reordered(said: Sequence[Word], given: Sequence[Word]) -> bool:
    """Tell the words of a sentence about as long put in another order, but for the passive."""
    passive = sum(word.text == "by" for word in said) - sum(word.text == "by" for word in given)
    return len(given) <= _REORDERED_MOST * len(said) and not passive


def _unfront(said: Sequence[Word], given: Sequence[Word]) -> list[Word]:
    """Put a phrase of place or time back from the front to the end, if the source has it there."""
    if said[0].text not in _PREPOSITIONS:
        return []
    starts = (at for at in range(2, len(said)) if said[at].stem == given[0].stem)
    at = next(starts, 0)
    return [*said[at:], *said[:at]] if at else []


def _turns(said: Sequence[Word], given: Sequence[Word], pairs: Sequence[tuple[int, int]]) -> bool:
    """Tell whether a number, a limit or a direction is among what the alignment leaves over."""
    there, here = {i for i, _ in pairs}, {j for _, j in pairs}
    added = [word for i, word in enumerate(said) if i not in there and word.text not in _LINKING]
    kept_clauses = [clause for clause in _clauses(given) if here.intersection(clause)]
    missing = [given[j] for clause in kept_clauses for j in clause if j not in here]
    if not added and any(is_guarded(word) for word in missing):
        return True
    if any(are_opposed(word.stem, other.stem) for word in added for other in missing):
        return True
    numbers = bool(find_strange_numbers(said, given)) and bool(read_numbers(given))
    negated = any(map(is_negation, added))
    return numbers or negated
