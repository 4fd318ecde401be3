"""Judge whether sentences support a claim: by quotes, hard checks, then relevance."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from qa.grounding.confidence import sigmoid
from qa.grounding.support.names import find_unknown_names, read_evidence
from qa.grounding.support.numbers import Number, find_unknown_numbers, read_numbers
from qa.grounding.support.polarity import points_the_other_way
from qa.grounding.support.quotes import Comparison, compare
from qa.grounding.support.words import Word, read_words
from qa.types import Scorer

Verdict = Literal["supported", "partial", "unsupported", "contradicted"]

# A logistic model of "these sentences support the claim", fitted by benchmarks/claims.py --fit on
# the claims of scifact_verify with an even number (SUPPORT against abstracts without evidence);
# how well it does on the others: benchmarks/results/claims.md.
RELEVANCE_WEIGHT = 0.215
COVERAGE_WEIGHT = 3.784
INTERCEPT = -2.136
# From this chance on, where no hard check objects; relevance does not see what a claim turns
# around.
SUPPORTED_FROM = 0.9
# From this probability on, a claim counts as supported: the bound of the published score.
PARTIAL_FROM = 0.5
# Factor for the probability if a hard check fails, so that it stays far below the bound.
OBJECTED = 0.25
# Share of the claim's content words that the sources must have, however relevant they are.
COVERED_FROM = 0.2
# Raw relevance of a sentence that is clearly about the same thing; a shortened quote needs 0.
SAME_THING_FROM = 2.0
QUOTED_FROM = 0.0
# How much less relevant than the best a sentence may be and still contradict the claim.
MARGIN = 2.0
# Sentences that are judged; others share too few words, and each pair takes time.
MAX_JUDGED = 48

# A URL or mail address: a name in lower case.
ADDRESS = re.compile(
    r"(?:https?://|www\.)(?:\([^\s<>()]*\)|[^\s<>\"'()\]])+|[\w.+-]{1,64}@[\w.-]+", re.IGNORECASE
)
ADDRESS_STOPS = ".,;:!?"

# A supporting source outranks a contradicting one; see ``_decide``.
_RANKS: dict[Verdict, int] = {"supported": 3, "partial": 2, "contradicted": 1, "unsupported": 0}


@dataclass(frozen=True, slots=True)
class Support:
    """Verdict on a claim, given the sentences of a source.

    Attributes:
        verdict: ``contradicted`` if one is about the same thing and disagrees.
        score: The probability of support, in [0, 1]; below ``PARTIAL_FROM`` if a number, a name, a
            negation, a unit or an opposite differs.
        index: The deciding sentence, or -1.
    """

    verdict: Verdict
    score: float
    index: int


@dataclass(frozen=True, slots=True)
class _Judged:
    verdict: Verdict
    score: float
    raw: float
    index: int
    is_quote: bool = False


@dataclass(frozen=True, slots=True)
class _Claim:
    """A claim compared with all evidence together.

    Attributes:
        coverage: The share of its content words found in the evidence.
        unknown_numbers: Its numbers that the evidence lacks.
        has_unknown: The evidence lacks one of its numbers or names.
        is_false: It quotes the nearest sentence except for a fact: no other supports it.
        is_altered: It quotes a sentence except for some words, and is supported in part at best.
    """

    words: Sequence[Word]
    coverage: float
    unknown_numbers: Sequence[Number]
    has_unknown: bool
    is_false: bool
    is_altered: bool


def judge_claim(
    claim: str, sources: Sequence[str], *, score: Scorer, headings: Sequence[str] = ()
) -> Support:
    """Judge a claim of one sentence by source sentences.

    To a relevance model, a quote with one word changed is as good as the quote. So if the claim
    almost quotes a source, the nearest source decides whether a fact changed, and no other can make
    up for it.

    Args:
        sources: Sentences, in any order.
        score: Returns the relevance of each text to a claim, shape (n,); higher is better.
        headings: Of the sentences: their names and numbers count as known.
    """
    claim_words = read_words(claim)
    # The sources that share most words with the claim, at most ``MAX_JUDGED``.
    stems = {word.stem for word in claim_words}
    shared = [len(stems & {word.stem for word in read_words(text)}) for text in sources]
    chosen = sorted(range(len(sources)), key=lambda at: -shared[at])[:MAX_JUDGED]
    if not claim_words or not chosen:
        return Support("unsupported", 0.0, -1)
    raws = score(claim, [sources[index] for index in chosen])
    evidence = read_evidence([*headings, *sources])
    compared = [compare(claim, sources[index], evidence) for index in chosen]
    altered = [each for each in compared if each.is_altered]
    nearest = max((each.likeness for each in altered), default=0)
    sources_words = [read_words(sources[index]) for index in chosen]
    unknown_numbers = find_unknown_numbers(claim_words, evidence.words)
    judged_claim = _Claim(
        claim_words,
        coverage=share_covered(claim_words, sources_words),
        unknown_numbers=unknown_numbers,
        has_unknown=bool(unknown_numbers) or bool(find_unknown_names(claim_words, evidence.words)),
        is_false=any(each.is_false for each in altered if each.likeness == nearest),
        is_altered=bool(altered),
    )
    # The decisive judgment: a quote, then a contradiction, then partial support.
    judged = [
        _judge(judged_claim, words, comparison, raw=float(raw), index=index)
        for words, comparison, raw, index in zip(sources_words, compared, raws, chosen, strict=True)
    ]
    best = max(judged, key=lambda each: (_RANKS[each.verdict], each.raw))
    against = [each for each in judged if each.verdict == "contradicted"]
    if against and not best.is_quote:
        worst = max(against, key=lambda each: each.raw)
        best = worst if worst.raw >= best.raw - MARGIN else best
    if best.verdict == "unsupported":
        best = max(judged, key=lambda each: each.raw)
    return Support(best.verdict, best.score, best.index)


def keeps_facts(claim: str, source: str) -> bool:
    """Return whether all numbers, names and URLs of the claim are in the source."""
    words, source_words = read_words(claim), read_words(source)
    if find_unknown_numbers(words, source_words) or find_unknown_names(words, source_words):
        return False
    known = source.lower()
    return all(address.rstrip(ADDRESS_STOPS) in known for address in ADDRESS.findall(claim.lower()))


def share_covered(claim: Sequence[Word], sources: Sequence[Sequence[Word]]) -> float:
    """Return the share of the claim's content words found in the sources."""
    content = {word.stem for word in claim if word.is_content}
    known = {word.stem for words in sources for word in words}
    return len(content & known) / len(content) if content else 0.0


def _judge(
    claim: _Claim, source: Sequence[Word], comparison: Comparison, *, raw: float, index: int
) -> _Judged:
    if comparison.is_quote and raw >= QUOTED_FROM:
        return _Judged("supported", sigmoid(raw), raw, index, is_quote=True)
    chance = sigmoid(RELEVANCE_WEIGHT * raw + COVERAGE_WEIGHT * claim.coverage + INTERCEPT)
    if claim.is_false:
        speaks_against, counts_from = comparison.is_false and comparison.turns, QUOTED_FROM
    else:
        # The source negates the claim, or has another value of that unit.
        units = {number.unit for number in claim.unknown_numbers} - {""}
        is_compared = comparison.is_altered or comparison.is_quote
        speaks_against = not is_compared and (
            points_the_other_way(claim.words, source)
            or any(number.unit in units for number in read_numbers(source))
        )
        counts_from = SAME_THING_FROM
    if speaks_against or claim.is_false or claim.has_unknown or comparison.is_false:
        is_against = speaks_against and raw >= counts_from
        verdict: Verdict = "contradicted" if is_against else "unsupported"
        return _Judged(verdict, chance * OBJECTED, raw, index)
    if claim.coverage < COVERED_FROM or chance < PARTIAL_FROM:
        return _Judged("unsupported", chance, raw, index)
    is_whole = comparison.is_english and not claim.is_altered
    is_supported = is_whole and chance >= SUPPORTED_FROM
    return _Judged("supported" if is_supported else "partial", chance, raw, index)
