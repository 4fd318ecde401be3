"""Metrics of answers and searches: scores, calibration, bootstrap intervals. Pure."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# What data sets report, and about what people look at.
NDCG_DEPTH = 10
# The depths of the recall curve; the k of a run is added to them.
RECALL_DEPTHS = (1, 3, 5, 10, 20, 50)

# A letter or digit of a script that puts spaces between words.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_LETTER = rf"[^\W{_UNSPACED}]"
_MONEY = "$\u00a3\u00a5\u20ac"
_CODE = r"\b(?:usd|eur|gbp|jpy|chf)\b"
# A number, a word, or one character of a script without spaces.
_TOKEN = re.compile(
    rf"""
    # A hyphen in 3-5 or COVID-19 is no minus.
    (?P<minus>(?<!{_LETTER})(?<![)\].%-])-)?
    (?:(?P<money>[{_MONEY}]|{_CODE})\s?(?P<minus_inside>-)?|(?<!{_LETTER})(?<![.,]))
    # Groups of three are one number, 100,200,300 too: a list has spaces behind its commas.
    (?P<digits>\d{{1,3}}(?:,\d{{3}})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)+|\.?\d+(?!{_LETTER}))
    (?:\s?{_CODE})?
    |[{_UNSPACED}]|{_LETTER}+
    """,
    re.VERBOSE,
)
_PERCENT = re.compile(r"%|\bper\s?cent\b|\bpct\b")
# Behind a number, it shows that it is an amount; " %" has become two blanks and a word.
_UNIT = re.compile(
    rf"\s{{0,2}}(?:[{_MONEY}]|{_CODE}|(?:percent|dollars?|euros?|million|billion|trillion)\b)"
)
# 10\u00b2 and 5\u00bd, which NFKC would make 102 and 51/2.
_RAISED = re.compile(r"(?<=\d)(?=[\u00b2\u00b3\u00b9\u00bc-\u00be\u2070-\u2089\u2150-\u215e])")
# Left out as SQuAD's own script does, so that figures can be held beside others'.
_ARTICLES = frozenset({"a", "an", "the"})


def judge_ranking(
    ranking: Sequence[str], relevant: Mapping[str, int], *, k: int
) -> dict[str, float]:
    """Return ``ndcg`` and ``mrr`` of the first ten, and ``recall@d`` at each depth.

    Args:
        ranking: Ids of documents, best first, each once.
        relevant: Grade of each relevant document, above 0.
    """
    depths = sorted({*RECALL_DEPTHS, k})
    recalls = ",".join(map(str, depths))
    deep = _evaluate(ranking, relevant, {f"ndcg_cut.{NDCG_DEPTH}", f"recall.{recalls}"})
    # pytrec_eval has no reciprocal rank with a depth.
    shallow = _evaluate(ranking[:NDCG_DEPTH], relevant, {"recip_rank"})
    return {
        "ndcg": deep.get(f"ndcg_cut_{NDCG_DEPTH}", 0.0),
        "mrr": shallow.get("recip_rank", 0.0),
        "recall": deep.get(f"recall_{k}", 0.0),
        **{f"recall@{depth}": deep.get(f"recall_{depth}", 0.0) for depth in depths},
    }


def _evaluate(
    ranking: Sequence[str], relevant: Mapping[str, int], measures: set[str]
) -> dict[str, float]:
    """Ask pytrec_eval, which knows scores and no ranks; it leaves out an empty ranking."""
    import pytrec_eval  # noqa: PLC0415  (of the group "evaluation")

    scores = {key: float(len(ranking) - rank) for rank, key in enumerate(ranking)}
    evaluator = pytrec_eval.RelevanceEvaluator({"q": dict(relevant)}, measures)
    figures: dict[str, float] = evaluator.evaluate({"q": scores}).get("q", {})
    return figures


class _Word(NamedTuple):
    """A word as it is compared; of a number its value, and whether it is an amount.

    Attributes:
        value: Without zeros at the end of its fraction; empty unless it is a number.
    """

    text: str
    value: str = ""
    is_amount: bool = False


def _read_words(text: str) -> list[_Word]:
    """Return the words, in lower case, without punctuation, currency and English articles."""
    plain = unicodedata.normalize("NFKC", _RAISED.sub(" ", text)).lower().replace("\u2212", "-")
    plain = _PERCENT.sub(" percent ", plain)
    words = (
        _read_number(match) if match["digits"] else _Word(match[0])
        for match in _TOKEN.finditer(plain)
    )
    return [word for word in words if word.text not in _ARTICLES]


def _read_number(match: re.Match[str]) -> _Word:
    whole, point, fraction = match["digits"].replace(",", "").partition(".")
    sign = "-" if match["minus"] or match["minus_inside"] else ""
    text = f"{sign}{whole or 0}{point}{fraction}"
    if "." in fraction:
        return _Word(text)
    is_marked = bool(match["money"] or _UNIT.match(match.string, match.end("digits")))
    # Thousands with two digits behind the point are money, whatever stands beside them.
    has_cents = len(whole) > 3 and len(fraction) == 2  # noqa: PLR2004
    value = text.rstrip("0").rstrip(".") if point else text
    return _Word(text, value, is_marked or has_cents)


def _beside(answer: str, gold: Iterable[str]) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the words of the answer beside those of each gold answer that has any.

    Of an amount the zeros at the end say nothing: $2.00 is 2, and 8.70 % is 8.7. Any other number
    is as it is written: version 1.10 is not 1.1, and section 4.00 not 4.
    """
    words = _read_words(answer)
    for right in filter(None, map(_read_words, gold)):
        numbers = {word.value: word for word in right if word.value}
        twins = ((word, numbers.get(word.value, word)) for word in words)
        yield (
            [twin.text if twin.is_amount or word.is_amount else word.text for word, twin in twins],
            [word.text for word in right],
        )


def exact_match(answer: str, gold: Iterable[str]) -> float:
    """Return 1 if the answer's words are those of a gold answer, else 0."""
    return float(any(words == right for words, right in _beside(answer, gold)))


def token_f1(answer: str, gold: Iterable[str]) -> float:
    """Return the best F1 of shared words over the gold answers, in [0, 1]."""
    best = 0.0
    for words, right in _beside(answer, gold):
        shared = (Counter(words) & Counter(right)).total()
        best = max(best, 2 * shared / (len(words) + len(right)))
    return best


def contains_gold(answer: str, gold: Iterable[str]) -> float:
    """Return 1 if the words of a gold answer stand in the answer one after the other, else 0."""
    return float(
        any(
            words[start : start + len(right)] == right
            for words, right in _beside(answer, gold)
            for start in range(len(words) - len(right) + 1)
        )
    )


# As in most reports of calibration; fewer hide errors, more hold too few answers.
BIN_COUNT = 10

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Bin:
    """The answers with confidence in ``[low, high)``; the last bin has its upper end too."""

    low: float
    high: float
    count: int
    mean_confidence: float
    right_share: float


def reliability_bins(confidence: Array, right: Array) -> list[Bin]:
    """Return the bins of equal width that hold an answer, in order."""
    places = np.minimum((confidence * BIN_COUNT).astype(int), BIN_COUNT - 1)
    bins = []
    for place in np.unique(places):
        here = places == place
        low, high = place / BIN_COUNT, (place + 1) / BIN_COUNT
        means = float(confidence[here].mean()), float(right[here].mean())
        bins.append(Bin(float(low), float(high), int(here.sum()), *means))
    return bins


def expected_calibration_error(confidence: Array, right: Array) -> float:
    """Return the mean distance of confidence and share of right answers, over bins; in [0, 1].

    Source: Guo et al., On Calibration of Modern Neural Networks, ICML 2017.
    """
    if not len(confidence):
        return float("nan")
    bins = reliability_bins(confidence, right)
    gaps = [each.count * abs(each.mean_confidence - each.right_share) for each in bins]
    return sum(gaps) / len(confidence)


def auroc(score: Array, positive: Array) -> float:
    """Return the chance that a positive scores above a negative, ties counting half.

    Not a number where either kind is missing.
    """
    is_positive = positive > 0
    positives, negatives = int(is_positive.sum()), int((~is_positive).sum())
    if not positives or not negatives:
        return float("nan")
    _, place, counts = np.unique(score, return_inverse=True, return_counts=True)
    # Equal scores share the mean of their ranks, by which ties count half.
    ends = counts.cumsum()
    ranks = (ends - (counts - 1) / 2)[place]
    wins = ranks[is_positive].sum() - positives * (positives + 1) / 2
    return float(wins / (positives * negatives))


def risk_coverage(confidence: Array, right: Array) -> tuple[Array, Array]:
    """Return coverage and risk as ever less sure answers are let in, both shape (n,).

    Risk is the share of wrong ones among the answers so far. Answers of the same confidence are
    let in together: their order says nothing.
    """
    order = np.argsort(-confidence, kind="stable")
    sure, wrong = confidence[order], 1 - right[order]
    counts = np.arange(1, len(sure) + 1)
    risk = wrong.cumsum() / counts
    last = np.searchsorted(-sure, -sure, side="right") - 1
    return counts / max(1, len(sure)), risk[last]


def area_under_risk(confidence: Array, right: Array) -> float:
    """Return the mean risk over all coverages (AURC), in [0, 1]; small is good.

    Source: Geifman and El-Yaniv, Selective Classification for Deep Neural Networks, NeurIPS 2017.
    """
    if not len(confidence):
        return float("nan")
    return float(risk_coverage(confidence, right)[1].mean())


Statistic = Callable[[Array], float]
"""From rows, one a question, shape (n, c), to one number; not a number where none bears on it."""

# Of resampling: p is known to a thousandth, and is the same for the same seed.
ROUNDS = 1_000
SEED = 20_260_101


def bootstrap_interval(
    rows: Array, statistic: Statistic, *, rounds: int = ROUNDS
) -> tuple[float, float]:
    """Return the percentile interval that holds 95 % of the resampled values.

    Source: Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13.
    """
    random = np.random.default_rng(SEED)
    size = len(rows)
    drawn = [statistic(rows[random.integers(0, size, size)]) for _ in range(rounds)]
    values = np.array(drawn)
    # A sample may hold no question that bears on the statistic.
    values = values[~np.isnan(values)]
    if not len(values):
        return float("nan"), float("nan")
    low, high = np.quantile(values, (0.025, 0.975))
    return float(low), float(high)


def paired_p_value(
    before: Array,
    after: Array,
    statistic: Statistic,
    *,
    rounds: int = ROUNDS,
    seed: int = SEED,
) -> float:
    """Return how often chance alone moves the statistic as far, two-sided.

    Under the null hypothesis the two configurations can be exchanged at any question; each round
    does so at random.

    Args:
        before: Rows of one configuration, shape (n, c); ``after`` those of the other for the
            same questions in the same order.

    Source: Smucker, Allan and Carterette, A Comparison of Statistical Significance Tests for
        Information Retrieval Evaluation, CIKM 2007.
    """
    difference = abs(statistic(after) - statistic(before))
    if np.isnan(difference):
        return float("nan")
    random = np.random.default_rng(seed)
    as_far = 0
    for _ in range(rounds):
        swap = random.integers(0, 2, (len(before), 1)).astype(bool)
        moved = statistic(np.where(swap, before, after)) - statistic(np.where(swap, after, before))
        # Rounding must not decide on a difference that is the same.
        if np.isnan(moved) or abs(moved) >= difference - 1e-12:
            as_far += 1
    return (as_far + 1) / (rounds + 1)
