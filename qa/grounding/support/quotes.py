"""Compare a claim with a sentence that it may quote: exact, shortened, or altered."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from corpus.characters import normalize
from qa.grounding.support.differences import LINKING, find_difference, swaps_names
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

_ENGLISH = frozenset(
    "the and that this these those it its they their them there with from which who whose what are"
    " were been being have has had does did would should could must may might cannot not he she"
    " you your we our us his when where while because than then but if unless by for of is was be"
    " only such into about before after between through more most each some many can any all every"
    " nobody nothing never rarely often to".split()
)
# Frequent words of other languages; those that negate are what a quote must not lose.
_FOREIGN = frozenset(
    "der die das den dem des und ist sind ein eine einen von mit nicht kein keine nie ohne nur le"
    " la les du et est sont pas une dans que qui ne jamais el los las y es por para nunca solo sin"
    " il lo gli di che per senza mai \u00e9 n\u00e3o nem um uma het een niet geen van zijn hij og"
    " er det ikke ej och inte nie si\u0119 jest je nen\u00ed nu nem var".split()
)
# English has a function word of the list in every third to fifth word; a title of names has none.
_ONE_IN = 14


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
    words = read_words(source)
    comparison = _compare(read_words(claim), words, evidence)
    if is_english(words):
        return comparison
    whole = _fold(source)
    is_quote = bool(whole) and _fold(claim) == whole
    return comparison._replace(is_quote=is_quote, is_other=not is_quote, is_english=False)


def is_english(words: Sequence[Word]) -> bool:
    """Return whether a sentence has more English function words than foreign ones."""
    english = sum(word.text in _ENGLISH for word in words)
    foreign = sum(word.text in _FOREIGN or not word.text.isascii() for word in words)
    return english > foreign and english * _ONE_IN >= len(words)


def _compare(claim: Sequence[Word], source: Sequence[Word], evidence: Evidence) -> Comparison:
    claim_core, source_core = without_free(claim), without_free(source)
    if not claim_core or not source_core:
        return Comparison(0.0)
    if [word.stem for word in claim_core] == [word.stem for word in source_core]:
        return Comparison(1.0, is_quote=True)
    shared = (
        Counter(w.stem for w in claim_core) & Counter(w.stem for w in source_core)
    ).total() / len(claim_core)
    is_long = max(len(claim_core), len(source_core)) > MAX_ALIGNED_WORDS
    if is_long or (len(claim_core) > _SHORT_CLAIM and shared < QUOTES_FROM):
        return Comparison(shared, is_other=is_long)
    # Align the words of a claim with those of a source sentence.
    claim_core, source_core = (
        without_free(mark_first(words, evidence)) for words in (claim, source)
    )
    pairs = _align(claim_core, source_core)
    likeness = len(pairs) / len(claim_core)
    # About the same words are in another order, except the passive.
    passive = sum(word.text == "by" for word in claim_core) - sum(
        word.text == "by" for word in source_core
    )
    is_as_long = len(source_core) <= _MAX_REORDERED * len(claim_core)
    is_reordered = likeness < QUOTES_FROM and is_as_long and not passive
    if len(claim_core) <= _SHORT_CLAIM or is_reordered:
        likeness = max(likeness, QUOTES_FROM)
    plain = without_free(source)
    moved = _unfront(claim_core, plain)
    is_quote = _is_shortened(claim_core, plain, pairs) or bool(
        moved and _is_shortened(moved, plain, _align(moved, plain))
    )
    if is_quote or likeness < QUOTES_FROM:
        return Comparison(likeness, is_quote=is_quote)
    difference = find_difference(claim_core, source_core, pairs, known=evidence.stems)
    is_swapped = is_reordered and swaps_names(claim_core, source_core)
    is_other = difference.renames or is_swapped or not _says_something(claim_core)
    return Comparison(likeness, turns=difference.turns, is_other=is_other)


def _fold(text: str) -> str:
    """Normalize case, white space, and marks at both ends."""
    plain = normalize("NFC", text).translate(PLAIN).casefold()
    return " ".join(plain.split()).strip(" .!?\"'\u3002\uff01\uff1f\u061f\u0964")


def without_free(words: Sequence[Word]) -> list[Word]:
    """Drop the free words; the clause that one opens begins with the next word."""
    core: list[Word] = []
    opens = False
    for word in words:
        opens = opens or word.opens_clause
        if word.text not in _FREE:
            core.append(word._replace(opens_clause=opens))
            opens = False
    return core


def _align(claim: Sequence[Word], source: Sequence[Word]) -> list[tuple[int, int]]:
    return align([word.stem for word in claim], [word.stem for word in source])


def align(claim: Sequence[str], source: Sequence[str]) -> list[tuple[int, int]]:
    """Return the longest common subsequence as pairs of positions."""
    lengths = [[0] * (len(source) + 1) for _ in range(len(claim) + 1)]
    for i in reversed(range(len(claim))):
        row, below = lengths[i], lengths[i + 1]
        for j in reversed(range(len(source))):
            same = claim[i] == source[j]
            row[j] = below[j + 1] + 1 if same else max(below[j], row[j + 1])
    pairs = []
    i = j = 0
    while i < len(claim) and j < len(source):
        if claim[i] == source[j]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif lengths[i + 1][j] >= lengths[i][j + 1]:
            i += 1
        else:
            j += 1
    return pairs


def _is_shortened(
    claim: Sequence[Word], source: Sequence[Word], pairs: Sequence[tuple[int, int]]
) -> bool:
    """Return whether nothing was added, and nothing omitted that affects the rest."""
    matched = {i for i, _ in pairs}
    added = [word for i, word in enumerate(claim) if i not in matched]
    if any(word.text not in LINKING for word in added) or not _says_something(claim):
        return False
    return may_leave_out_rest(source, remaining={j for _, j in pairs})


def _says_something(claim: Sequence[Word]) -> bool:
    """Return whether a claim can be verified at all; "8." cannot."""
    return any(word.is_content and not word.is_number for word in claim)


def _unfront(claim: Sequence[Word], source: Sequence[Word]) -> list[Word]:
    """Move a phrase of place or time from the front to the end, if the source has it there."""
    if claim[0].text not in PREPOSITIONS:
        return []
    starts = (at for at in range(2, len(claim)) if claim[at].stem == source[0].stem)
    at = next(starts, 0)
    return [*claim[at:], *claim[:at]] if at else []
