"""Judge whether sentences hold up a claim: what they quote, hard checks, then relevance."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from qa.proof.support.numbers import find_strange_numbers, read_numbers
from qa.proof.support.polarity import points_the_other_way
from qa.proof.support.quotes import Comparison, compare
from qa.proof.support.words import MONTHS, Word, read_words
from qa.sigmoid import sigmoid
from qa.types import Scorer

Verdict = Literal["supported", "partial", "unsupported", "contradicted"]

# A logistic model of "these sentences hold up the claim", fitted by benchmarks/claims.py --fit on
# the claims of scifact_verify with an even number (SUPPORT against abstracts without evidence);
# how well it does on the others: docs/decisions/0010.
RELEVANCE_WEIGHT = 0.215
COVERAGE_WEIGHT = 3.784
INTERCEPT = -2.136
# From this chance on, where no hard check objects; relevance does not see what a claim turns
# around.
SUPPORTED_FROM = 0.9
# More likely than not.
PARTIAL_FROM = 0.5
# Share of the claim's content words that the sources must have, however relevant they are.
COVERED_FROM = 0.2
# Raw relevance of a sentence that is clearly about the same thing; a shortened quote needs 0.
SAME_THING_FROM = 2.0
QUOTED_FROM = 0.0
# Raw relevance that a sentence may lack to the best one and still be heard against the claim.
MARGIN = 2.0
# Sentences that are judged; the others share too few words, and each pair costs time.
MAX_JUDGED = 48

_WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_CALENDAR = frozenset([*(month for month in MONTHS if month not in {"may", "march"}), *_WEEKDAYS])


# A source that holds the claim up outranks one that speaks against it; see ``_decide``.
_RANKS: dict[Verdict, int] = {"supported": 3, "partial": 2, "contradicted": 1, "unsupported": 0}


@dataclass(frozen=True, slots=True)
class Support:
    """How well sentences hold up a claim.

    Attributes:
        verdict: ``contradicted`` if one is about the same thing and says otherwise.
        score: The chance that the claim is held up, in [0, 1].
        index: The sentence that decides, or -1 where there is none.
    """

    verdict: Verdict
    score: float
    index: int


@dataclass(frozen=True, slots=True)
class _Judged:
    verdict: Verdict
    chance: float
    raw: float
    index: int
    is_quote: bool = False


def judge_claim(claim: str, sources: Sequence[str], *, score: Scorer) -> Support:
    """Judge a claim of one sentence by source sentences.

    Where the claim quotes a source but for a word, nothing else can hold it up: to a model of
    relevance a quote with one word changed is as good as the quote.

    Args:
        sources: Sentences, in any order.
        score: Relevance of each text for a claim, shape (n,), great is good.
    """
    said = read_words(claim)
    chosen = _most_alike(said, sources)
    if not said or not chosen:
        return Support("unsupported", 0.0, -1)
    raws = score(claim, [sources[index] for index in chosen])
    given = [read_words(sources[index]) for index in chosen]
    coverage = share_covered(said, given)
    compared = [compare(claim, sources[index]) for index in chosen]
    is_altered = any(each.is_altered for each in compared)
    judged = [
        _judge(said, words, comparison, raw=float(raw), index=index,
               coverage=coverage, only_quotes=is_altered)
        for words, comparison, raw, index in zip(given, compared, raws, chosen, strict=True)
    ]  # fmt: skip
    return _decide(judged)


def keeps_facts(claim: str, source: str) -> bool:
    """Tell whether each number and name of the claim is in the source, and direction agrees."""
    said, given = read_words(claim), read_words(source)
    return (
        not find_strange_numbers(said, given)
        and _keeps_names(said, given)
        and not points_the_other_way(said, given)
    )


def _most_alike(said: Sequence[Word], sources: Sequence[str]) -> list[int]:
    """The places of the sources that share most of the claim's words, at most ``MAX_JUDGED``."""
    stems = {word.stem for word in said}
    shared = [len(stems & {word.stem for word in read_words(text)}) for text in sources]
    return sorted(range(len(sources)), key=lambda at: -shared[at])[:MAX_JUDGED]


def share_covered(said: Sequence[Word], given: Sequence[Sequence[Word]]) -> float:
    """The share of the claim's content words that stand anywhere in the sources."""
    content = {word.stem for word in said if word.is_content}
    known = {word.stem for words in given for word in words}
    return len(content & known) / len(content) if content else 0.0


def _judge(
    said: Sequence[Word],
    given: Sequence[Word],
    comparison: Comparison,
    *,
    raw: float,
    coverage: float,
    index: int,
    only_quotes: bool,
) -> _Judged:
    """Judge the claim by one source."""
    if comparison.is_quote and raw >= QUOTED_FROM:
        return _Judged("supported", sigmoid(raw), raw, index, is_quote=True)
    chance = sigmoid(RELEVANCE_WEIGHT * raw + COVERAGE_WEIGHT * coverage + INTERCEPT)
    verdict: Verdict = "unsupported"
    if comparison.is_altered:
        verdict = "contradicted" if comparison.turns and raw >= QUOTED_FROM else "unsupported"
    elif _speaks_against(said, given) and not comparison.is_quote:
        verdict = "contradicted" if raw >= SAME_THING_FROM else "unsupported"
    elif not only_quotes and _keeps_names(said, given) and not find_strange_numbers(said, given):
        verdict = _grade(chance) if coverage >= COVERED_FROM else "unsupported"
        if not comparison.is_english and verdict == "supported":
            verdict = "partial"  # a negation would not have been seen
    return _Judged(verdict, chance, raw, index)


def _grade(chance: float) -> Verdict:
    if chance >= SUPPORTED_FROM:
        return "supported"
    return "partial" if chance >= PARTIAL_FROM else "unsupported"


def _speaks_against(said: Sequence[Word], given: Sequence[Word]) -> bool:
    """Tell whether the source turns the claim around, or has another value of the same unit."""
    if points_the_other_way(said, given):
        return True
    strange = {number.unit for number in find_strange_numbers(said, given)} - {""}
    return bool(strange & {number.unit for number in read_numbers(given)})


def _keeps_names(said: Sequence[Word], given: Sequence[Word]) -> bool:
    known = {word.stem for word in given}
    return all(
        word.stem in known for word in said if word.is_name or word.text in _CALENDAR
    )  # fmt: skip


def _decide(judged: Sequence[_Judged]) -> Support:
    """A quote settles it; else what speaks against it is heard before what half holds it up."""
    best = max(judged, key=lambda each: (_RANKS[each.verdict], each.raw))
    against = [each for each in judged if each.verdict == "contradicted"]
    if against and not best.is_quote:
        worst = max(against, key=lambda each: each.raw)
        best = worst if worst.raw >= best.raw - MARGIN else best
    if best.verdict == "unsupported":
        best = max(judged, key=lambda each: each.raw)
    holds_up = best.verdict in {"supported", "partial"}
    return Support(best.verdict, best.chance if holds_up else best.chance / 2, best.index)
