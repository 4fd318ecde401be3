"""Compare a claim with a sentence that it may quote: exact, shortened, or altered."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from corpus.characters import normalize
from qa.grounding.support.differences import LINKING, find_difference, swaps_names
from qa.grounding.support.language import is_english
from qa.grounding.support.names import Evidence, mark_first
from qa.grounding.support.omissions import PREPOSITIONS, may_leave_out_rest
from qa.grounding.support.words import PLAIN, Word, read_words

# Share of a claim's words that stand in the source in their order, from which on the claim is a
# quote of it: one word of three may be another. Claims of up to two words always are.
QUOTES_FROM = 0.66
_SHORT_CLAIM = 2
# A sentence up to this many times as long as the claim may be the claim in another order.
_MAX_REORDERED = 1.5

# Words that a quote may have or leave out as it likes.
_FREE = frozenset({"a", "an", "the"})
# A longer sentence is quoted whole or not at all: the table of an alignment has a cell for each
# pair of words.
MAX_ALIGNED_WORDS = 150


class Comparison(NamedTuple):
    """A claim compared with a source sentence.

    Attributes:
        likeness: Share of the claim's words found in the source in the same order, in [0, 1].
        is_quote: It is the sentence, possibly without some clauses.
        turns: A number, a unit, a negation, an opposite or a limit differs.
        is_other: A name differs, or something unknown.
        is_english: The source is English, so that changes of polarity are detected.
    """

    likeness: float
    is_quote: bool = False
    turns: bool = False
    is_other: bool = False
    is_english: bool = True

    @property
    def is_altered(self) -> bool:
        return self.likeness >= QUOTES_FROM and not self.is_quote

    @property
    def is_false(self) -> bool:
        """Return whether it quotes the source except for a fact."""
        return self.is_altered and (self.turns or self.is_other)


def compare(claim: str, source: str, evidence: Evidence) -> Comparison:
    """Compare a claim with a sentence of its evidence.

    Omission rules exist for English only: in other languages only the exact sentence is a quote.
    """
    given = read_words(source)
    found = _compare(read_words(claim), given, evidence)
    if is_english(given):
        return found
    whole = _fold(source)
    is_quote = bool(whole) and _fold(claim) == whole
    return found._replace(is_quote=is_quote, is_other=not is_quote, is_english=False)


def _compare(claim: Sequence[Word], source: Sequence[Word], evidence: Evidence) -> Comparison:
    said, given = without_free(claim), without_free(source)
    if not said or not given:
        return Comparison(0.0)
    if [word.stem for word in said] == [word.stem for word in given]:
        return Comparison(1.0, is_quote=True)
    shared = (Counter(w.stem for w in said) & Counter(w.stem for w in given)).total() / len(said)
    is_long = max(len(said), len(given)) > MAX_ALIGNED_WORDS
    if is_long or (len(said) > _SHORT_CLAIM and shared < QUOTES_FROM):
        return Comparison(shared, is_other=is_long)
    return _compare_aligned(claim, source, evidence)


def _compare_aligned(
    claim: Sequence[Word], source: Sequence[Word], evidence: Evidence
) -> Comparison:
    """Align the words of a claim with those of a source sentence."""
    said, given = (without_free(mark_first(words, evidence)) for words in (claim, source))
    pairs = _align(said, given)
    likeness = len(pairs) / len(said)
    is_reordered = likeness < QUOTES_FROM and _is_reordered(said, given)
    if len(said) <= _SHORT_CLAIM or is_reordered:
        likeness = max(likeness, QUOTES_FROM)
    is_quote = _is_quote(said, without_free(source), pairs)
    if is_quote or likeness < QUOTES_FROM:
        return Comparison(likeness, is_quote=is_quote)
    found = find_difference(said, given, pairs, known=evidence.stems)
    is_swapped = is_reordered and swaps_names(said, given)
    is_other = found.renames or is_swapped or not _says_something(said)
    return Comparison(likeness, turns=found.turns, is_other=is_other)


def _is_quote(
    said: Sequence[Word], given: Sequence[Word], pairs: Sequence[tuple[int, int]]
) -> bool:
    if _is_shortened(said, given, pairs):
        return True
    moved = _unfront(said, given)
    return bool(moved) and _is_shortened(moved, given, _align(moved, given))


def _fold(text: str) -> str:
    """Normalize case, white space, and marks at both ends."""
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
    """Return the longest common subsequence as pairs of positions."""
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
    """Return whether nothing was added, and nothing omitted that affects the rest."""
    matched = {i for i, _ in pairs}
    added = [word for i, word in enumerate(said) if i not in matched]
    if any(word.text not in LINKING for word in added) or not _says_something(said):
        return False
    return may_leave_out_rest(given, kept={j for _, j in pairs})


def _says_something(said: Sequence[Word]) -> bool:
    """Return whether a claim can be verified at all; "8." cannot."""
    return any(word.is_content and not word.is_number for word in said)


def _is_reordered(said: Sequence[Word], given: Sequence[Word]) -> bool:
    """Return whether about the same words are in another order, except the passive."""
    passive = sum(word.text == "by" for word in said) - sum(word.text == "by" for word in given)
    return len(given) <= _MAX_REORDERED * len(said) and not passive


def _unfront(said: Sequence[Word], given: Sequence[Word]) -> list[Word]:
    """Move a phrase of place or time from the front to the end, if the source has it there."""
    if said[0].text not in PREPOSITIONS:
        return []
    starts = (at for at in range(2, len(said)) if said[at].stem == given[0].stem)
    at = next(starts, 0)
    return [*said[at:], *said[:at]] if at else []
