"""Compare a claim with a sentence that it may quote: word for word, shortened, or altered."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from corpus.characters import normalize
from qa.proof.support.language import is_english
from qa.proof.support.numbers import find_strange_numbers, read_numbers
from qa.proof.support.omissions import PREPOSITIONS, may_leave_out_rest, split_clauses
from qa.proof.support.polarity import are_opposed, is_guarded, is_negation
from qa.proof.support.words import PLAIN, Word, read_words

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
# A longer sentence is quoted whole or not at all: the table of an alignment has a cell for each
# pair of words (docs/decisions/0010).
MAX_ALIGNED_WORDS = 150


class Comparison(NamedTuple):
    """How a claim stands to a source sentence.

    Attributes:
        likeness: Share of the claim's words that stand in the source in their order, in [0, 1].
        is_quote: It is the sentence, or what is left of it when clauses are left out.
        turns: A number, a negation or a word of direction is what differs.
        is_english: The source is, so that what turns a claim around would have been seen.
    """

    likeness: float
    is_quote: bool
    turns: bool
    is_english: bool = True

    @property
    def is_altered(self) -> bool:
        return self.likeness >= QUOTES_FROM and not self.is_quote


def compare(claim: str, source: str) -> Comparison:
    """Tell how a claim stands to a source sentence.

    What may be left out is known for English alone: of another language a quote is the whole
    sentence, to the letter.
    """
    given = read_words(source)
    found = _compare(without_free(read_words(claim)), without_free(given))
    if is_english(given):
        return found
    whole = _fold(source)
    is_quote = bool(whole) and _fold(claim) == whole
    return found._replace(is_quote=is_quote, is_english=False)


def _compare(said: Sequence[Word], given: Sequence[Word]) -> Comparison:
    """Align the words of a claim with those of a source sentence."""
    if not said or not given:
        return Comparison(0.0, is_quote=False, turns=False)
    if [word.stem for word in said] == [word.stem for word in given]:
        return Comparison(1.0, is_quote=True, turns=False)
    shared = (Counter(w.stem for w in said) & Counter(w.stem for w in given)).total() / len(said)
    is_long = max(len(said), len(given)) > MAX_ALIGNED_WORDS
    if is_long or (len(said) > _SHORT_CLAIM and shared < QUOTES_FROM):
        return Comparison(shared, is_quote=False, turns=False)
    return _compare_aligned(said, given, _align(said, given))


def _compare_aligned(
    said: Sequence[Word], given: Sequence[Word], pairs: Sequence[tuple[int, int]]
) -> Comparison:
    is_quote = _is_shortened(said, given, pairs)
    if not is_quote and (moved := _unfront(said, given)):
        is_quote = _is_shortened(moved, given, _align(moved, given))
    likeness = len(pairs) / len(said)
    if len(said) <= _SHORT_CLAIM or _is_reordered(said, given):
        likeness = max(likeness, QUOTES_FROM)
    turns = not is_quote and _turns(said, given, pairs)
    return Comparison(likeness, is_quote=is_quote, turns=turns)


def _fold(text: str) -> str:
    """Leave nothing of the letters' case, the white space, and the marks at both ends."""
    plain = normalize("NFC", text).translate(PLAIN).casefold()
    return " ".join(plain.split()).strip(" .!?\"'\u3002\uff01\uff1f\u061f\u0964")


def without_free(words: Sequence[Word]) -> list[Word]:
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
    return align([word.stem for word in said], [word.stem for word in given])


def align(said: Sequence[str], given: Sequence[str]) -> list[tuple[int, int]]:
    """Return the longest common subsequence as pairs of places."""
    lengths = [[0] * (len(given) + 1) for _ in range(len(said) + 1)]
    for i in reversed(range(len(said))):
        row, below = lengths[i], lengths[i + 1]
        for j in reversed(range(len(given))):
            same = said[i] == given[j]
            row[j] = below[j + 1] + 1 if same else max(below[j], row[j + 1])
    return list(_walk(said, given, lengths))


def _walk(
    said: Sequence[str], given: Sequence[str], lengths: Sequence[Sequence[int]]
) -> Iterator[tuple[int, int]]:
    i = j = 0
    while i < len(said) and j < len(given):
        if said[i] == given[j]:
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
    if not any(word.is_content and not word.is_number for word in said):
        return False  # "8." says nothing that could be proved
    return may_leave_out_rest(given, kept={j for _, j in pairs})


def _is_reordered(said: Sequence[Word], given: Sequence[Word]) -> bool:
    """Tell the words of a sentence about as long put in another order, but for the passive."""
    passive = sum(word.text == "by" for word in said) - sum(word.text == "by" for word in given)
    return len(given) <= _REORDERED_MOST * len(said) and not passive


def _unfront(said: Sequence[Word], given: Sequence[Word]) -> list[Word]:
    """Put a phrase of place or time back from the front to the end, if the source has it there."""
    if said[0].text not in PREPOSITIONS:
        return []
    starts = (at for at in range(2, len(said)) if said[at].stem == given[0].stem)
    at = next(starts, 0)
    return [*said[at:], *said[:at]] if at else []


def _turns(said: Sequence[Word], given: Sequence[Word], pairs: Sequence[tuple[int, int]]) -> bool:
    """Tell whether a number, a limit or a direction is among what the alignment leaves over."""
    there, here = {i for i, _ in pairs}, {j for _, j in pairs}
    added = [word for i, word in enumerate(said) if i not in there and word.text not in _LINKING]
    kept_clauses = [clause for clause in split_clauses(given) if here.intersection(clause)]
    missing = [given[j] for clause in kept_clauses for j in clause if j not in here]
    if not added and any(is_guarded(word) for word in missing):
        return True
    if any(are_opposed(word.stem, other.stem) for word in added for other in missing):
        return True
    numbers = bool(find_strange_numbers(said, given)) and bool(read_numbers(given))
    negated = any(map(is_negation, added))
    return numbers or negated
